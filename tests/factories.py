"""People, pools and runs for tests: runs are made by the services and written by a driver's desk, as in life."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any, TypeVar

from django.db.models import Q

from apps.accounts.models import Membership, Project, User
from apps.audit.log import Actor, Read, read
from apps.audit.models import Event
from apps.runs import claim, services
from apps.runs.desk import Desk
from apps.runs.models import Attempt, Proposal, Run, Step
from apps.runs.purse import Purse
from apps.runs.reuse import digest_of, recorded, render
from apps.workers.calls import CallFailed, Completion, FailureKind, Usage
from apps.workers.models import Conductor, Profile
from apps.workers.services import ensure_simulated
from apps.workflows.sinks import Answer
from apps.workflows.workflow import Step as Planned
from apps.workflows.workflow import Workflow

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DRIVER = "driver-of-the-tests"
_numbers = count(1)
T = TypeVar("T")


def make_person(name: str = "", *, project: Project | None = None) -> User:
    """An analyst in the project `default`, or in another one."""
    project = project or make_project()
    user = User.objects.create_user(name or f"person-{next(_numbers)}", home_project=project)
    Membership.objects.create(user=user, project=project, role=Membership.Role.ANALYST)
    return user


def make_project(slug: str = "default") -> Project:
    return Project.objects.get_or_create(slug=slug, defaults={"name": slug.title(), "created_at": NOON})[0]


def make_pool() -> Profile:
    """The four simulated workers, their conductor and the profiles of a fresh studio; the one that conducts."""
    by = Actor(kind="system", id="tests", label="the tests")
    ensure_simulated(url="http://127.0.0.1:9/v1", by=by, now=NOON)
    return Profile.objects.get(slug="studio-ultra")


def make_run(*, by: User, task: str = "Which region grew most?", profile: Profile | None = None, **more: Any) -> Run:
    """A run that waits for a driver."""
    return services.submit_run(task=task, profile=profile or make_pool(), by=by, now=more.pop("now", NOON), **more)


def chain(*instructions: str, worker: str = "sim-birch") -> Workflow:
    """Steps s1, s2, …, each of which reads all before it."""
    keys = [f"s{number}" for number in range(1, len(instructions) + 1)]
    return Workflow(
        steps=tuple(
            Planned(key=key, instruction=instruction, worker=worker, access=tuple(keys[:at]))
            for at, (key, instruction) in enumerate(zip(keys, instructions, strict=True))
        )
    )


def reply(text: str, **usage: Any) -> Completion:
    """What a worker answered: a cost and a usage that the provider counted, unless told otherwise."""
    cost = usage.pop("cost_usd", Decimal("0.0042"))
    return Completion(
        text=text,
        usage=Usage(**({"input_tokens": 120, "output_tokens": max(1, len(text) // 4)} | usage)),
        cost_usd=cost,
        ttft_ms=410.0,
        duration_ms=2300.0,
        finish_reason="stop",
        model="sim-birch",
    )


def failure(message: str, *, kind: FailureKind = "server", retryable: bool = True, **more: Any) -> CallFailed:
    return CallFailed(kind, message, retryable=retryable, **more)


@dataclass
class Driving:
    """A driver at a run, whose clock moves on by `pace` with everything it writes."""

    run: Run
    pace: timedelta = timedelta(seconds=1)
    at: datetime | None = None
    rung: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.at = self.at or self.run.created_at
        take = claim.claim if self.run.nested_in_id is None else claim.claim_nested
        claimed = take(self.run.pk, driver=DRIVER, now=self.tick())
        assert claimed is not None, "the run is not free to be claimed"
        self.run = claimed
        purse = Purse(claimed)
        for slug in [*claimed.pool, self.conductor["slug"]]:
            purse.look_up(slug, at=self.at)
        actor = claim.driver_actor(DRIVER)
        self.desk = Desk(claimed, actor, self.tick, lambda _, verbs: self.rung.extend(verbs), purse)

    @property
    def conductor(self) -> dict[str, Any]:
        """The frozen conductor of the run, or one that costs nothing where it was submitted without."""
        frozen: dict[str, Any] | None = self.run.setup["conductor"]
        return frozen or Conductor(slug="sim-conductor", name="Simulated conductor", free=True).freeze()

    def tick(self) -> datetime:
        assert self.at is not None
        self.at += self.pace
        return self.at

    def write(self, job: Callable[..., T], **given: Any) -> T:
        """One of the desk's writes, in a transaction of its own."""
        written: T = self.desk.write([partial(job, **given)])[0]
        return written

    # --- planning --------------------------------------------------------------------------------------------------

    def ask(self) -> Proposal:
        """The conductor is asked, and writes."""
        number = self.run.proposals.count() + 1
        messages = [{"role": "user", "content": "Plan it."}]
        proposal = self.write(self.desk.start_planning, messages=messages, number=number, conductor=self.conductor)
        assert isinstance(proposal, Proposal), "nothing limits it"
        return proposal

    def plan(
        self, workflow: Workflow, *, raw: str = "model_id = [1]", repairs: Sequence[str] = (), hold: bool = False
    ) -> None:
        """The conductor is asked, and its workflow is taken."""
        self.write(
            self.desk.finish_planning,
            proposal=self.ask(),
            conductor=self.conductor,
            status=Proposal.Status.VALID,
            raw=raw,
            repairs=repairs,
            steps=len(workflow.steps),
            completion=reply(raw, cost_usd=Decimal(0)),
        )
        self.write(self.desk.adopt, workflow=workflow, by="planner", planner="conductor", warnings=(), hold=hold)

    def misplan(self, raw: str, *, problems: Sequence[str], repairs: Sequence[str] = ()) -> None:
        """The conductor is asked, and what it writes cannot be used."""
        self.write(
            self.desk.finish_planning,
            proposal=self.ask(),
            conductor=self.conductor,
            status=Proposal.Status.INVALID,
            raw=raw,
            repairs=repairs,
            problems=problems,
            completion=reply(raw, cost_usd=Decimal(0)),
        )

    # --- steps -----------------------------------------------------------------------------------------------------

    def step(self, key: str) -> Step:
        return self.run.steps.get(key=key)

    def messages(self, key: str) -> list[dict[str, str]]:
        """The prompt of a step, from what its sources have answered."""
        workflow = Run.objects.get(pk=self.run.pk).workflow
        assert workflow is not None
        done = self.run.steps.filter(status__in=Step.DONE)
        results = dict(done.values_list("key", "result"))
        wanted = workflow.step(key)
        given = {source: results[source] for source in wanted.access if source in results}
        return render(workflow, wanted, task=self.run.task, results=given).messages

    def start(self, key: str) -> Attempt:
        """A worker is called for a step, and has not answered yet."""
        step, messages = self.step(key), self.messages(key)
        attempt = self.write(
            self.desk.start_step,
            step=step,
            number=step.attempts.count() + 1,
            frozen=self.run.pool[step.worker],
            digest=digest_of(self.run.pool[step.worker], messages),
            messages=messages,
        )
        assert isinstance(attempt, Attempt), "nothing limits it"
        return attempt

    def finish(self, key: str, text: str, **usage: Any) -> Attempt:
        """A worker is called for a step, and answers."""
        attempt = self.start(key)
        self.answer(key, attempt, text, **usage)
        return attempt

    def answer(self, key: str, attempt: Attempt, text: str, **usage: Any) -> None:
        """The worker that was called for a step answers."""
        completion, frozen = reply(text, **usage), self.run.pool[attempt.worker]
        self.write(self.desk.succeed_step, step=self.step(key), attempt=attempt, frozen=frozen, completion=completion)

    def fail(self, key: str, error: CallFailed, *, retry_in_s: float | None = None) -> Attempt:
        """A worker is called for a step and fails: for good, unless it is called again in `retry_in_s`."""
        attempt = self.start(key)
        self.write(
            self.desk.fail_attempt,
            step=self.step(key),
            attempt=attempt,
            frozen=self.run.pool[attempt.worker],
            failure=error,
            cost_usd=Decimal(0),
            retry_in_s=retry_in_s,
            is_last=retry_in_s is None,
            duration_ms=900.0,
        )
        return attempt

    def skip(self, key: str, *, because: Sequence[str]) -> None:
        """What a step reads will never come."""
        self.write(self.desk.skip_step, step=self.step(key), because=because)

    def late(self, key: str, attempt: Attempt, text: str) -> None:
        """The worker answers though the run was stopped."""
        self.desk.late(self.step(key), attempt, self.run.pool[attempt.worker], reply(text))

    def reuse(self, key: str) -> None:
        """The recorded result of the very same request in the lineage is taken."""
        step, messages = self.step(key), self.messages(key)
        source = recorded(self.run, keys=[key])[key, digest_of(self.run.pool[step.worker], messages)]
        self.write(self.desk.reuse, step=step, source=source, messages=messages)

    # --- the end ---------------------------------------------------------------------------------------------------

    def succeed(self, answer: str, *, step: str, rule: str = "last", detail: Mapping[str, Any] | None = None) -> Run:
        self.write(self.desk.succeed, answer=Answer(text=answer, step=step, rule=rule, detail=detail or {}))
        return self.told()

    def give_up(self, message: str, *, step: str = "", code: str) -> Run:
        self.write(self.desk.fail, message=message, step=step, code=code)
        return self.told()

    def carry(self, results: Mapping[str, str]) -> Run:
        """Every step is answered, one after the other, and the last one's result is the answer."""
        for key, text in results.items():
            self.finish(key, text)
        last = list(results)[-1]
        return self.succeed(results[last], step=last)

    def told(self) -> Run:
        """The run as the tables have it now."""
        return Run.objects.get(pk=self.run.pk)


def told_in(trail: str) -> list[Read]:
    """The events of a trail and of the parts of it that are projects' own, in the order in which they were written."""
    written = Event.objects.filter(Q(trail__name=trail) | Q(trail__name__startswith=f"{trail}:")).order_by("id")
    places = list(written.values_list("trail__name", "seq"))
    told = {(name, event.seq): event for name in {name for name, _ in places} for event in read(name)}
    return [told[place] for place in places]
