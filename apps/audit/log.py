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

from apps.audit import chain
from apps.audit.chain import JSON, Break
from apps.audit.feed import Cursor, since
from apps.audit.models import Event, Payload
from apps.audit.statements import Statement
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
    "content_of",
    "erase",
    "read",
    "since",
    "take_head",
    "text",
    "trail_within",
    "verify",
]


SEAL = """
    SELECT event, in_trail, place, sealed, in_tx
    FROM audit_seal(
        %(trail)s, %(project)s, %(subject)s, %(at)s, %(kind)s, %(id)s, %(label)s, %(genesis)s,
        %(payloads)s, %(entries)s
    )
"""

MOST_CHARS = 2**31 - 2

# Every bell makes every viewer read: the events and their texts come in one statement, read by nothing slower than it.
READ = """
    SELECT event.line, (
        SELECT json_agg(json_build_array(payload.digest, left(payload.text, %(chars)s)))
        FROM json_each_text(CASE WHEN event.line IS JSON OBJECT THEN event.line::json -> 'texts' END) AS named
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


def trail_within(trail: str, project: str) -> str:
    """The trail in which `project` has its part of a trail about many things: its auditors see whole trails."""
    return f"{trail}:{project}" if project else trail


def append(trail: str, entries: Sequence[Entry], *, by: Actor, at: datetime, subject: str, project: str) -> list[Event]:
    """Seal `entries` at the end of `trail`, in the caller's transaction, and return their rows.

    One statement however many entries there are. The trail's head stays locked until the transaction ends; who appends
    to two trails does it in the same order everywhere. A trail is for good of the `project` of its first event, and a
    project's takes no event of another.

    :raises TransactionManagementError: outside a transaction, where an event could stay without its change.
    :raises ValueError: for what JSON or UTF-8 cannot say, for a NUL, or a time without its zone.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("an event is written in the transaction of what it explains")
    if not entries:
        return []

    actor = {"kind": by.kind, "id": by.id, "label": by.label}
    payloads: list[Mapping[str, str]] = []
    lines = []
    for entry in entries:
        named = {name: _payload(text) for name, text in entry.texts.items()}
        payloads += named.values()
        lines.append(
            chain.unplaced(
                trail=trail,
                at=at,
                verb=entry.verb,
                actor=actor,
                subject=subject,
                project=project,
                data=entry.data,
                texts={name: payload["digest"] for name, payload in named.items()},
            )
        )
    told = [
        {"verb": entry.verb, "before": line.before, "behind": line.behind}
        for entry, line in zip(entries, lines, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            SEAL,
            {
                **actor,
                "trail": trail,
                "project": project,
                "subject": subject,
                "at": at,
                "genesis": chain.GENESIS,
                "payloads": json.dumps(payloads),
                "entries": json.dumps(told),
            },
        )
        rows = cursor.fetchall()
    return [
        Event(
            pk=pk,
            trail_id=trail_id,
            seq=seq,
            line=line.at(seq),
            hash=sealed,
            at=at,
            verb=entry.verb,
            actor_kind=by.kind,
            actor_id=by.id,
            actor_label=by.label,
            subject=subject,
            project=project,
            tx=tx,
        )
        for entry, line, (pk, trail_id, seq, sealed, tx) in zip(entries, lines, rows, strict=True)
    ]


def _payload(text: str) -> dict[str, str]:
    if "\0" in text:
        raise ValueError("a text cannot hold a NUL, which PostgreSQL cannot keep")
    salt = chain.new_salt()
    return {"digest": chain.digest(salt, text), "salt": salt, "text": text}


def take_head(name: str, *, project: str) -> Statement[None]:
    """Locks the trail's head, made where there is none, before anything is sealed in the transaction."""
    return Statement(
        """
        INSERT INTO audit_trail AS kept (name, project, head_seq, head_hash)
        VALUES (%(name)s, %(project)s, 0, %(first)s)
        ON CONFLICT (name) DO UPDATE SET head_seq = kept.head_seq
        """,
        {"name": name, "project": project, "first": chain.GENESIS},
        lambda cursor: None,
    )


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
    So is one whose line somebody made something else: verifying names it, and the audit page shows it.
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
    said = [(content_of(line), dict(texts or ())) for line, texts in rows]
    return [_read(content, texts, texts_limit) for content, texts in said if content is not None]


def content_of(line: str) -> dict[str, Any] | None:
    """What an event's line says; None where it is no event's any more."""
    try:
        content: dict[str, Any] = json.loads(line)
        is_told = all(type(content[name]) is str for name in ("at", "verb", "subject", "project"))
        is_held = all(type(content[name]) is dict for name in ("actor", "data", "texts"))
        Actor(**content["actor"])
        datetime.fromisoformat(content["at"])
        return content if is_told and is_held and type(content["seq"]) is int else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


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
