"""What flow rules say of one run: the rules and the tags as they are now, held against what it carries and may read.

Rules hold from the moment they are made, for runs under way too. Of a model only those tags can be relied on that it
had when it was frozen for the run and still has; what it writes carries both.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

from apps.accounts.models import Project
from apps.runs.models import Attempt, Run
from apps.runs.nesting import is_nested
from apps.workers.models import Conductor, FlowRule, Profile, Worker
from apps.workflows import flow
from apps.workflows.flow import Asked, Model, Offence, Point, Rule
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow

Frozen = Mapping[str, Any]
Kind = Literal["worker", "conductor"]

MOST_TOLD = 200  # offences that a run is held by at once: what is beyond them holds it again


def rules_of(project: Project) -> list[Rule]:
    """The rules in force in a project: the studio's first; one that both have made counts once."""
    rules: dict[tuple[str, str], Rule] = {}
    for row in FlowRule.objects.of(project).enabled():
        rules.setdefault((row.carries, row.needs), Rule(row.carries, row.needs, row.pk, row.words))
    return list(rules.values())


@dataclass(frozen=True)
class Flow:
    """The flow rules held against `run`. `tags` are those of models as they are now, by kind and slug."""

    run: Run
    rules: Sequence[Rule]
    tags: Mapping[tuple[Kind, str], frozenset[str]]

    @classmethod
    def of(cls, run: Run, rules: Sequence[Rule] | None = None, *, always: bool = False) -> "Flow":
        """With the rules in force, or with others that somebody wants to try; where there are none, tags are read only
        if they are wanted `always`."""
        rules = rules_of(run.project) if rules is None else rules
        return cls(run, rules, _tags_now(run.setup) if rules or always else {})

    # --- who reads what --------------------------------------------------------------------------------------------

    def before_plan(self, part: Frozen) -> list[Offence]:
        """What is forbidden of asking the planner that goes by `part` of the setup, its embedder first."""
        return self._told(flow.points_before(self._asked(part)))

    def before_further_plan(self, part: Frozen, workflow: Workflow, answered: Mapping[str, str]) -> list[Offence]:
        """What is forbidden of showing the planner what came of its workflow."""
        points = flow.points_further(workflow, self._models(workflow, answered), self._asked(part))
        return self._told(points, only=[points[-1].key])

    def of_workflow(
        self, workflow: Workflow, *, answered: Mapping[str, str] | None = None, done: Collection[str] = ()
    ) -> list[Offence]:
        """What is forbidden of carrying out all of `workflow` but what is `done`.

        `answered` says of steps that are done whose reply their result is.
        """
        points = self._points(workflow, answered or {})
        return self._told(points, only={flow.SINK, *workflow.keys}.difference(done))

    def of_call(self, workflow: Workflow, key: str, frozen: Frozen, answered: Mapping[str, str]) -> list[Offence]:
        """What is forbidden of asking `frozen`, which may stand in for the step's own worker."""
        points = self._points(workflow, answered, {key: self.model(frozen)})
        return self._told(points, only=[key])

    def of_judge(self, workflow: Workflow, answered: Mapping[str, str]) -> list[Offence]:
        """What is forbidden of having the answers compared by the run's embedding worker."""
        return self._told(self._points(workflow, answered), only=[flow.SINK])

    def of_all(self, answered: Mapping[str, str]) -> list[Offence]:
        """What is forbidden of asking whomever the run has asked, or will as far as its workflow is known.

        Asked are the planner that another stood in for, too, and the workers of steps that others `answered`.
        """
        setup, part, workflow = self.run.setup, self._part, self.run.workflow
        found = [] if part is setup else self.before_plan(setup)
        found += self.before_plan(part)
        if workflow is not None:
            for number in sorted({step.round for step in workflow.steps}):  # as each round is checked when it begins
                so_far = tuple(step for step in workflow.steps if step.round <= number)
                before = [step.key for step in so_far if step.round < number]
                known = {key: answered[key] for key in before if key in answered}
                found += self.of_workflow(workflow.model_copy(update={"steps": so_far}), answered=known)
            found += self._told(self._points(workflow, answered))
            if self._plans_again(workflow):
                found += self.before_further_plan(part, workflow, answered)
        return list({(each.reader, each.name): each for each in reversed(found)}.values())[::-1]

    def _plans_again(self, workflow: Workflow) -> bool:
        """Whether the planner was asked what it makes of the results of `workflow`, or is to be."""
        run, asked = self.run, self.run.proposals.filter(round__gt=workflow.rounds)
        in_rounds = (run.planned_by or run.setup["planner"]) in (Profile.Planner.CONDUCTOR, Profile.Planner.UNTRAINED)
        return (in_rounds and run.setup.get("rounds", 1) > workflow.rounds) or asked.exists()

    def given_to(self, workflow: Workflow, key: str, answered: Mapping[str, str]) -> frozenset[str]:
        """The tags of all that a step reads, its instruction among it."""
        points = self._points(workflow, answered)
        tags = flow.carried(points)
        reads = next(point.reads for point in points if point.key == key)
        return frozenset().union(*(tags[source] for source in reads))

    def written(self, workflow: Workflow, answered: Mapping[str, str]) -> list[list[str]] | None:
        """What the instructions carry besides what the task does, by the round that they were written in.

        None where no model wrote them: to be kept as `told` by a run that takes them over.
        """
        asked = self._asked(self._part)
        if not asked.is_told:
            return None
        return [sorted(tags) for tags in flow.written(workflow, self._models(workflow, answered), asked)]

    # --- the run as points -----------------------------------------------------------------------------------------

    def _told(self, points: Sequence[Point], only: Collection[str] | None = None) -> list[Offence]:
        """What of it the rules forbid, and nobody has approved."""
        excepted = frozenset(self.run.excepted)
        found = flow.offences(points, self.rules)
        return [each for each in found if (only is None or each.reader in only) and each.name not in excepted]

    def _points(
        self, workflow: Workflow, answered: Mapping[str, str], instead: Mapping[str, Model] | None = None
    ) -> list[Point]:
        models = self._models(workflow, answered) | dict(instead or {})
        return flow.points_of(workflow, models, self._asked(self._part))

    @property
    def _part(self) -> Frozen:
        return part_of(self.run.setup, self.run.planned_by or self.run.setup["planner"])

    def _models(self, workflow: Workflow, answered: Mapping[str, str]) -> dict[str, Model]:
        pool = self.run.pool
        everybody = {each["slug"]: each for worker in pool.values() for each in (*worker.get("fallbacks", ()), worker)}
        asked = {step.key: everybody.get(answered.get(step.key) or step.worker) for step in workflow.steps}
        return {key: self.model(frozen) for key, frozen in asked.items() if frozen is not None}

    def model(self, frozen: Frozen) -> Model:
        """A worker of the pool, or the conductor where a step becomes a run: then all of the pool may write for it."""
        if not is_nested(frozen):
            return self._model(frozen, "worker")
        itself = self._model(frozen, "conductor")
        inside = [self._model(each, "worker") for each in _everybody(self.run.setup) if not is_nested(each)]
        return Model(itself.slug, itself.has, itself.adds.union(*(each.adds for each in inside)))

    def _model(self, frozen: Frozen, kind: Kind) -> Model:
        before, now = frozenset(frozen.get("tags", ())), self.tags.get((kind, frozen["slug"]), frozenset())
        return Model(frozen["slug"], before & now, before | now)

    def _asked(self, part: Frozen) -> Asked:
        setup = self.run.setup
        conductor, embedder = part.get("conductor"), part.get("embedder")
        vectors = None if embedder is None else self._model(embedder, "worker")
        is_saved = setup["planner"] == "saved"
        planner = None if is_saved else conductor
        return Asked(
            task=frozenset(setup.get("tags", ())),
            files=tuple(frozenset(each["tags"]) for each in setup.get("attachments", ())),
            is_told=planner is not None or (is_saved and setup.get("told") is not None),
            wrote=_told_in(setup) if is_saved else (),
            planner=None if planner is None else self._model(planner, _kind_of(part)),
            embedder=vectors if part.get("learnt") is not None else None,
            judge=vectors,
        )


def part_of(setup: Frozen, name: str) -> Frozen:
    """What the planner called `name` goes by: the run's own setup, or that of the planner which stood in."""
    instead: Frozen | None = setup.get("fallback")
    return instead if instead is not None and name != setup["planner"] else setup


def written_in(run: Run) -> list[list[str]] | None:
    """What the instructions of the run carry, for another that takes them over. See `Flow.written`."""
    return Flow.of(run, always=True).written(run.workflow or Workflow(steps=()), answered_in(run))


def answered_in(run: Run) -> dict[str, str]:
    """Whose reply the result of each step is that is done, a person's left out."""
    replies = run.attempts.filter(status__in=(Attempt.Status.SUCCEEDED, Attempt.Status.REUSED)).exclude(worker="")
    return dict(replies.order_by("number").values_list("step__key", "worker"))


def problems_of(run: Run, workflow: Workflow, pool: Sequence[Frozen], *, is_fork: bool) -> list[Problem]:
    """What rules would hold a draft of `workflow` for, given to `pool`, as warnings at its steps.

    Of a fork nothing is approved yet, whatever was of `run`, and its instructions carry what they did in that.
    """
    other = copy(run)
    other.setup = run.setup | {"pool": list(pool)}
    if is_fork:
        other.setup |= {"planner": "saved", "told": written_in(run)}
        other.excepted = []
    elif workflow != run.workflow:
        other.excepted = [name for name in run.excepted if not flow.is_of_steps(name)]  # as revising it leaves them
    numbers = {key: number for number, key in enumerate(workflow.keys, start=1)}
    names = {each["slug"]: each["name"] for each in _everybody(other.setup)}
    return [
        Problem(
            "flow-rule",
            f"Step {numbers[each.reader]} reads what is {each.rule.carries}, and "
            f"{names.get(each.model, each.model)} is not known to be {each.rule.needs}: the run would be held.",
            each.reader,
            (each.path[-2], each.reader) if flow.is_step(each.path[-2]) else None,
            "warning",
        )
        for each in Flow.of(other).of_workflow(workflow)
        if each.reader in numbers
    ]


def as_told(offences: Sequence[Offence]) -> list[dict[str, Any]]:
    """Offences as an event and a run's row hold them."""
    return [
        {
            "name": each.name,
            "rule": each.rule.number,
            "carries": each.rule.carries,
            "needs": each.rule.needs,
            "reader": each.reader,
            "model": each.model,
            "path": list(each.path),
            "sources": list(each.sources),
        }
        for each in offences[:MOST_TOLD]
    ]


def _told_in(setup: Frozen) -> tuple[frozenset[str], ...]:
    told: Sequence[Any] = setup.get("told") or ()
    if any(isinstance(each, str) for each in told):  # kept before rounds were told apart
        told = [told]
    return tuple(frozenset(each) for each in told)


def _kind_of(part: Frozen) -> Kind:
    return "worker" if part["planner"] == Profile.Planner.UNTRAINED else "conductor"


def _everybody(setup: Frozen) -> Iterable[Frozen]:
    for worker in setup["pool"]:
        yield worker
        yield from worker.get("fallbacks", ())


def _tags_now(setup: Frozen) -> dict[tuple[Kind, str], frozenset[str]]:
    """Of whoever may be asked in a run; nobody vouches any more for a model whose row is gone."""
    parts = [setup, *([setup["fallback"]] if setup.get("fallback") else [])]
    asked = [part[role] for part in parts for role in ("conductor", "embedder") if part.get(role)]
    slugs = {each["slug"] for each in (*_everybody(setup), *asked)}
    tables: tuple[tuple[Kind, Any], ...] = (("worker", Worker.objects), ("conductor", Conductor.objects))
    return {
        (kind, slug): frozenset(tags)
        for kind, rows in tables
        for slug, tags in rows.filter(slug__in=slugs).values_list("slug", "tags")
    }
