"""How an answer is taken where that is more than "the last step's": what is counted or weighed, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.runs.models import Run, Step
from apps.web.words.figures import listed, plural
from apps.web.words.planners import TURN_BY_TURN
from apps.workflows.workflow import Last, Sink, Vote

SHOWN = 8
LONGEST = 300
NAMED = 6


@dataclass(frozen=True)
class Row:
    """One answer with the steps that gave it, or one step with its weight."""

    label: str
    steps: Sequence[int]
    share: str
    percent: float
    is_taken: bool


@dataclass(frozen=True)
class Counted:
    """What a vote or a selection goes by."""

    kind: str
    over: Sequence[int]
    done: int
    rows: Sequence[Row]
    is_tie: bool

    @property
    def name(self) -> str:
        return "Vote" if self.kind == "vote" else "Selection"

    @property
    def steps(self) -> str:
        """`steps 1, 2 and 3`"""
        if len(self.over) > NAMED:
            return plural(len(self.over), "step")
        return f"step{'' if len(self.over) == 1 else 's'} {listed(self.over)}"

    @property
    def shown(self) -> Sequence[Row]:
        return self.rows[:SHOWN]

    @property
    def more(self) -> int:
        return max(0, len(self.rows) - SHOWN)

    @property
    def taken(self) -> Row | None:
        return next((row for row in self.rows if row.is_taken), None)


def counted_of(run: Run, sink: Sink, steps: Sequence[Step]) -> Counted | None:
    """What the `sink` of `run` counts, and how it came out; None where the last step answers."""
    if isinstance(sink, Last):
        return None
    numbers = {step.key: step.position + 1 for step in steps}
    done = {step.key for step in steps if step.status in Step.DONE}
    detail = run.answer_detail
    rows = _votes(run, detail.get("counts", {}), numbers) or _weights(run, detail.get("weights", {}), numbers)
    return Counted(
        kind="vote" if isinstance(sink, Vote) else "select",
        over=[numbers[key] for key in sink.over if key in numbers],
        done=sum(key in done for key in sink.over),
        rows=rows,
        is_tie=bool(detail.get("tie")),
    )


def how_taken(run: Run, counted: Counted | None, number: int | None) -> str:
    """`from step 4`, `3 of 5 say so, as step 2 put it`: how the answer of a run that succeeded was taken."""
    if number is None:
        return ""
    match run.answer_rule:
        case "last-non-empty":
            return f"from step {number}, the last one that said something"
        case "vote" | "vote-tie" if counted and counted.taken:
            tie = "a tie, the first said was taken: " if counted.is_tie else ""
            return f"{tie}{counted.taken.share} say so, as step {number} put it"
        case "select" if (run.planned_by or run.setup["planner"]) == TURN_BY_TURN:
            return f"from step {number}, the last worker's"
        case "select":
            return f"from step {number}, selected by weight"
    return f"from step {number}"


def _votes(run: Run, counts: Mapping[str, Sequence[str]], numbers: Mapping[str, int]) -> list[Row]:
    total = sum(map(len, counts.values()))
    ranked = sorted(counts.items(), key=lambda vote: (run.answer_step not in vote[1], -len(vote[1])))
    return [
        Row(
            label=answer[:LONGEST] or "nothing",
            steps=sorted(numbers[key] for key in keys if key in numbers),
            share=f"{len(keys)} of {total}",
            percent=round(len(keys) / total * 100, 1),
            is_taken=run.answer_step in keys,
        )
        for answer, keys in ranked
    ]


def _weights(run: Run, weights: Mapping[str, Any], numbers: Mapping[str, int]) -> list[Row]:
    most = max(weights.values(), default=1) or 1
    ranked = sorted(weights.items(), key=lambda each: (each[0] != run.answer_step, -each[1]))
    return [
        Row(
            label=f"Step {numbers[key]}",
            steps=[numbers[key]],
            share=f"{float(f'{weight:.3g}'):g}",
            percent=round(max(0.0, weight / most) * 100, 1),
            is_taken=key == run.answer_step,
        )
        for key, weight in ranked
        if key in numbers
    ]
