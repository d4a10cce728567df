"""The one log: the only writer of events and payloads, and every way to read them back.

An event is written in the transaction of the change it explains, so neither is ever there without the other. A trail
has several writers (a run's driver and the pages), therefore a writer holds the trail's head until it commits: sequence
numbers have no gaps and every hash covers the one before it.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.audit import chain
from apps.audit.chain import JSON, Break
from apps.audit.feed import Cursor, since
from apps.audit.models import Event, Payload, Trail
from apps.audit.statements import Statement, together
from apps.audit.verification import Verified, verify

__all__ = [
    "JSON",
    "STUDIO",
    "Actor",
    "Break",
    "Cursor",
    "Entry",
    "Read",
    "Verified",
    "append",
    "erase",
    "read",
    "since",
    "take_head",
    "text",
    "verify",
]


# What is its own of each payload and of each event that is written together with others.
PAYLOAD = ("digest", "salt", "text")
EVENT = ("seq", "verb", "line", "hash")


MOST_CHARS = 2**31 - 2

# Every bell makes every viewer read: the events and their texts come in one statement, read by nothing slower than it.
READ = """
    SELECT event.line, (
        SELECT json_agg(json_build_array(payload.digest, left(payload.text, %(chars)s)))
        FROM json_each_text(event.line::json -> 'texts') AS named
        JOIN audit_payload AS payload ON payload.digest = named.value
    )
    FROM audit_event AS event
    JOIN audit_trail AS trail ON trail.id = event.trail_id
    WHERE trail.name = %(trail)s AND event.seq > %(after)s
        AND (%(verbs)s::text[] IS NULL OR event.verb = ANY(%(verbs)s))
    ORDER BY event.seq
    LIMIT %(limit)s
"""


@dataclass(frozen=True)
class Actor:
    """Who did it, by id and label, so that an event outlives the person."""

    kind: Literal["person", "driver", "system", "key"]
    id: str
    label: str


STUDIO = Actor(kind="system", id="studio", label="the studio")
"""Who it was where nobody asked: a start, a sweep, a schedule."""


@dataclass(frozen=True)
class Entry:
    """One thing that happened: ids and numbers in `data`; what somebody wrote in `texts`, by name."""

    verb: str
    data: Mapping[str, JSON] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Read:
    """An event as read back, its texts resolved; an erased text is None."""

    seq: int
    at: datetime
    verb: str
    actor: Actor
    data: dict[str, Any]
    texts: dict[str, str | None]


# --- writing -------------------------------------------------------------------------------------------------------


def append(
    trail: str,
    entries: Sequence[Entry],
    *,
    by: Actor,
    at: datetime,
    subject: str,
    project: str,
    head: Trail | None = None,
) -> list[Event]:
    """Seal `entries` at the end of `trail`, in the caller's transaction, and return their rows.

    Two statements however many entries there are; one where the caller has taken the `head` in this transaction. It
    stays locked until the transaction ends; who appends to two trails does it in the same order everywhere.

    :raises TransactionManagementError: outside a transaction, where an event could stay without its change.
    :raises ValueError: for what JSON cannot say, or a time without its zone.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("an event is written in the transaction of what it explains")
    if not entries:
        return []

    if head is None:
        [head] = together([take_head(trail, project=project)])
    events, payloads = _sealed(head, entries, by=by, at=at, subject=subject, project=project)
    _insert(head, events, payloads)
    return events


def take_head(name: str, *, project: str) -> Statement[Trail]:
    """Locks the trail's head, made where there is none: one statement, so two first writers cannot differ."""
    return Statement(
        """
        INSERT INTO audit_trail AS kept (name, project, head_seq, head_hash)
        VALUES (%(name)s, %(project)s, 0, %(first)s)
        ON CONFLICT (name) DO UPDATE SET head_seq = kept.head_seq
        RETURNING kept.id, kept.name, kept.project, kept.head_seq, kept.head_hash
        """,
        {"name": name, "project": project, "first": chain.GENESIS},
        _read_head,
    )


def _read_head(cursor: CursorWrapper) -> Trail:
    fields = ["id", "name", "project", "head_seq", "head_hash"]
    return Trail.from_db(connection.alias, fields, cursor.fetchone())


def _sealed(
    head: Trail, entries: Sequence[Entry], *, by: Actor, at: datetime, subject: str, project: str
) -> tuple[list[Event], list[Payload]]:
    events: list[Event] = []
    payloads: list[Payload] = []
    prev_hash = head.head_hash
    for seq, entry in enumerate(entries, start=head.head_seq + 1):
        named = {name: _payload(head, text, at=at) for name, text in entry.texts.items()}
        line = chain.line(
            trail=head.name,
            seq=seq,
            at=at,
            verb=entry.verb,
            actor={"kind": by.kind, "id": by.id, "label": by.label},
            subject=subject,
            project=project,
            data=entry.data,
            texts={name: payload.digest for name, payload in named.items()},
        )
        prev_hash = chain.seal(prev_hash, line)
        payloads.extend(named.values())
        events.append(
            Event(
                trail=head,
                seq=seq,
                line=line,
                hash=prev_hash,
                at=at,
                verb=entry.verb,
                actor_kind=by.kind,
                actor_id=by.id,
                actor_label=by.label,
                subject=subject,
                project=project,
            )
        )
    return events, payloads


def _insert(head: Trail, events: list[Event], payloads: list[Payload]) -> None:
    """Write the rows and move the head: one statement, half the time of the four that Django's ORM would make of it."""
    end, first = events[-1], events[0]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH kept AS (
                INSERT INTO audit_payload (digest, salt, text, trail_id, created_at)
                SELECT digest, salt, text, %(trail)s, %(at)s
                FROM json_to_recordset(%(payloads)s) AS given (digest text, salt text, text text)
            ), moved AS (
                UPDATE audit_trail SET head_seq = %(head_seq)s, head_hash = %(head_hash)s WHERE id = %(trail)s
            )
            INSERT INTO audit_event (
                trail_id, seq, verb, line, hash, at, actor_kind, actor_id, actor_label, subject, project
            )
            SELECT %(trail)s, seq, verb, line, hash, %(at)s,
                   %(actor_kind)s, %(actor_id)s, %(actor_label)s, %(subject)s, %(project)s
            FROM json_to_recordset(%(events)s) AS given (seq bigint, verb text, line text, hash text)
            ORDER BY seq
            RETURNING seq, id, tx
            """,
            {
                "trail": head.pk,
                "head_seq": end.seq,
                "head_hash": end.hash,
                "payloads": json.dumps([{name: getattr(each, name) for name in PAYLOAD} for each in payloads]),
                "events": json.dumps([{name: getattr(each, name) for name in EVENT} for each in events]),
                "at": first.at,
                "actor_kind": first.actor_kind,
                "actor_id": first.actor_id,
                "actor_label": first.actor_label,
                "subject": first.subject,
                "project": first.project,
            },
        )
        given = {seq: (pk, tx) for seq, pk, tx in cursor.fetchall()}
    for event in events:
        event.pk, event.tx = given[event.seq]
        event._state.adding = False


def _payload(trail: Trail, text: str, *, at: datetime) -> Payload:
    salt = chain.new_salt()
    return Payload(digest=chain.digest(salt, text), trail=trail, salt=salt, text=text, created_at=at)


# --- erasing -------------------------------------------------------------------------------------------------------

# Locked in one order: who keeps their words for the search holds them at the same time.
ERASE = """
    WITH going AS MATERIALIZED (
        SELECT payload.digest
        FROM audit_payload AS payload
        JOIN audit_trail AS trail ON trail.id = payload.trail_id
        WHERE trail.name = %(trail)s AND payload.erased_at IS NULL
            AND (%(subject)s::text IS NULL OR payload.digest IN (
                SELECT named.value
                FROM audit_event AS event
                CROSS JOIN json_each_text(event.line::json -> 'texts') AS named
                WHERE event.trail_id = trail.id AND event.subject = %(subject)s
            ))
        ORDER BY payload.digest
        FOR UPDATE OF payload
    )
    UPDATE audit_payload SET text = NULL, salt = NULL, erased_at = %(at)s
    WHERE digest IN (SELECT digest FROM going)
"""


def erase(trail: str, *, at: datetime, subject: str | None = None) -> int:
    """Erase the texts of a trail and the salts that could be guessed with; how many there were.

    With a `subject` only those of the events about it. The events stay, and so does the chain: it holds digests.
    Who erases says so in an event, in the same transaction.

    :raises TransactionManagementError: outside a transaction.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("what is erased is told in the same transaction")
    with connection.cursor() as cursor:
        cursor.execute(ERASE, {"trail": trail, "at": at, "subject": subject})
        return int(cursor.rowcount)


# --- reading -------------------------------------------------------------------------------------------------------


def read(
    trail: str,
    *,
    after: int = 0,
    limit: int = 1000,
    texts_limit: int | None = None,
    verbs: Collection[str] | None = None,
) -> list[Read]:
    """The events of a trail after place `after`, at most `limit`, in order; a trail nobody wrote to has none.

    With `texts_limit` longer texts are cut to so many characters and end in "…"; with `verbs` all others are left out.
    """
    given: dict[str, Any] = {
        "trail": trail,
        "after": after,
        "limit": limit,
        "chars": (texts_limit or MOST_CHARS) + 1,  # one more than asked for tells a cut text from one that fits
        "verbs": None if verbs is None else list(verbs),
    }
    with connection.cursor() as cursor:
        cursor.execute(READ, given)
        rows = cursor.fetchall()
    return [_read(json.loads(line), dict(texts or ()), texts_limit) for line, texts in rows]


def _read(content: dict[str, Any], found: dict[str, str | None], limit: int | None) -> Read:
    return Read(
        seq=content["seq"],
        at=datetime.fromisoformat(content["at"]),
        verb=content["verb"],
        actor=Actor(**content["actor"]),
        data=content["data"],
        texts={name: _cut(found.get(digest), limit) for name, digest in content["texts"].items()},
    )


def _cut(text: str | None, limit: int | None) -> str | None:
    return text if text is None or limit is None or len(text) <= limit else text[:limit] + "…"


def text(digest: str) -> str | None:
    """The text of a payload; None where it was erased or never was."""
    return Payload.objects.filter(digest=digest).values_list("text", flat=True).first()
