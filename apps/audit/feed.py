"""The events of all trails as one stream, in commit order: for followers that must miss nothing.

Ids are given out when a row is written and rows become visible when their transaction commits, so whoever reads "after
id 17" skips a 16 that commits later. How this order avoids that: docs/adr/0002-commit-order-cursor.md.
"""

from dataclasses import dataclass

from django.db import connection
from django.db.models import Q

from apps.audit.models import Event, NextTransaction, OwnTransaction


@dataclass(frozen=True, order=True)
class Cursor:
    """A place in the stream; the default stands before the first event."""

    tx: int = 0
    id: int = 0


def since(cursor: Cursor | None, limit: int) -> tuple[list[Event], Cursor]:
    """The next events of all trails, at most `limit`, and the cursor after them.

    What a transaction wrote, and all that follows it, waits until the transaction is over, so a late commit is never
    skipped; what this transaction wrote itself waits too. Within a trail `seq` is the order: of two transactions that
    wrote to it, the one that began to write first comes first here. Events imported by a restore come first, and a
    follower that comes back from before the restore begins again: it knows what it has seen by trail and seq.
    """
    cursor = cursor or Cursor()
    oldest_unfinished, next_transaction = snapshot()
    if cursor.tx >= next_transaction:
        cursor = Cursor()

    imported = _imported(after=cursor, limit=limit) if cursor.tx == 0 else []
    if imported:
        cursor = Cursor(tx=0, id=imported[-1].pk)
    final = _final(after=cursor, before=oldest_unfinished, limit=limit - len(imported))
    if final:
        cursor = Cursor(tx=final[-1].tx, id=final[-1].pk)
    return imported + final, cursor


def snapshot() -> tuple[int, int]:
    """The oldest transaction that is not over, and the first number that nothing seen so far has."""
    with connection.cursor() as sql:
        sql.execute(
            "SELECT pg_snapshot_xmin(now_)::text::bigint, pg_snapshot_xmax(now_)::text::bigint "
            "FROM pg_current_snapshot() AS now_"
        )
        oldest_unfinished, next_transaction = sql.fetchone()
    return oldest_unfinished, next_transaction


def _imported(*, after: Cursor, limit: int) -> list[Event]:
    """Rows that carry a transaction number this database has not reached: they can only come from another one."""
    rows = Event.objects.filter(tx__gte=NextTransaction(), id__gt=after.id).exclude(tx=OwnTransaction())
    return list(rows.order_by("id")[:limit])


def _final(*, after: Cursor, before: int, limit: int) -> list[Event]:
    """Rows of transactions before the oldest unfinished one. `before` is a moment old, which only makes it careful."""
    later = Q(tx__gt=after.tx) | Q(tx=after.tx, id__gt=after.id)
    rows = Event.objects.filter(tx__gte=after.tx, tx__lt=before).filter(later)  # the first two are the index's
    return list(rows.order_by("tx", "id")[:limit])
