"""Runs as the tests of pages want them."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import uuid4

from apps.accounts.models import User
from apps.runs.calling import told_of
from apps.runs.models import Proposal, Run
from apps.runs.reuse import digest_of, render
from apps.spend.book import Refusal
from apps.workers.models import Fallback, Profile, Worker
from apps.workflows.workflow import Last, Sink, Step, Workflow
from tests.factories import Driving, chain, make_pool, make_run, reply


def a_run(by: User, task: str = "What is 6 times 7?", **changes: Any) -> Run:
    """A run handed in by somebody; `changes` are written over it afterwards."""
    run = make_run(by=by, task=task, submit_key=uuid4().hex)
    if changes:
        Run.objects.filter(pk=run.pk).update(**changes)
        run.refresh_from_db()
    return run


def finished(by: User, **plan: Any) -> Run:
    """A run of two steps, the second of which reads the first, carried out; `plan` goes with what was planned."""
    driving = Driving(make_run(by=by))
    driving.plan(chain("Compute the growth", "Answer the task"), **plan)
    return driving.carry({"s1": "South: 53 %", "s2": "**South** grew most."})


def workflow_of(*steps: tuple[str, str, list[str]], sink: Sink | None = None, worker: str = "sim-birch") -> Workflow:
    """Steps as (key, role, reads), each of the round that a `key` such as "s4@2" names, else of the first."""
    made = []
    for name, role, access in steps:
        key, _, turn = name.partition("@")
        round_ = int(turn or 1)
        made.append(
            Step(key=key, instruction=f"Do {key}", worker=worker, access=tuple(access), role=role, round=round_)
        )
    return Workflow(steps=tuple(made), sink=sink or Last())


def asked_again(driving: Driving, *, round: int) -> Proposal:
    """The planner looks at what came of its workflow, and writes."""
    number = driving.run.proposals.count() + 1
    proposal = driving.write(
        driving.desk.start_planning, messages=[], number=number, conductor=driving.conductor, round=round
    )
    assert isinstance(proposal, Proposal), "nothing limits it"
    return proposal


def decided(
    driving: Driving, proposal: Proposal, *, verdict: str, raw: str = "", workflow: Workflow | None = None
) -> None:
    """What it wrote is read: it keeps the workflow, or adds the further steps that `workflow` has."""
    driving.write(
        driving.desk.finish_planning,
        proposal=proposal,
        conductor=driving.conductor,
        status=Proposal.Status.VALID,
        raw=raw or "model_id = []",
        verdict=verdict,
        completion=reply("[]", cost_usd=Decimal(0)),
    )
    if workflow is not None:
        driving.write(driving.desk.extend, workflow=workflow, warnings=())


def nesting_profile() -> Profile:
    """The profile that conducts, whose conductor may be given a step itself, two deep."""
    profile = make_pool()
    profile.nesting = 2
    profile.save()
    return profile


def nest(driving: Driving, key: str) -> Driving:
    """Step `key`, which is given to the conductor, becomes a run of its own; whoever drives that."""
    step = driving.step(key)
    workflow = driving.told().workflow
    assert workflow is not None
    results = dict(driving.run.steps.filter(key__in=step.access).values_list("key", "result"))
    rendered = render(workflow, workflow.step(key), task=driving.run.task, results=results)
    frozen = driving.run.pool[step.worker]
    digest = digest_of(frozen, rendered.messages)
    _, nested = driving.write(driving.desk.nest, step=step, number=1, frozen=frozen, digest=digest, rendered=rendered)
    return Driving(nested, at=driving.at)


def refused(driving: Driving, key: str) -> Refusal:
    """A call of a step that could cross a limit: what the desk answers when it is to be started."""
    step, messages = driving.step(key), driving.messages(key)
    frozen = driving.run.pool[step.worker]
    answer = driving.write(
        driving.desk.start_step,
        step=step,
        number=step.attempts.count() + 1,
        frozen=frozen,
        digest=digest_of(frozen, messages),
        messages=messages,
    )
    assert isinstance(answer, Refusal), "nothing limits it"
    return answer


def hold_at(driving: Driving, key: str) -> Run:
    """The run is held at the limit that the step's call could cross."""
    limit = told_of(refused(driving, key))
    driving.write(driving.desk.hold, reason=Run.Hold.LIMIT, about=limit, steps=[key])
    return driving.told()


def wait_at(driving: Driving, key: str, words: str) -> None:
    """The step must wait at its worker's door."""
    step = driving.step(key)
    waiting = {"why": "place", "ahead": 3, "until": None}
    driving.write(driving.desk.wait_step, step=step, worker=step.worker, waiting=waiting, words=words)


def let_stand_in(worker: str, *instead: str) -> None:
    """Have others stand in for a worker, in this order."""
    for position, slug in enumerate(instead):
        asked, other = Worker.objects.get(slug=worker), Worker.objects.get(slug=slug)
        Fallback.objects.create(worker=asked, instead=other, position=position)


def stood_in(driving: Driving, key: str, instead: str, text: str | None = None, *, why: str = "HTTP 500") -> None:
    """Another worker is asked in the place of the step's own, and answers where there is a `text`."""
    step, messages = driving.step(key), driving.messages(key)
    driving.write(driving.desk.stand_in, step=step, worker=step.worker, instead=instead, kind="server", why=why)
    chain: Sequence[dict[str, Any]] = driving.run.pool[step.worker]["fallbacks"]
    frozen = next(each for each in chain if each["slug"] == instead)
    driving.desk.purse.look_up(instead, at=driving.tick())
    attempt = driving.write(
        driving.desk.start_step,
        step=step,
        number=step.attempts.count() + 1,
        frozen=frozen,
        digest=digest_of(frozen, messages),
        messages=messages,
    )
    if text is not None:
        driving.write(driving.desk.succeed_step, step=step, attempt=attempt, frozen=frozen, completion=reply(text))
