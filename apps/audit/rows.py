"""The rows of trails as they lie in the database, a page at a time, each page with the heads of the same moment.

Raw rows, since making a model of each would take longer than checking it. An event that is sealed while we read is not
mistaken for one that was forged behind the end: what a statement returns, events and heads, is of one snapshot.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from django.db import connection

PAGE = 4000  # events held in memory at once, with the texts they name
TRAILS = 400  # of which a page takes events
FIRST, LAST = -(2**63), 2**63 - 1  # of ids and places: whoever owns the tables can use them all

# Whole trails as long as their heads promise no more than a page; `seq` is where the first of them goes on.
READ = """
    SELECT trail.id, trail.name, trail.project, trail.head_seq, trail.head_hash,
           event.seq, event.line, event.hash,
           to_char(event.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'), event.verb,
           event.actor_kind, event.actor_id, event.actor_label, event.subject, event.project
    FROM (
        SELECT next_.*, sum(head_seq) OVER (ORDER BY id) - head_seq AS before
        FROM (
            SELECT id, name, project, head_seq, head_hash
            FROM audit_trail
            WHERE id >= %(trail)s::bigint
                AND (%(name)s::text IS NULL OR name = %(name)s) AND (%(project)s::text IS NULL OR project = %(project)s)
            ORDER BY id
            LIMIT %(trails)s
        ) AS next_
    ) AS trail
    LEFT JOIN LATERAL (
        SELECT *
        FROM audit_event
        WHERE trail_id = trail.id
            AND seq >= CASE WHEN trail.id = %(trail)s::bigint THEN %(seq)s::bigint ELSE %(first)s::bigint END
        ORDER BY seq
        LIMIT %(page)s
    ) AS event ON true
    WHERE trail.before < %(page)s
    ORDER BY trail.id, event.seq
    LIMIT %(page)s
"""


class Row(NamedTuple):
    """An event with the columns beside its line. `seq` and all after it are None for a trail without further events."""

    trail_id: int
    trail: str
    trail_project: str
    head_seq: int
    head_hash: str
    seq: int
    line: str
    hash: str
    at: str  # as a line has it
    verb: str
    actor_kind: str
    actor_id: str
    actor_label: str
    subject: str
    project: str


@dataclass(frozen=True)
class Scope:
    """Which trails: one by its name, those of a project, or all."""

    trail: str | None = None
    project: str | None = None


@dataclass(frozen=True)
class Portion:
    """Some events of one trail, in order; `is_last` where no more follow before the head that `end` tells."""

    end: Row
    rows: Sequence[Row]
    is_last: bool


def pages(scope: Scope) -> Iterator[list[Portion]]:
    """All events of the trails in scope, trail after trail."""
    trail, seq = FIRST, FIRST
    while trail <= LAST and (rows := _read(scope, trail=trail, seq=seq)):
        last = rows[-1]
        is_cut = len(rows) == PAGE and last.seq is not None and last.seq < LAST
        yield _portions(rows, is_cut=is_cut)
        trail, seq = (last.trail_id, last.seq + 1) if is_cut else (last.trail_id + 1, FIRST)


def _portions(rows: Sequence[Row], *, is_cut: bool) -> list[Portion]:
    portions = []
    for _, group in groupby(rows, key=lambda row: row.trail_id):
        found = list(group)
        is_last = not (is_cut and found[-1] is rows[-1])
        portions.append(Portion(found[-1], [row for row in found if row.seq is not None], is_last))
    return portions


def _read(scope: Scope, *, trail: int, seq: int) -> list[Row]:
    # Written out: PostgreSQL reads the first place of all, as a number, as the negative of one that is none.
    places = {"trail": str(trail), "seq": str(seq), "first": str(FIRST)}
    given: dict[str, str | int | None] = {"name": scope.trail, "project": scope.project, **places}
    with connection.cursor() as cursor:
        cursor.execute(READ, given | {"page": PAGE, "trails": TRAILS})
        return [Row(*row) for row in cursor.fetchall()]
