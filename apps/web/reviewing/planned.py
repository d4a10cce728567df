"""How a workflow came about: what the planner was sent, what it wrote, what was mended in that, what was wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.runs.models import Proposal, Run
from apps.web.reviewing.reading import Reading
from apps.web.run.rounds import is_in_turns, planned_in
from apps.web.words.billed import Billed
from apps.web.words.looks import Look, look_of
from apps.web.words.texts import Shown


@dataclass(frozen=True)
class Plan(Billed):
    """One time that the planner was asked."""

    row: Proposal
    conductor: Look | None
    sent: Shown
    raw: Shown


@dataclass(frozen=True)
class Round:
    """The tries of one round; `name` is empty where there was but one."""

    name: str
    verdict: str
    plans: Sequence[Plan]


def plans_of(run: Run, reading: Reading) -> list[Round]:
    """Everything that was asked of the planner of `run`, round by round."""
    rows = list(run.proposals.defer("track"))
    turns = is_in_turns(run.planned_by or str(run.setup["planner"]), list(run.steps.only("run", "round")))
    return [
        Round(each.name, each.verdict, [_plan(run, row, reading) for row in each.plans])
        for each in planned_in(rows, called="Turn" if turns else "Round")
    ]


def _plan(run: Run, row: Proposal, reading: Reading) -> Plan:
    asked = (run.setup["conductor"], (run.setup.get("fallback") or {}).get("conductor"))
    frozen = next((each for each in asked if each and each["slug"] == row.conductor), None)
    sent = "\n\n".join(str(message.get("content", "")) for message in row.sent)
    return Plan(
        row=row,
        conductor=look_of(row.conductor, frozen) if row.conductor else None,
        sent=reading.exact(sent),
        raw=reading.exact(row.raw),
    )
