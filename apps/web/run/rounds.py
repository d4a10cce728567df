"""The rounds of a run as its outline and its plan group them: the steps that each time of planning wrote.

Planners that go on turn by turn write one step in each: those are no groups. The canvas draws by the same rules
(rounds.ts).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.runs.models import Proposal, Step
from apps.web.run.outline import Line
from apps.web.words.figures import plural
from apps.web.words.planners import TURN_BY_TURN

KEPT = "The conductor saw the answer and added no step."
PLANNED_NOW = "The conductor looks at the answer: whether the workflow is kept or changed is being decided."
NOT_PLANNED = "The planner could not be asked, or wrote nothing valid."


@dataclass(frozen=True)
class Round:
    """One round; `number` is 0 where a run has but one, which is then no group."""

    number: int
    lines: Sequence[Line]
    verdict: str = ""
    note: str = ""

    @property
    def key(self) -> str:
        """What the canvas calls it, so that both fold together."""
        return f"round:{self.number}" if self.number else ""

    @property
    def progress(self) -> str:
        if not self.lines:
            return ""
        done = sum(line.state in Step.DONE for line in self.lines)
        return f"{done} of {plural(len(self.lines), 'step')}"


def is_in_turns(planner: str, steps: Sequence[Step]) -> bool:
    """Whether each round is one more step and not a group; of a workflow nobody planned anew its shape tells."""
    rounds = len({step.round for step in steps})
    return planner == TURN_BY_TURN or (planner == "saved" and rounds > 1 and rounds == len(steps))


def rounds_of(lines: Sequence[Line], proposals: Sequence[Proposal], *, planner: str) -> list[Round]:
    """The rounds of a run, those that added no step (yet) among them."""
    steps = [line.row for line in lines]
    later = {plan.round for plan in proposals if plan.round > 1} if steps else set()
    numbers = sorted({step.round for step in steps} | later)
    if len(numbers) < 2 or is_in_turns(planner, steps):
        return [Round(0, lines)]
    return [_round(number, [line for line in lines if line.row.round == number], proposals) for number in numbers]


def _round(number: int, lines: Sequence[Line], proposals: Sequence[Proposal]) -> Round:
    last = next((plan for plan in reversed(proposals) if plan.round == number), None)
    if number == 1 or last is None:
        return Round(number, lines)
    if lines:
        return Round(number, lines, verdict="changed")
    if last.verdict == Proposal.Verdict.KEPT:
        return Round(number, lines, verdict="kept", note=KEPT)
    if last.status in (Proposal.Status.WRITING, Proposal.Status.VALID):
        return Round(number, lines, verdict="being planned", note=PLANNED_NOW)
    return Round(number, lines, verdict="not planned", note=NOT_PLANNED)


@dataclass(frozen=True)
class Planned:
    """What was asked of the planner in one round, try by try; `name` is empty where there was but one."""

    name: str
    plans: Sequence[Proposal]

    @property
    def verdict(self) -> str:
        return self.plans[-1].verdict

    @property
    def is_writing(self) -> bool:
        return self.plans[-1].status == Proposal.Status.WRITING


def planned_in(plans: Sequence[Proposal], *, called: str) -> list[Planned]:
    """The proposals by round; `called` is what a round is called here."""
    numbers = sorted({plan.round for plan in plans})
    name = f"{called} {{}}" if len(numbers) > 1 else ""
    return [Planned(name.format(number), [plan for plan in plans if plan.round == number]) for number in numbers]
