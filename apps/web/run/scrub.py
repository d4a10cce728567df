"""What a viewer needs to see a run as it was: when each of its texts was how long, read and never asked for again."""

from typing import Any

from apps.runs.models import Attempt, Proposal, Run


def tracks_of(run: Run) -> dict[str, Any]:
    """`{"a12": {"at": …, "marks": [[ms, chars], …]}}`: every text that was written piece by piece, by its stream.

    `at` is when its call began, from which the milliseconds of the marks count.
    """
    calls: list[Attempt | Proposal] = [
        *run.attempts.exclude(track=None).only("pk", "started_at", "track"),
        *run.proposals.exclude(track=None).only("pk", "started_at", "track"),
    ]
    return {call.stream: {"at": call.started_at.isoformat(), "marks": call.track} for call in calls}
