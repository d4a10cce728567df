"""The planner for a workflow that exists: one a person wrote, saved or edited."""

from typing import ClassVar

from pydantic import ValidationError

from apps.conductor.proposal import Ask, Brief, Proposal, Watch, propose
from apps.core.errors import Invalid
from apps.workflows.workflow import Workflow


class NoWorkflow(Invalid):
    """What was given in its place is no workflow."""


class Saved:
    """`options["workflow"]`, a Workflow or its JSON (text or data), checked against the pool and the limit."""

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """:raises NoWorkflow: the option is missing or is none."""
        given = brief.options.get("workflow")
        try:
            workflow = (
                Workflow.model_validate_json(given)
                if isinstance(given, str | bytes)
                else Workflow.model_validate(given)
            )
        except ValidationError as error:
            where = " → ".join(str(part) for part in error.errors()[0]["loc"])
            why = f"{where}: {error.errors()[0]['msg']}" if where else error.errors()[0]["msg"]
            raise NoWorkflow(f"The saved workflow cannot be read ({why}).", field="workflow") from error
        return propose(workflow, brief)
