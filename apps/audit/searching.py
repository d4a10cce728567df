"""Keeps the words of events' texts, so that the audit page can search them: behind the events, never with them.

Reading a text for its words takes longer than sealing it, so no writer waits for that: a driver follows the log in
commit order and keeps the words of what is new, seconds later (docs/adr/0019). What was sent to a model is left out:
it repeats texts that have their own event.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import connection, transaction

from apps.audit.feed import Cursor, since
from apps.audit.models import Event, Follower

NAME = "words"
AT_ONCE = 500

# The payloads are held until the words are committed: who erases one of them comes before, or takes the words along.
KEEP = """
    WITH said AS MATERIALIZED (
        SELECT event.id, payload.text
        FROM audit_event AS event
        CROSS JOIN LATERAL json_each_text(
            CASE WHEN event.line IS JSON OBJECT THEN event.line::json -> 'texts' END
        ) AS named
        JOIN audit_payload AS payload ON payload.digest = named.value
        WHERE event.id = ANY(%(events)s) AND named.key <> 'request' AND payload.text IS NOT NULL
        ORDER BY payload.digest
        FOR SHARE OF payload
    )
    INSERT INTO audit_eventwords (event_id, words)
    SELECT id, to_tsvector('simple', audit_plain(string_agg(left(text, 50000), ' '))) FROM said GROUP BY id
    ON CONFLICT DO NOTHING
"""


def keep_words(*, limit: int = AT_ONCE) -> int:
    """Keep the words of the next events, at most `limit`; how many events those were. 0 where somebody else does."""
    with transaction.atomic():
        Follower.objects.get_or_create(name=NAME)
        follower = Follower.objects.select_for_update(skip_locked=True).filter(name=NAME).first()
        if follower is None:
            return 0
        events, cursor = since(Cursor(follower.tx, follower.event), limit)
        _keep(events)
        if events:
            Follower.objects.filter(name=NAME).update(tx=cursor.tx, event=cursor.id)
    return len(events)


def _keep(events: Sequence[Event]) -> None:
    if ids := [event.pk for event in events if '"texts":{}' not in event.line]:
        with connection.cursor() as cursor:
            cursor.execute(KEEP, {"events": ids})


def is_behind() -> bool:
    """Whether there are events whose words are not kept yet."""
    follower = Follower.objects.filter(name=NAME).first() or Follower()
    events, _ = since(Cursor(follower.tx, follower.event), 1)
    return bool(events)


def searched_until() -> datetime | None:
    """The time of the last event whose words are kept; None before the first."""
    follower = Follower.objects.filter(name=NAME).first()
    return None if follower is None else Event.objects.filter(pk=follower.event).values_list("at", flat=True).first()
