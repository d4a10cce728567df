"""What is said when a run has failed: where, what the provider said, what was paid, and what to do next."""

from dataclasses import dataclass, replace

from apps.runs.lineage import lineage_of
from apps.runs.models import Attempt, Run
from apps.web.run.outline import Line
from apps.web.run.standing import Standing
from apps.web.words.figures import plural

AGAIN = "Resume from there: what is finished is not paid again."
OTHER_WORKER = "Give the step to another worker, or resume from there later."
NEXT = {
    "auth": "Its key is missing or was refused: an admin sets it right in the admin pages. Then resume from there.",
    "rate_limited": "The provider asks for patience. Resume from there in a while, or give the step to another worker.",
    "not_found": "The provider does not know this model: give the step to another worker.",
    "bad_request": "The provider refuses this request: change the instruction, or give the step to another worker.",
    "empty": "Say in the instruction what is wanted, or give the step to another worker.",
    "unavailable": "Give the step to another worker, or mend this one in the admin pages.",
    "refused": OTHER_WORKER,
    "timeout": OTHER_WORKER,
    "nested": "Open the run within this step to see where it failed; resume from there, or edit the step.",
}


@dataclass(frozen=True)
class Trouble:
    """Why there is no answer."""

    title: str
    said: str
    details: str
    next: str
    line: Line | None
    attempt: Attempt | None
    can_plan: bool
    fixed_in: str = ""  # the run that grew from this failure and succeeded


def trouble_of(standing: Standing) -> Trouble | None:
    """What went wrong with a failed run, and where that was mended; None for any other."""
    if standing.run.status != Run.Status.FAILED:
        return None
    return replace(_trouble_of(standing), fixed_in=lineage_of(standing.run).fixed_in)


def _trouble_of(standing: Standing) -> Trouble:
    run = standing.run
    line = next((line for line in standing.lines if line.row.key == run.error_step), None)
    if line is None:
        return _of_the_plan(standing) if standing.workflow is None else _of_the_whole(standing)

    calls = standing.attempts.get(line.row.pk, [])
    last = calls[-1] if calls else None
    title = f"Step {line.number}, “{line.title}”, failed"
    if last is not None:
        tries = run.setup["tries"]
        of = f" of {tries}" if last.number <= tries else ""  # who took the run over began to count its tries anew
        title += f" at attempt {last.number}{of}" if last.number > 1 else " at its first attempt"
    kind = last.error_kind if last else "unavailable"
    said = line.row.note or (last.error if last else "") or run.error
    asked = standing.looks.get(last.worker, line.worker) if last else line.worker
    details = ", ".join(
        part
        for part in (
            asked.name,
            kind.replace("_", " "),
            f"HTTP {last.error_status}" if last and last.error_status else "",
        )
        if part
    )
    return Trouble(f"{title}.", said, details, NEXT.get(kind, AGAIN), line, last, can_plan=False)


def _of_the_plan(standing: Standing) -> Trouble:
    asked = len(standing.proposals)
    title = f"The plan failed after {plural(asked, 'try')}." if asked == 1 else f"The plan failed after {asked} tries."
    if not asked:
        title = "The run failed before it had a plan."
    conductor = standing.whence.conductor
    who, kept = (conductor.name, "What the conductor wrote is kept beside.") if conductor else ("", "")
    return Trouble(title, standing.run.error, who, kept, None, None, can_plan=True)


def _of_the_whole(standing: Standing) -> Trouble:
    return Trouble("The run failed.", standing.run.error, "", AGAIN, None, None, can_plan=True)
