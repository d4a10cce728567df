"""Mixture-of-Agents: every worker answers, layer upon layer, and one of them sums up (arXiv 2406.04692)."""

from dataclasses import replace
from typing import ClassVar, Final

from apps.conductor.proposal import Ask, Brief, Proposal, Watch, propose
from apps.workflows.workflow import Step, Workflow

from . import options
from .asking import check_pool
from .direct import INSTRUCTION

LAYERS: Final = 1
MOST_LAYERS: Final = 5
SUM_UP: Final = (
    "You were given the answers of several models to the overall task. Judge them critically: some of them may be "
    "wrong or one-sided, and the majority may be too. Do not merely repeat them; reply with the one best answer, "
    "complete, accurate and in the form the overall task asks for."
)


class MixtureOfAgents:
    """Layers of every worker of the pool, each layer reading the whole layer before it, and an aggregator at the end.

    Options: `layers` of proposers (1; the paper's section 2.2 stacks up to three, its "lite" form one), `aggregator`
    (the first worker of the pool). Its own limit on steps: workers times layers, and one.

    Departure: the paper's proposers of later layers get the text its aggregator gets as a system prompt; here they get
    it as their instruction. A proposer that fails is left out instead of ending the run.
    """

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """:raises apps.core.errors.Invalid: there is no pool, or an option cannot be used."""
        check_pool(brief)
        layers = options.whole(brief.options, "layers", LAYERS, most=MOST_LAYERS)
        aggregator = str(brief.options.get("aggregator") or brief.workers[0])
        steps: list[Step] = []
        below: tuple[str, ...] = ()
        for _ in range(layers):
            added = [_proposer(len(steps) + at, worker, below) for at, worker in enumerate(brief.workers, start=1)]
            steps += added
            below = tuple(step.key for step in added)
        last = Step(key=f"s{len(steps) + 1}", instruction=SUM_UP, worker=aggregator, access=below, role="aggregator")
        workflow = Workflow(steps=(*steps, last), on_failure="empty")
        return propose(workflow, replace(brief, max_steps=len(workflow.steps)))


def _proposer(number: int, worker: str, below: tuple[str, ...]) -> Step:
    instruction = SUM_UP if below else INSTRUCTION
    return Step(key=f"s{number}", instruction=instruction, worker=worker, access=below, role="proposer")
