"""Two runs beside each other: which step is which, what differs, and what else differs between the runs as wholes."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property

from apps.runs.models import Run, Step
from apps.web.comparing.deltas import Delta, deltas
from apps.web.comparing.differing import FIRST_CHARS, MOST_CHARS, Differing, Text, differing
from apps.web.comparing.paired import Row, Shown
from apps.web.comparing.sides import NO_TEXTS, NO_WORKFLOW, Side, Texts, steps_of
from apps.web.run.outline import Line
from apps.web.words.figures import listed
from apps.workflows.diff import Alignment, Change, align, change_of, sink_change
from apps.workflows.wording import Effort

PAGE_EFFORT = 8_000_000
"""Places looked at for the differences of one page: about half a second."""
MOST_NAMED = 8

SINKS = {"last": "the last step’s result", "vote": "voted for", "select": "selected"}


class Comparison:
    """Run `a` beside run `b`."""

    def __init__(self, a: Run, b: Run, *, now: datetime) -> None:
        self.a, self.b = Side("A", a, now=now), Side("B", b, now=now)
        self.effort = Effort(PAGE_EFFORT)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.a, self.b

    @property
    def is_kin(self) -> bool:
        """Whether they are of one lineage, in which a key is the key of one step."""
        return self.a.run.lineage_root_id == self.b.run.lineage_root_id

    @cached_property
    def alignment(self) -> Alignment:
        return align(self.a.workflow, self.b.workflow, kin=self.is_kin)

    @cached_property
    def deltas(self) -> list[Delta]:
        return list(deltas(self.a.standing, self.b.standing))

    # --- steps -----------------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> list[Row]:
        return [self._row(number, pair.a, pair.b) for number, pair in enumerate(self.alignment.pairs, start=1)]

    @property
    def changed(self) -> list[Row]:
        return [row for row in self.rows if row.what != "same"]

    @property
    def unlike(self) -> list[Row]:
        return [row for row in self.rows if row.is_unlike_itself]

    def _row(self, number: int, a: str | None, b: str | None) -> Row:
        here = self.a.lines[a] if a is not None else None
        there = self.b.lines[b] if b is not None else None
        marks = (self.a.marks.get(a or "", NO_TEXTS), self.b.marks.get(b or "", NO_TEXTS))
        if here is None or there is None:
            return Row(number, here, there, marks, (), ())
        change = change_of(
            self.a.workflow.step(here.row.key), self.b.workflow.step(there.row.key), self.alignment.became
        )
        return Row(number, here, there, marks, [*self._planned(change, here, there)], [*_outcome(here, there, *marks)])

    def _planned(self, change: Change, a: Line, b: Line) -> Iterator[str]:
        """What was planned otherwise."""
        if change.instruction:
            yield "instruction"
        if change.worker:
            yield f"worker {a.worker.name} → {b.worker.name}"
        if change.gained:
            yield f"reads {steps_of(self.b, change.gained)} of B"
        if change.lost:
            yield f"no longer reads {steps_of(self.a, change.lost)} of A"
        for name, turn in (("role", change.role), ("round", change.round)):
            if turn:
                yield f"{name} {turn[0] or 'none'} → {turn[1] or 'none'}"

    def shown(self, rows: Sequence[Row], *, whole: bool = False) -> list[Shown]:
        """`rows` with their texts, in four queries; `whole`: all there is of them."""
        chars = MOST_CHARS if whole else FIRST_CHARS
        a = self.a.texts([row.a.row.key for row in rows if row.a], chars=chars)
        b = self.b.texts([row.b.row.key for row in rows if row.b], chars=chars)
        return [
            Shown(
                row,
                a[row.a.row.key] if row.a else NO_TEXTS,
                b[row.b.row.key] if row.b else NO_TEXTS,
                self.effort,
                whole=whole,
            )
            for row in rows
        ]

    # --- the whole -------------------------------------------------------------------------------------------------

    def task(self, *, whole: bool = False) -> Differing:
        return self._of(self.a.run.task, self.b.run.task, whole=whole)

    def answer(self, *, whole: bool = False) -> Differing:
        return self._of(self.a.run.answer, self.b.run.answer, whole=whole)

    def _of(self, a: str, b: str, *, whole: bool) -> Differing:
        chars = MOST_CHARS if whole else FIRST_CHARS
        texts = (Text(text[:chars], len(text), text) for text in (a, b))
        return differing(*texts, effort=self.effort, whole=whole)

    @cached_property
    def settings(self) -> list[str]:
        """What else differs between the runs, in sentences."""
        a, b = self.a, self.b
        said = []
        if a.standing.whence.label != b.standing.whence.label:
            said.append(f"Planned by {a.standing.whence.label} in A, by {b.standing.whence.label} in B.")
        for side, other in ((a, b), (b, a)):
            if missing := [look.name for slug, look in side.standing.looks.items() if slug not in other.run.pool]:
                said.append(f"Only {side.name} has {listed(missing[:MOST_NAMED])} in its pool.")
        if self.alignment.pairs:
            said += self._sink()
            if a.workflow.show_task != b.workflow.show_task:
                said.append(f"Only in {'A' if a.workflow.show_task else 'B'} every step is shown the task.")
            if a.workflow.on_failure != b.workflow.on_failure:
                goes_on = "A" if a.workflow.on_failure == "empty" else "B"
                said.append(f"Only in {goes_on} what reads a failed step goes on without it.")
        return said

    def _sink(self) -> list[str]:
        if self.a.workflow is NO_WORKFLOW or self.b.workflow is NO_WORKFLOW:
            return []
        change = sink_change(self.a.workflow, self.b.workflow, self.alignment.became)
        said = []
        if change.kind:
            said.append(f"The answer is {SINKS[change.kind[0]]} in A, {SINKS[change.kind[1]]} in B.")
        if change.lost:
            said.append(f"Only in A the answer comes from {steps_of(self.a, change.lost)}.")
        if change.gained:
            said.append(f"Only in B the answer comes from {steps_of(self.b, change.gained)}.")
        if change.weights:
            said.append("The steps are weighed otherwise.")
        return said


def _outcome(a: Line, b: Line, *marks: Texts) -> Iterator[str]:
    """What came otherwise: only texts that are there can differ."""
    (prompt, result), (other_prompt, other_result) = ((each.prompt, each.result) for each in marks)
    if prompt.mark and other_prompt.mark and prompt != other_prompt:
        yield "prompt"
    if a.row.status != b.row.status and {a.row.status, b.row.status} - set(Step.DONE):
        yield f"{a.row.get_status_display().lower()} → {b.row.get_status_display().lower()}"
    if result.mark and other_result.mark and result != other_result:
        yield "result"
