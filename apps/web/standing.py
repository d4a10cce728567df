"""How a run stands, as the head, the outline and the answer of its page tell it.

Everything is read when it is first asked for and once: a part of the page costs the queries it needs and no more,
however many steps there are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property

from django.db.models import Q

from apps.runs.models import Attempt, Proposal, Run, Step
from apps.web.figures import listed, plural, price, seconds, short_title, usd
from apps.web.looks import Look, look_of, looks_of
from apps.workflows import graph
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow

LINEAGE_SHOWN = 50
BILLED = (Attempt.Status.SUCCEEDED, Attempt.Status.FAILED, Attempt.Status.LATE)
NARROWEST = 2.0  # percent: a step too quick to see still gets a mark


@dataclass(frozen=True)
class Line:
    """One step as the outline shows it."""

    row: Step
    number: int
    title: str
    worker: Look
    note: str
    cost: str
    once: str  # what a reused result cost when it was made
    start: float  # where its bar begins and how long it is, in percent of the run
    width: float

    @property
    def state(self) -> str:
        return self.row.status


@dataclass(frozen=True)
class Spent:
    """What a run has cost so far, and what is to be said beside the figure."""

    text: str
    note: str = ""


class Standing:
    """One run at one moment."""

    def __init__(self, run: Run, *, now: datetime) -> None:
        self.run = run
        self.now = now

    # --- rows ------------------------------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> list[Step]:
        return list(self.run.steps.defer("result"))

    @cached_property
    def attempts(self) -> dict[int, list[Attempt]]:
        """The attempts of each step (by its id), in order, without what was sent and said."""
        rows = self.run.attempts.select_related("source__run").only(
            *(field.attname for field in Attempt._meta.concrete_fields if field.name not in ("sent", "text")),
            "source__cost_usd",
            "source__output_tokens",
            "source__run__code",
        )
        by_step: dict[int, list[Attempt]] = {}
        for attempt in rows.order_by("step_id", "number"):
            by_step.setdefault(attempt.step_id, []).append(attempt)
        return by_step

    @cached_property
    def proposals(self) -> list[Proposal]:
        return list(self.run.proposals.defer("sent", "raw"))

    @cached_property
    def lineage(self) -> list[Run]:
        """The runs this one descends from or gave rise to, oldest first, itself among them."""
        root = self.run.lineage_root_id
        rows = Run.objects.filter(Q(pk=root) | Q(root=root), project=self.run.project_id)
        return list(rows.only("code", "status", "parent_id").order_by("pk")[:LINEAGE_SHOWN])

    @cached_property
    def workflow(self) -> Workflow | None:
        return self.run.workflow

    # --- who and whence --------------------------------------------------------------------------------------------

    @cached_property
    def looks(self) -> dict[str, Look]:
        return looks_of(self.run.pool)

    def look(self, slug: str) -> Look:
        return self.looks.get(slug) or look_of(slug, None)

    @cached_property
    def conductor(self) -> Look | None:
        frozen = self.run.setup["conductor"]
        return look_of(frozen["slug"], frozen) if frozen and self.run.setup["planner"] == "conductor" else None

    @property
    def parent(self) -> Run | None:
        return next((run for run in self.lineage if run.pk == self.run.parent_id), None)

    @property
    def children(self) -> list[Run]:
        return [run for run in self.lineage if run.parent_id == self.run.pk]

    # --- the head --------------------------------------------------------------------------------------------------

    @property
    def elapsed_ms(self) -> float:
        return ((self.run.finished_at or self.now) - self.run.created_at).total_seconds() * 1000

    @property
    def elapsed_s(self) -> str:
        """The seconds gone, for a clock that goes on from there."""
        return f"{self.elapsed_ms / 1000:.1f}"

    @property
    def tokens(self) -> int:
        return self.run.input_tokens + self.run.output_tokens

    @cached_property
    def calls(self) -> list[Attempt]:
        """Every call that was really made."""
        return [call for calls in self.attempts.values() for call in calls if call.status != Attempt.Status.REUSED]

    @property
    def is_estimated(self) -> bool:
        return any(call.estimated for call in self.calls) or any(plan.estimated for plan in self.proposals)

    @cached_property
    def once_usd(self) -> Decimal:
        """What the results that this run reused cost when they were made."""
        sources = (call.source for calls in self.attempts.values() for call in calls)
        return sum((source.cost_usd for source in sources if source and source.cost_usd), Decimal(0))

    @property
    def spent(self) -> Spent:
        run = self.run
        about = "≈ " if self.is_estimated and run.cost_usd else ""
        note = f"reused what once cost {usd(self.once_usd)}" if self.once_usd else ""
        if run.cost_unknown:
            return Spent(
                f"{about}{usd(run.cost_usd)} and calls of unknown price" if run.cost_usd else "price unknown", note
            )
        if run.cost_usd:
            return Spent(f"{about}{usd(run.cost_usd)}", note)
        return Spent("nothing" if run.is_ended or not self.tokens else "free of charge", note)

    @property
    def planned(self) -> str:
        """How the plan came about: `3.1 s · 1 repair · asked 2 times`."""
        parts = []
        if took := sum(plan.duration_ms or 0 for plan in self.proposals):
            parts.append(seconds(took))
        if repairs := sum(len(plan.repairs) for plan in self.proposals[-1:]):
            parts.append(plural(repairs, "repair"))
        if len(self.proposals) > 1:
            parts.append(f"asked {len(self.proposals)} times")
        return " · ".join(parts)

    @property
    def plan(self) -> Proposal | None:
        """The proposal that is being written, or the last one."""
        return self.proposals[-1] if self.proposals else None

    @cached_property
    def warnings(self) -> list[Problem]:
        if self.workflow is None:
            return []
        return graph.check(self.workflow, workers=self.run.pool, max_steps=len(self.workflow.steps))

    @property
    def counts(self) -> str:
        """`5 steps · 5 access edges · critical path 3`"""
        if self.workflow is None:
            return ""
        edges = graph.as_digraph(self.workflow).number_of_edges()
        path = len(graph.critical_path(self.workflow))
        return " · ".join([plural(len(self.steps), "step"), plural(edges, "access edge"), f"critical path {path}"])

    @property
    def done(self) -> list[Step]:
        """The steps whose results a fork can take."""
        return [step for step in self.steps if step.status in Step.DONE]

    # --- the outline -----------------------------------------------------------------------------------------------

    @cached_property
    def lines(self) -> list[Line]:
        numbers = {step.key: step.position + 1 for step in self.steps}
        done = {step.key for step in self.done}
        return [self._line(step, numbers, done) for step in self.steps]

    def _line(self, step: Step, numbers: dict[str, int], done: set[str]) -> Line:
        calls = self.attempts.get(step.pk, [])
        waits_for = [numbers[key] for key in step.access if key in numbers and key not in done]
        start, width = self._bar(step)
        source = calls[-1].source if calls else None
        return Line(
            row=step,
            number=step.position + 1,
            title=short_title(step.instruction),
            worker=self.look(step.worker),
            note=self._note(step, calls, waits_for),
            cost=cost_of(calls),
            once=price(source.cost_usd) if source else "",
            start=start,
            width=width,
        )

    def _note(self, step: Step, calls: Sequence[Attempt], waits_for: Sequence[int]) -> str:
        last = calls[-1] if calls else None
        match step.status:
            case Step.Status.WAITING:
                if self.run.status == Run.Status.HELD:
                    return "not approved yet"
                return f"waits for {listed(waits_for)}" if waits_for else "next"
            case Step.Status.RUNNING:
                if last and last.status == Attempt.Status.FAILED:
                    return "trying again"
                return f"attempt {last.number}" if last and last.number > 1 else "running"
            case Step.Status.REUSED:
                return f"from run {last.source.run.code}" if last and last.source else "reused"
            case Step.Status.FAILED:
                return f"failed after {plural(len(calls), 'attempt')}" if calls else "failed"
            case Step.Status.SKIPPED:
                return "skipped"
            case Step.Status.CANCELLED:
                return "cut off" if calls else "not run"
        return took(step)

    @cached_property
    def _span(self) -> tuple[datetime, float] | None:
        began = [step.started_at for step in self.steps if step.started_at]
        if not began:
            return None
        ended = [step.finished_at or self.now for step in self.steps if step.started_at]
        return min(began), max((max(ended) - min(began)).total_seconds(), 0.001)

    def _bar(self, step: Step) -> tuple[float, float]:
        if self._span is None or step.started_at is None:
            return 0.0, 0.0
        first, whole = self._span
        until = step.finished_at or self.now
        start = (step.started_at - first).total_seconds() / whole * 100
        width = max(NARROWEST, (until - step.started_at).total_seconds() / whole * 100)
        return round(min(start, 100 - NARROWEST), 2), round(min(width, 100), 2)

    # --- the answer ------------------------------------------------------------------------------------------------

    @property
    def last_line(self) -> Line | None:
        return self.lines[-1] if self.lines else None

    @property
    def answer_line(self) -> Line | None:
        """The step the answer was taken from."""
        return next((line for line in self.lines if line.row.key == self.run.answer_step), None)

    @property
    def writing(self) -> Attempt | None:
        """The call that is writing what will be the answer."""
        if self.last_line is None or self.last_line.state != Step.Status.RUNNING:
            return None
        calls = self.attempts.get(self.last_line.row.pk, [])
        return calls[-1] if calls and calls[-1].status == Attempt.Status.RUNNING else None

    @property
    def cut(self) -> list[Line]:
        """The steps whose calls were cut by the stop, or came too late to be used."""
        over = (Attempt.Status.CUT, Attempt.Status.LATE)
        return [line for line in self.lines if any(call.status in over for call in self.attempts.get(line.row.pk, []))]

    @property
    def late(self) -> list[Line]:
        """The steps whose replies came whole after the stop: billed, not used."""
        late = Attempt.Status.LATE
        return [line for line in self.lines if any(call.status == late for call in self.attempts.get(line.row.pk, []))]


def took(step: Step) -> str:
    if step.started_at is None or step.finished_at is None:
        return ""
    return seconds((step.finished_at - step.started_at).total_seconds() * 1000)


def cost_of(calls: Iterable[Attempt]) -> str:
    """What the calls of one step were billed, all together; a dash where none was."""
    billed = [call for call in calls if call.status in BILLED]
    if not billed:
        return "–"
    costs = [call.cost_usd for call in billed]
    if None in costs:
        return price(None)
    return price(sum((cost for cost in costs if cost), Decimal(0)), estimated=any(call.estimated for call in billed))
