"""Tells a run's trail in its page: as facts for the canvas, and as a list of events to read."""

from typing import Any

from apps.audit.lines import lines_of
from apps.runs.models import Run
from apps.web.audit.rows import TEXT_CHARS, Row, rows_of
from apps.web.live import following
from apps.web.words.events import TOLD
from apps.web.words.looks import looks_of

FIRST_EVENTS = 2_000  # with the page; what is beyond comes over the socket
PAGE = 200


def first_events(run: Run) -> dict[str, Any]:
    """What happened so far, in the words of the socket, so that the canvas is drawn before it is connected."""
    events = following.events_after(run.trail, 0, limit=FIRST_EVENTS)
    return {"t": "events", "events": events, "head": events[-1]["seq"] if events else 0}


def events_after(run: Run, after: int, *, until: int | None = None) -> tuple[list[Row], int | None]:
    """A page of events, and the place to go on from; None where there are no more. None beyond `until` is told."""
    lines = lines_of(run.trail, after=after, limit=PAGE + 1, chars=TEXT_CHARS, names=TOLD, until=until)
    more = lines[PAGE - 1].seq if len(lines) > PAGE else None
    return rows_of(lines[:PAGE], looks_of(run.pool)), more
