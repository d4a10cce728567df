"""What a run's trail and rows have in common for everyone who writes them: sealing, moving, laying out."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from apps.audit import log as audit
from apps.audit.log import Actor, Entry
from apps.core.errors import Conflict
from apps.runs.models import Run, Step
from apps.workflows import workflow as workflows
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow


class IllegalMove(Conflict):
    """The run was no longer in a state from which this is possible."""


def append(run: Run, entries: Sequence[Entry], *, by: Actor, at: datetime) -> None:
    """Seal `entries` in the run's trail, in the caller's transaction."""
    audit.append(run.trail, entries, by=by, at=at, subject=run.code, project=run.project.slug)


def move(run: Run, to: Run.Status, *, of: "QuerySet[Run] | None" = None, **changes: Any) -> None:
    """Change the status only if the move is legal, so that of two racing writers one wins.

    :raises IllegalMove: somebody was faster.
    """
    sources = [status for status, targets in Run.MOVES.items() if to in targets]
    rows = Run.objects.filter(pk=run.pk) if of is None else of
    if not rows.filter(status__in=sources).update(status=to, **changes):
        run.refresh_from_db(fields=["status"])
        raise IllegalMove(f"a run that is {run.get_status_display().lower()} cannot become {to.label.lower()}")
    run.status = to
    for name, value in changes.items():
        setattr(run, name, value)


def adopted(workflow: Workflow, *, by: str, warnings: Iterable[Problem] = ()) -> Entry:
    """The event that says which workflow a run carries out."""
    settings = {"show_task": workflow.show_task, "on_failure": workflow.on_failure}
    return _workflow_event("workflow.adopted", workflow, workflow.steps, warnings, {"by": by} | settings)


def extended(workflow: Workflow, *, since: int, warnings: Iterable[Problem] = ()) -> Entry:
    """The event that says which steps a planner added behind the first `since`."""
    return _workflow_event("workflow.extended", workflow, workflow.steps[since:], warnings, {"by": "planner"})


def _workflow_event(
    verb: str, workflow: Workflow, steps: Sequence[workflows.Step], warnings: Iterable[Problem], data: dict[str, Any]
) -> Entry:
    return Entry(
        verb,
        data
        | {
            "warnings": [{"code": w.code, "message": w.message, "step": w.step} for w in warnings],
            "steps": [step.model_dump(mode="json", exclude={"instruction"}) for step in steps],
            "sink": workflow.sink.model_dump(mode="json"),
        },
        {f"instruction:{step.key}": step.instruction for step in steps},
    )


def lay_out(run: Run, workflow: Workflow, *, since: int = 0) -> None:
    """Make the run's step rows from the workflow it carries out, from position `since` on."""
    Step.objects.bulk_create(
        Step(
            run=run,
            key=step.key,
            position=position,
            instruction=step.instruction,
            worker=step.worker,
            access=list(step.access),
            role=step.role,
            round=step.round,
        )
        for position, step in enumerate(workflow.steps)
        if position >= since
    )
