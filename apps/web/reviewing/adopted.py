"""The workflows that a run had, one after the other, as its trail tells them: what edits began with and ended in."""

from apps.audit import log
from apps.audit.log import Read
from apps.runs.models import Run
from apps.workflows.workflow import Step, Workflow

ADOPTED, EXTENDED, FORKED = "workflow.adopted", "workflow.extended", "run.forked"
MOST_FORKS = 5_000  # of a run, that are looked through for one


def workflows_in(run: Run) -> dict[int, Workflow]:
    """Each workflow of `run` under the place in its trail of the event that brought it, in that order.

    Of instructions that were erased nothing is left.
    """
    found: dict[int, Workflow] = {}
    now: Workflow | None = None
    for event in log.read(run.trail, verbs=[ADOPTED, EXTENDED]):
        now = _extended(now, event) if event.verb == EXTENDED and now else _adopted(event)
        found[event.seq] = now
    return found


def before_fork(run: Run) -> Workflow | None:
    """What the parent's workflow was when `run` was made from it, whatever became of it since.

    None where there was none, or where texts of either were erased: then nobody can tell what was changed.
    """
    parent = run.parent
    if parent is None or parent.is_erased or run.is_erased:
        return None
    forks = log.read(parent.trail, verbs=[FORKED], limit=MOST_FORKS)
    place = next((event.seq for event in forks if event.data.get("child") == run.code), None)
    earlier = [workflow for seq, workflow in workflows_in(parent).items() if place is not None and seq < place]
    return earlier[-1] if earlier else None


def _adopted(event: Read) -> Workflow:
    settings = {name: event.data[name] for name in ("show_task", "on_failure") if name in event.data}
    return Workflow.model_validate(
        {"steps": _steps(event), "sink": event.data.get("sink", {"kind": "last"}), **settings}
    )


def _extended(workflow: Workflow, event: Read) -> Workflow:
    added = {"steps": [*workflow.steps, *_steps(event)], "sink": event.data.get("sink", workflow.sink)}
    return Workflow.model_validate(workflow.model_dump() | added)


def _steps(event: Read) -> list[Step]:
    texts = event.texts
    return [
        Step(**step, instruction=texts.get(f"instruction:{step['key']}") or "") for step in event.data.get("steps", ())
    ]
