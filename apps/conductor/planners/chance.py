"""Any worker of the pool, drawn by lot: what a router has to beat."""

from random import Random
from typing import ClassVar

from apps.conductor.proposal import Ask, Brief, Proposal, Watch, propose
from apps.workflows.workflow import Step, Workflow

from .asking import check_pool
from .direct import INSTRUCTION


class Chance:
    """One step for a worker that the run's seed draws. No model is called to plan it. No options."""

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """:raises apps.core.errors.Invalid: there is no pool."""
        check_pool(brief)
        worker = Random(brief.seed).choice(brief.workers)  # noqa: S311 - a lot, no secret
        return propose(Workflow(steps=(Step(key="s1", instruction=INSTRUCTION, worker=worker),)), brief)
