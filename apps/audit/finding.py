"""Finds events of all trails, newest first, a page at a time, however many there are.

They come in the order of their commits, in which nothing can appear behind a reader (docs/adr/0002); where a time is
asked for, in the order of their times. A page costs a bounded number of rows: where few events fit one of the
conditions these are read and sorted; else the log is walked back, so far and no further, and the reader is told how
far that was (docs/adr/0019).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection

from apps.audit.conditions import Asked, Condition
from apps.audit.feed import snapshot
from apps.audit.places import FIRST_RESTORED, Place, Way

FEW = 3_000  # events that are read and sorted for a page
WALK = 30_000  # events that are looked at for a page, one after another
WALK_FOR_WORDS = 6_000  # whose words are compared for it
NEWS_WALK = 5_000

COLUMNS = "id, tx, at, seq, trail_id, verb, actor_kind, actor_label, subject, project, worker"
COUNT = "(SELECT count(*) FROM (SELECT FROM audit_event WHERE {condition} LIMIT {most}) AS first_ones)"
WITH_WORDS = "id = ANY(ARRAY(SELECT audit_with({words})))"

SORTED = """
    WITH few AS MATERIALIZED (SELECT {columns} FROM audit_event WHERE {few})
    SELECT id, tx, at FROM few WHERE {conditions} ORDER BY {order} LIMIT {limit}
"""
WALKED = """
    SELECT id, tx, at FROM (
        SELECT {columns} FROM audit_event WHERE {path} ORDER BY {order} LIMIT {most}
    ) AS walked
    WHERE {conditions} ORDER BY {order} LIMIT {limit}
"""
END_OF_WALK = "SELECT id, tx, at FROM audit_event WHERE {path} ORDER BY {order} OFFSET {most} LIMIT 1"
NEWS = """
    SELECT count(*) FROM (
        SELECT FROM (
            SELECT {columns} FROM audit_event WHERE tx >= %(since)s AND tx < %(oldest)s ORDER BY tx, id LIMIT {walk}
        ) AS walked
        WHERE {conditions} LIMIT {most}
    ) AS counted
"""
ANYTHING = """
    SELECT EXISTS (
        SELECT FROM audit_event WHERE tx >= %(since)s AND tx < %(oldest)s AND project = ANY(%(projects)s::text[])
    )
"""
ORDERS: Mapping[Way, str] = {
    "commits": "tx DESC, id DESC",
    "restored": "tx DESC, id DESC",
    "time": "at DESC, id DESC",
}
BOUNDS: Mapping[Way, str] = {"commits": "tx < %(oldest)s", "restored": "tx >= %(beyond)s", "time": "true"}
BEHIND: Mapping[Way, str] = {
    "commits": "(tx, id) < (%(place)s, %(behind)s)",
    "restored": "(tx, id) < (%(place)s, %(behind)s)",
    "time": "(at, id) < (%(place)s, %(behind)s)",
}


@dataclass(frozen=True)
class Found:
    """A page: the ids of its events in order, where the next one begins, and how far the log was looked through."""

    ids: Sequence[int]
    next: Place | None = None
    looked_until: datetime | None = None  # where the page ends, though not with an event that fits


@dataclass(frozen=True)
class Looking:
    """What is looked for, in which order, and from where on."""

    asked: Asked
    way: Way
    limit: int
    oldest: int  # transaction that is not over
    beyond: int  # the first number that no transaction of this database has
    after: Place | None

    @property
    def bounds(self) -> Condition:
        """The events of this order, behind the place."""
        given: dict[str, Any] = {"oldest": self.oldest, "beyond": self.beyond}
        if self.after is None:
            return Condition(BOUNDS[self.way], given)
        place = self.after.moment if self.way == "time" else self.after.at
        sql = f"{BOUNDS[self.way]} AND {BEHIND[self.way]}"
        return Condition(sql, given | {"place": place, "behind": self.after.id})

    def rows(self, template: str, given: Sequence[Condition], **parts: object) -> list[tuple[int, int, datetime]]:
        """The rows of a statement that is made of `parts`, which hold no values."""
        sql = template.format(columns=COLUMNS, order=ORDERS[self.way], limit=self.limit + 1, **parts)
        return _rows(sql, _given(given))


def find(asked: Asked, *, limit: int, after: Place | None = None) -> Found:
    """The events that are asked for, at most `limit`, behind the place `after`."""
    oldest, beyond = snapshot()
    way: Way = "commits" if asked.time is None else "time"
    place = after if after is not None and (after.way == "time") == (way == "time") else None
    looking = Looking(asked, place.way if place else way, limit, oldest, beyond, place)
    found = _page(looking)
    if looking.way != "commits" or found.next is not None or not _are_restored(beyond):
        return found
    if len(found.ids) == limit:
        return Found(found.ids, FIRST_RESTORED)
    rest = _page(replace(looking, way="restored", after=None, limit=limit - len(found.ids)))
    return Found([*found.ids, *rest.ids], rest.next, rest.looked_until)


def _are_restored(beyond: int) -> bool:
    """Whether there are events of another database at all."""
    return bool(_rows("SELECT EXISTS (SELECT FROM audit_event WHERE tx >= %(beyond)s)", {"beyond": beyond})[0][0])


def _page(looking: Looking) -> Found:
    asked = looking.asked
    if few := _few(asked):
        return _sorted(looking, few)
    if asked.words is None:
        return _walked(looking, WALK)
    found = _walked(looking, WALK_FOR_WORDS)
    if found.looked_until is None:
        return found
    few = Condition(WITH_WORDS.format(words=asked.words.sql), asked.words.given)
    return _sorted(replace(looking, asked=replace(asked, words=None)), few)  # who has the words is asked once


# --- few fit: all of them are read ---------------------------------------------------------------------------------


def _few(asked: Asked) -> Condition | None:
    """The condition that the fewest events fit, where these are few."""
    helped = [each for each in (*asked.columns, asked.time) if each is not None and each.index != "none"]
    if len(helped) == 1:
        return None  # the projects alone
    counted = ", ".join(COUNT.format(condition=each.sql, most=FEW + 1) for each in helped)
    [counts] = _rows(f"SELECT {counted}", _given(helped))
    fewest = min(range(len(helped)), key=lambda at: int(counts[at]))
    return helped[fewest] if counts[fewest] <= FEW else None


def _sorted(looking: Looking, few: Condition) -> Found:
    conditions = [*looking.asked.all, looking.bounds]
    return _found(looking, looking.rows(SORTED, [few, *conditions], few=few.sql, conditions=_all(conditions)))


# --- many do: the log is walked back, so far and no further --------------------------------------------------------


def _walked(looking: Looking, most: int) -> Found:
    """The first that fit among the next `most` events; of one project, verb, actor or worker where one is asked for."""
    conditions, path = looking.asked.all, [looking.bounds, *_lead(looking)]
    given = [*conditions, *path]
    rows = looking.rows(WALKED, given, path=_all(path), conditions=_all(conditions), most=most)
    if len(rows) > looking.limit:
        return _found(looking, rows)
    last = looking.rows(END_OF_WALK, given, path=_all(path), most=most - 1)
    if not last:
        return _found(looking, rows)
    return Found([pk for pk, *_ in rows], Place.of(looking.way, *last[0]), looked_until=last[0][2])


def _lead(looking: Looking) -> list[Condition]:
    """The condition whose index is gone through, where there is one in this order."""
    if looking.way == "time":
        return [looking.asked.time] if looking.asked.time else []
    walking = [each for each in looking.asked.columns if each.index == "walks"]
    return walking[-1:]  # the projects come first, and say least


def _found(looking: Looking, rows: Sequence[tuple[int, int, datetime]]) -> Found:
    shown = rows[: looking.limit]
    return Found([pk for pk, *_ in shown], Place.of(looking.way, *shown[-1]) if len(rows) > looking.limit else None)


# --- what is new ---------------------------------------------------------------------------------------------------


def frontier() -> int:
    """The first transaction that a list read from now on may not show."""
    return snapshot()[0]


def looked_at(since: int | None, *, projects: Sequence[str]) -> tuple[int, bool]:
    """The frontier, and whether transactions from number `since` up to it wrote anything about `projects`."""
    oldest = frontier()
    if since is None or since == oldest:
        return oldest, False
    given = {"since": since, "oldest": oldest, "projects": list(projects)}
    return oldest, bool(_rows(ANYTHING, given)[0][0])


def news(asked: Asked, *, since: int, most: int) -> int:
    """How many events fit that were committed by transactions from number `since` on; counted up to `most`."""
    statement = NEWS.format(columns=COLUMNS, walk=NEWS_WALK, conditions=_all(asked.all), most=most)
    return int(_rows(statement, _given(asked.all) | {"since": since, "oldest": frontier()})[0][0])


def _all(conditions: Sequence[Condition]) -> str:
    return " AND ".join(f"({each.sql})" for each in conditions)


def _given(conditions: Sequence[Condition]) -> dict[str, Any]:
    return {name: value for each in conditions for name, value in each.given.items()}


def _rows(sql: str, given: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, given)
        return list(cursor.fetchall())
