"""The steps of a run as its outline lists them: a line each, with a word on how it goes and a bar for when it ran."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.runs.models import Attempt, Run, Step
from apps.web.run.nests import Nest
from apps.web.run.paused import Written
from apps.web.words.figures import listed, plural, price, seconds, short_title
from apps.web.words.looks import Look, look_of

BILLED = (Attempt.Status.SUCCEEDED, Attempt.Status.FAILED, Attempt.Status.LATE)
NARROWEST = 2.0  # percent: a step too quick to see still gets a mark
MOST_NAMED = 4
NOT_BILLED = "–"


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
    nest: Nest | None  # the run it became
    start: float  # where its bar begins and how long it is, in percent of the run
    width: float
    has_breakpoint: bool  # the run pauses before it

    @property
    def state(self) -> str:
        return self.row.status

    @property
    def is_billed(self) -> bool:
        return self.cost != NOT_BILLED


def lines_of(
    run: Run,
    steps: Sequence[Step],
    attempts: Mapping[int, Sequence[Attempt]],
    looks: Mapping[str, Look],
    nests: Mapping[str, Nest],
    *,
    now: datetime,
    written: Mapping[int, Written] | None = None,
) -> list[Line]:
    """A line for each of `steps`, whose `attempts` stand under their ids, and the runs they became under their keys.

    `written` are the results that people wrote, by their attempts' ids.
    """
    numbers = {step.key: step.position + 1 for step in steps}
    done = {step.key for step in steps if step.status in Step.DONE}
    span = _span(steps, now)
    lines = []
    for step in steps:
        calls = attempts.get(step.pk, [])
        waits_for = [numbers[key] for key in step.access if key in numbers and key not in done]
        start, width = _bar(step, span, now)
        source = calls[-1].source if calls else None
        line = Line(
            row=step,
            number=step.position + 1,
            title=short_title(step.instruction),
            worker=looks.get(step.worker) or look_of(step.worker, None),
            note=_with_stand_in(_note(run, step, calls, waits_for, written or {}), step, calls, looks),
            cost=cost_of(calls),
            once=price(source.cost_usd) if source else "",
            nest=nests.get(step.key),
            start=start,
            width=width,
            has_breakpoint=step.key in run.breakpoints,
        )
        lines.append(line)
    return lines


def cost_of(calls: Iterable[Attempt]) -> str:
    """What the calls of one step were billed, all together; a dash where none was."""
    billed = [call for call in calls if call.status in BILLED]
    if not billed:
        return NOT_BILLED
    if any(call.cost_usd is None for call in billed):
        return price(None)
    total = sum((call.cost_usd for call in billed if call.cost_usd), Decimal(0))
    return price(total, estimated=any(call.estimated for call in billed))


def _note(
    run: Run, step: Step, calls: Sequence[Attempt], waits_for: Sequence[int], written: Mapping[int, Written]
) -> str:
    last = calls[-1] if calls else None
    match step.status:
        case Step.Status.WAITING:
            return _waiting(run, step, waits_for)
        case Step.Status.RUNNING:
            if last and last.status == Attempt.Status.FAILED:
                return step.note or "trying again"
            return f"attempt {last.number}" if last and last.number > 1 else "running"
        case Step.Status.REUSED:
            return f"from run {last.source.run.code}" if last and last.source else "reused"
        case Step.Status.WRITTEN:
            return f"written by {written[last.pk].by}" if last and last.pk in written else "written by hand"
        case Step.Status.FAILED:
            return f"failed after {plural(len(calls), 'attempt')}" if calls else "failed"
        case Step.Status.SKIPPED:
            return "skipped"
        case Step.Status.CANCELLED:
            if last is None:
                return "not run"
            return "late, not used" if last.status == Attempt.Status.LATE else "cut off"
    return seconds(last.duration_ms) if last and last.duration_ms is not None else ""


def _with_stand_in(note: str, step: Step, calls: Sequence[Attempt], looks: Mapping[str, Look]) -> str:
    """The note, and who was called in the worker's place."""
    if not calls or calls[-1].worker in ("", step.worker):  # nobody was asked for what a person wrote
        return note
    worker = looks.get(calls[-1].worker) or look_of(calls[-1].worker, None)
    return " · ".join(filter(None, [f"{worker.name} stood in", note]))


def _waiting(run: Run, step: Step, waits_for: Sequence[int]) -> str:
    if run.status == Run.Status.HELD and run.hold in ("", Run.Hold.REVIEW):
        return "not approved yet"
    if run.status == Run.Status.HELD and _is_held_at(run, step):
        return _held(run, step)
    if step.key in run.breakpoints and step.key not in run.passed:
        return "pauses before it"
    if step.note:  # why its call is not made yet
        return step.note
    if len(waits_for) > MOST_NAMED:
        return f"waits for {len(waits_for)} steps"
    return f"waits for {listed(waits_for)}" if waits_for else "next"


def _is_held_at(run: Run, step: Step) -> bool:
    return step.key == run.held_by.get("step") or (
        run.hold == Run.Hold.RULES and step.key in run.held_by.get("steps", ())
    )


def _held(run: Run, step: Step) -> str:
    if run.hold in (Run.Hold.LIMIT, Run.Hold.RULES):
        return f"held: {run.hold}"
    return "held: breakpoint" if run.held_by.get("breakpoint") == step.key else "held: paused"


def _span(steps: Sequence[Step], now: datetime) -> tuple[datetime, float] | None:
    """When the first step began, and the seconds since then until the last one ended."""
    times = [(step.started_at, step.finished_at or now) for step in steps if step.started_at]
    if not times:
        return None
    first = min(began for began, _ in times)
    return first, max((max(ended for _, ended in times) - first).total_seconds(), 0.001)


def _bar(step: Step, span: tuple[datetime, float] | None, now: datetime) -> tuple[float, float]:
    if span is None or step.started_at is None:
        return 0.0, 0.0
    first, whole = span
    start = (step.started_at - first).total_seconds() / whole * 100
    width = ((step.finished_at or now) - step.started_at).total_seconds() / whole * 100
    return round(min(start, 100 - NARROWEST), 2), round(min(max(width, NARROWEST), 100), 2)
