"""What is told of a run whose texts are gone: when they went, through whom and why."""

from dataclasses import dataclass
from datetime import datetime

from apps.audit import log
from apps.runs.models import Run


@dataclass(frozen=True)
class Erasure:
    """How a run came to be erased, as its trail tells it."""

    at: datetime
    by: str
    reason: str  # a person's; empty where a policy did it
    keep_days: int | None  # the policy's; None where a person did it
    outer: str  # the code of the run it was part of; empty where it was none's


def erasure_of(run: Run) -> Erasure | None:
    """None where nothing was erased."""
    if run.erased_at is None:
        return None
    told = log.read(run.trail, verbs=["run.erased"], limit=1)
    if not told:
        return Erasure(run.erased_at, "", "", None, "")
    [event] = told
    return Erasure(
        at=event.at,
        by=event.actor.label,
        reason=event.texts.get("reason") or "",
        keep_days=event.data.get("keep_days"),
        outer=str(event.data.get("with") or ""),
    )
