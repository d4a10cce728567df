"""Sealing a trail: the exact text of an event, its hash, and the first place where a chain no longer holds.

Pure, so that whoever doubts us can read and run it alone: nothing here knows a database. A hash covers the hash before
it and the very characters stored in `line`; a line is written once and never made again from what a database returns,
because jsonb rewrites numbers (`1e22` comes back as an int).
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeAlias

JSON: TypeAlias = "str | int | float | bool | Decimal | Sequence[JSON] | Mapping[str, JSON] | None"

NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it, and no text about it

GENESIS = "0" * 64
"""What the first event of every trail follows."""


@dataclass(frozen=True)
class Sealed:
    """One event as far as sealing goes: its place, its text and the hash it was given."""

    seq: int
    line: str
    hash: str


@dataclass(frozen=True)
class Break:
    """Where a trail stops holding, and what is wrong there, in words for the reader."""

    seq: int
    reason: str


def canonical(value: JSON) -> str:
    """`value` as JSON with sorted keys and no spaces; a Decimal becomes a string, so that no digit of money is lost.

    :raises ValueError: for NaN and infinities, which JSON does not know.
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"an event cannot hold a {type(value).__name__}")


@dataclass(frozen=True)
class Unplaced:
    """The line of an event whose place is not known yet: `seq` goes between the two parts."""

    before: str
    behind: str

    def at(self, seq: int) -> str:
        """The one text that is stored and sealed for the event. :raises ValueError: the place is no whole number."""
        return f"{self.before}{seq:d}{self.behind}"


def unplaced(
    *,
    trail: str,
    at: datetime,
    verb: str,
    actor: Mapping[str, str],
    subject: str,
    project: str,
    data: Mapping[str, JSON],
    texts: Mapping[str, str],
) -> Unplaced:
    """An event's line but for its place. `texts` maps a name to the digest of its payload.

    It names its trail and its place, so that a sound event cannot be passed off as one of another trail.

    :raises ValueError: for a time without its zone, NaN and infinities, characters that UTF-8 cannot say, and NUL.
    """
    if at.tzinfo is None:
        raise ValueError("an event's time needs its zone")
    moment = at.astimezone(UTC).isoformat(timespec="microseconds")
    # Sorted keys: "seq" stands behind the first four and before the others.
    before = canonical({"actor": actor, "at": moment, "data": data, "project": project})
    behind = canonical({"subject": subject, "texts": texts, "trail": trail, "verb": verb})
    said = before + behind
    said.encode()
    if r"\u0000" in said and NUL.search(said):
        raise ValueError("an event cannot say a NUL, which PostgreSQL cannot keep")
    return Unplaced(f'{before[:-1]},"seq":', f",{behind[1:]}")


def parsed(line: str) -> Any:
    """What a line says, which whoever owns the database may have written.

    :raises ValueError: it is no JSON, or is nested deeper than anybody can read.
    """
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def texts_in(content: Any) -> dict[str, str]:
    """The digests that an event's content names, by name; none where it is no event's.

    What can be no digest is an empty one, and a name that cannot be said is written out: neither stops who asks for it.
    """
    texts = content.get("texts") if isinstance(content, dict) else None
    if not isinstance(texts, dict):
        return {}
    return {
        name if is_sayable(name) else ascii(name): digest if _can_be_digest(digest) else ""
        for name, digest in texts.items()
    }


def is_sayable(text: str) -> bool:
    """Whether PostgreSQL can keep the text: no NUL is in it, and no half of a character."""
    return text.isprintable() or ("\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text))


def _can_be_digest(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isalnum()


def seal(prev_hash: str, line: str) -> str:
    """The hash of an event: SHA-256 over the hash before it and its line, in hex."""
    return hashlib.sha256((prev_hash + line).encode()).hexdigest()


def new_salt() -> str:
    """A salt no one can guess: without it a digest would give a short text away."""
    return secrets.token_hex(16)


def digest(salt: str, text: str) -> str:
    """The name of a payload: SHA-256 over its salt and its text, in hex."""
    return hashlib.sha256((salt + text).encode()).hexdigest()


class Walk:
    """A walk along one trail from its first event, which stops at the first place that does not hold."""

    def __init__(self) -> None:
        self.seq = 0
        self.hash = GENESIS

    def step(self, event: Sealed) -> Break | None:
        """Go on to `event`; where it is not what must come next, stay and say why."""
        expected = self.seq + 1
        if event.seq != expected:
            return Break(expected, f"event {expected} is missing: event {event.seq} follows event {self.seq}")
        if seal(self.hash, event.line) != event.hash:
            return Break(expected, f"event {expected} is not what was sealed: its text or its hash was changed")
        self.seq, self.hash = event.seq, event.hash
        return None

    def end(self, *, head_seq: int, head_hash: str) -> Break | None:
        """Whether the trail may end here: at the head that was kept beside it."""
        if self.seq < head_seq:
            return Break(self.seq + 1, f"the end is cut off: event {self.seq} is the last of {head_seq}")
        if self.seq > head_seq:
            return Break(head_seq + 1, f"event {head_seq + 1} comes after the end, which is event {head_seq}")
        if self.hash != head_hash:
            return Break(self.seq, f"event {self.seq} is not the one the trail's head was sealed with")
        return None


def first_break(events: Iterable[Sealed], *, head_seq: int, head_hash: str) -> Break | None:
    """The first place where the events, given in order, are not the chain that ends in `head_hash` at `head_seq`."""
    walk = Walk()
    for event in events:
        if found := walk.step(event):
            return found
    return walk.end(head_seq=head_seq, head_hash=head_hash)
