"""Self-consistency: one worker answers several times, and what most of them say is the answer (arXiv 2203.11171)."""

from dataclasses import replace
from typing import ClassVar, Final

from apps.conductor.proposal import Ask, Brief, Proposal, Watch, propose
from apps.workflows.workflow import Step, Vote, Workflow

from . import options
from .asking import check_pool
from .direct import INSTRUCTION

SAMPLES: Final = 5
MOST_SAMPLES: Final = 40
NUMBERED: Final = "{instruction} Work it out on your own; this is attempt {number} of {samples}."


class SelfConsistency:
    """The same worker asked in parallel, none of its attempts reading another; the sink is a vote.

    Options: `n` (5 attempts), `worker` (the first of the pool).

    Section 2 of the paper samples one prompt at a temperature above nothing. Departure: every attempt's instruction
    names its number, so that the attempts differ at any temperature and no result of one is taken for another's.
    """

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """:raises apps.core.errors.Invalid: there is no pool, or an option cannot be used."""
        check_pool(brief)
        samples = options.whole(brief.options, "n", SAMPLES, most=MOST_SAMPLES)
        worker = str(brief.options.get("worker") or brief.workers[0])
        steps = tuple(
            Step(
                key=f"s{number}",
                instruction=NUMBERED.format(instruction=INSTRUCTION, number=number, samples=samples),
                worker=worker,
                role="attempt",
            )
            for number in range(1, samples + 1)
        )
        workflow = Workflow(steps=steps, sink=Vote(over=tuple(step.key for step in steps)), on_failure="empty")
        return propose(workflow, replace(brief, max_steps=samples))
