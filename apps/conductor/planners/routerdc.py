"""RouterDC: the worker whose learnt vector lies nearest to the task's answers it alone (arXiv 2409.19886)."""

from typing import ClassVar

from apps.conductor.proposal import Ask, Brief, Proposal, Watch, propose
from apps.workflows.workflow import Step, Workflow

from .asking import check_pool
from .direct import INSTRUCTION


class RouterDC:
    """One step for the worker of the greatest cosine; those it was not trained on are passed over. No options.

    How it learns, and where that departs from the paper, stands in `apps.conductor.learning.routerdc`.
    """

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = True

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """:raises apps.core.errors.Invalid: there is no pool, or nothing was learnt of its workers."""
        from apps.conductor.learning import bodies, routerdc  # numpy: only who routes loads it

        check_pool(brief)
        learnt = bodies.learnt_of(brief, name="RouterDC", command="routerdc")
        scores = routerdc.scores(learnt, bodies.vector_of(learnt, brief))
        offered = [worker for worker in brief.workers if worker in scores]
        worker = max(offered, key=scores.__getitem__)
        return propose(Workflow(steps=(Step(key="s1", instruction=INSTRUCTION, worker=worker, role="routed"),)), brief)
