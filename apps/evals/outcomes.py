"""What one entrant made of one task, as it is kept: a line of JSON for each, for reports and for planners that learn.

`outcomes.jsonl` holds every `Outcome`; `scores.jsonl` holds what each single worker made of each task, which is what a
learnt router is trained on.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

OUTCOMES = "outcomes.jsonl"
SCORES = "scores.jsonl"


class Line(BaseModel):
    """A frozen value that refuses what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Voted(Line):
    """What the vote over the first `n` attempts of a self-consistency comes to, and what those attempts cost."""

    n: int
    right: bool
    cost_usd: float
    tokens: int


class Outcome(Line):
    """One run of the studio, graded. `said` is the final answer that was judged, `why` what is wrong with it.

    Tokens, cost and calls are those of the whole run, the planning included. `valid_at_once` is None where no model
    was asked for a workflow. `widths` are the steps of each wave of the workflow: (3, 1) is three side by side and one
    that waits for them.
    """

    entrant: str
    planner: str
    kind: str
    seed: int
    task: str
    expected: str
    run: str
    status: str
    right: bool
    said: str
    answer: str
    why: str
    error: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    cost_known: bool
    calls: int
    steps: int
    rounds: int
    latency_s: float
    planned: bool
    valid_at_once: bool | None
    widths: tuple[int, ...]
    sink: str
    distinct_instructions: int
    workers: dict[str, int]
    votes: tuple[Voted, ...] = ()

    @property
    def task_id(self) -> tuple[str, int]:
        return self.kind, self.seed

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def shape(self) -> str:
        """The workflow's shape in a few signs: "3 → 1", or "5 → vote"; empty where nothing was planned."""
        waves = [str(width) for width in self.widths]
        return " → ".join(waves if self.sink in ("last", "") else [*waves, self.sink])


class Score(Line):
    """What one worker, asked directly, made of one task: the rows that `train_planner` reads."""

    kind: str
    seed: int
    task: str
    worker: str
    correct: bool
    answer: str
    cost_usd: float
    tokens: int
    latency_s: float


def scores(outcomes: Iterable[Outcome]) -> Iterator[Score]:
    """The scores of single workers among the outcomes: those of the planner `direct`, which asks one worker once."""
    for outcome in outcomes:
        if outcome.planner == "direct" and len(outcome.workers) == 1:
            yield Score(
                kind=outcome.kind,
                seed=outcome.seed,
                task=outcome.task,
                worker=next(iter(outcome.workers)),
                correct=outcome.right,
                answer=outcome.answer,
                cost_usd=outcome.cost_usd,
                tokens=outcome.tokens,
                latency_s=outcome.latency_s,
            )


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    path.write_text("".join(f"{line.model_dump_json()}\n" for line in lines), encoding="utf-8")


def read_outcomes(path: Path) -> list[Outcome]:
    """:raises ValueError: a line is no outcome."""
    return [Outcome.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def by_entrant(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes of each entrant in the same order of tasks; a task that some entrant did not finish is left out."""
    names = list(dict.fromkeys(outcome.entrant for outcome in outcomes))
    found: dict[str, dict[tuple[str, int], Outcome]] = {name: {} for name in names}
    for outcome in outcomes:
        found[outcome.entrant][outcome.task_id] = outcome
    order = dict.fromkeys(outcome.task_id for outcome in outcomes)
    common = [task for task in order if all(task in each for each in found.values())]
    return {name: [found[name][task] for task in common] for name in names}
