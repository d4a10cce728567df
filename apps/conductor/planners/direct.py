"""The planner that does not plan: one worker answers the task in one step. The baseline of every other planner."""

from typing import ClassVar

from apps.conductor.proposal import Ask, Brief, Proposal, Watch, propose
from apps.core.errors import Invalid
from apps.workflows.workflow import Step, Workflow

INSTRUCTION = "Answer the overall task completely, in the form it asks for."


class Direct:
    """One step for `options["worker"]`, or the first worker of the pool. No model is called to plan it."""

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        if not brief.pool:
            raise Invalid("There is no worker in the pool. Choose at least one.", field="pool")
        worker = brief.options.get("worker") or brief.workers[0]
        return propose(Workflow(steps=(Step(key="s1", instruction=INSTRUCTION, worker=worker),)), brief)
