"""The rows of a run and of all that is nested in it, read together: a few queries for each depth, however many runs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from apps.runs.models import Attempt, Proposal, Run, Step

HEAVY = ("sent", "text", "track")


@dataclass
class Rows:
    """One run with its steps, calls and proposals; and the runs that calls of it became, by the attempt."""

    run: Run
    steps: list[Step] = field(default_factory=list)
    attempts: dict[int, list[Attempt]] = field(default_factory=lambda: defaultdict(list))  # by the step's id
    proposals: list[Proposal] = field(default_factory=list)
    nested: dict[int, "Rows"] = field(default_factory=dict)

    @property
    def runs(self) -> "list[Rows]":
        """This one and all within it."""
        return [self, *(inner for each in self.nested.values() for inner in each.runs)]


def rows_of(run: Run) -> Rows:
    """The run and whatever is nested in it; the texts of steps and calls are left out."""
    found = Rows(run)
    level = [found]
    while level:
        _fill(level)
        level = _nested_in(level) if run.setup.get("nesting") else []
    return found


def _fill(level: Sequence[Rows]) -> None:
    by_run = {rows.run.pk: rows for rows in level}
    for step in Step.objects.filter(run__in=by_run).defer("result"):
        by_run[step.run_id].steps.append(step)
    attempts = Attempt.objects.filter(run__in=by_run).select_related("source__run")
    for attempt in attempts.defer(*HEAVY, *_of_source()).order_by("step_id", "number"):
        by_run[attempt.run_id].attempts[attempt.step_id].append(attempt)
    for proposal in Proposal.objects.filter(run__in=by_run).defer("sent", "raw", "track").order_by("number"):
        by_run[proposal.run_id].proposals.append(proposal)


def _of_source() -> Iterable[str]:
    return (*(f"source__{name}" for name in HEAVY), "source__run__workflow_body", "source__run__setup")


def _nested_in(level: Sequence[Rows]) -> list[Rows]:
    around = {rows.run.pk: rows for rows in level}
    inner = []
    runs = Run.objects.filter(nested_in__run__in=around).select_related("nested_in").defer("workflow_body", "answer")
    for run in runs.order_by("pk"):
        assert run.nested_in is not None
        rows = around[run.nested_in.run_id].nested[run.nested_in.pk] = Rows(run)
        inner.append(rows)
    return inner
