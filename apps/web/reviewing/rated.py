"""What people thought of a run's answer and of its steps' results, as its review tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.runs.models import Attempt, Rating, Run
from apps.runs.rating import GIVES
from apps.web.reviewing.reading import Reading
from apps.web.words.texts import Shown

MOST_RATINGS = 50


@dataclass(frozen=True)
class Rated:
    """What somebody thought of a result."""

    row: Rating
    of: str
    correction: Shown


def ratings_of(run: Run, calls: Mapping[int, Sequence[Attempt]], reading: Reading) -> list[Rated]:
    """All that was said, in that order; `calls` are the attempts of the run's steps, by the steps' ids."""
    rows = Rating.objects.filter(run=run).select_related("by", "step")[:MOST_RATINGS]
    return [Rated(row, _of(row, calls), reading.exact(row.correction)) for row in rows]


def _of(row: Rating, calls: Mapping[int, Sequence[Attempt]]) -> str:
    """What a rating is of, such as `Step 2`; of a result that a person has written over since it says so."""
    if row.step is None:
        return "Answer"
    given = [call.pk for call in calls.get(row.step.pk, ()) if call.status in GIVES]
    is_past = given[-1:] != [row.attempt_id]
    return f"Step {row.step.position + 1}{', before its result was written over' if is_past else ''}"
