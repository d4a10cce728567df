"""Events as the audit page shows them: with their place, their seal and the beginnings of the texts they name.

One whose line somebody made something else is shown too, as far as its columns tell of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from apps.audit import chain
from apps.audit.log import Actor, content_of

LINES = """
    SELECT event.id, trail.name, event.seq, event.line, event.hash, event.at, event.verb, event.subject, event.project,
        event.actor_kind, event.actor_id, event.actor_label, (
        SELECT json_agg(json_build_array(payload.digest, left(payload.text, %(chars)s)))
        FROM json_each_text(CASE WHEN event.line IS JSON OBJECT THEN event.line::json -> 'texts' END) AS named
        JOIN audit_payload AS payload ON payload.digest = named.value
        WHERE %(names)s::text[] IS NULL OR named.key = ANY(%(names)s::text[])
    )
    FROM audit_event AS event
    JOIN audit_trail AS trail ON trail.id = event.trail_id
    WHERE {which}
"""
BY_ID = LINES.format(which="event.id = ANY(%(ids)s)")
OF_TRAIL = LINES.format(
    which="trail.name = %(trail)s AND event.seq > %(after)s AND event.seq <= %(until)s"
    " ORDER BY event.seq LIMIT %(limit)s"
)
LAST = 2**62


@dataclass(frozen=True)
class Line:
    """One event. Of its texts, by name, the beginning; one that was erased, or was not asked for, is None."""

    id: int
    trail: str
    seq: int
    at: datetime
    verb: str
    actor: Actor
    subject: str
    project: str
    data: dict[str, Any]
    texts: dict[str, str | None]
    digests: dict[str, str]
    line: str
    hash: str
    is_readable: bool


def lines(ids: Sequence[int], *, chars: int, names: Sequence[str] | None = None) -> list[Line]:
    """The events with these ids, in their order; of each text, or of those that are called so, the first characters.

    An event can name hundreds of texts: a list of events does not read them all.
    """
    found = {line.id: line for line in _lines(BY_ID, {"ids": list(ids), "chars": chars, "names": _listed(names)})}
    return [found[pk] for pk in ids if pk in found]


def lines_of(
    trail: str, *, after: int, limit: int, chars: int, names: Sequence[str] | None = None, until: int | None = None
) -> list[Line]:
    """The events of a trail behind place `after`, and none behind `until`, in order."""
    given = {"trail": trail, "after": after, "until": LAST if until is None else until, "limit": limit}
    return _lines(OF_TRAIL, given | {"chars": chars, "names": _listed(names)})


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def hash_before(line: Line) -> str:
    """The hash of the event before it in its trail, which its own hash covers."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT event.hash FROM audit_event AS event JOIN audit_trail AS trail ON trail.id = event.trail_id "
            "WHERE trail.name = %s AND event.seq = %s",
            [line.trail, line.seq - 1],
        )
        found = cursor.fetchone()
    return str(found[0]) if found else chain.GENESIS


def _lines(sql: str, given: dict[str, Any]) -> list[Line]:
    with connection.cursor() as cursor:
        cursor.execute(sql, given)
        return [_line(*row) for row in cursor.fetchall()]


def _line(
    pk: int,
    trail: str,
    seq: int,
    line: str,
    hash_: str,
    at: datetime,
    verb: str,
    subject: str,
    project: str,
    kind: Any,
    actor: str,
    label: str,
    texts: list[tuple[str, str | None]] | None,
) -> Line:
    content, found = content_of(line), dict(texts or ())
    columns: dict[str, Any] = {"verb": verb, "subject": subject, "project": project, "data": {}, "texts": {}}
    columns["actor"] = {"kind": kind, "id": actor, "label": label}
    said = content or columns
    return Line(
        id=pk,
        trail=trail,
        seq=seq,
        at=at,
        verb=said["verb"],
        actor=Actor(**said["actor"]),
        subject=said["subject"],
        project=said["project"],
        data=said["data"],
        texts={name: found.get(digest) for name, digest in said["texts"].items()},
        digests=said["texts"],
        line=line,
        hash=hash_,
        is_readable=content is not None,
    )
