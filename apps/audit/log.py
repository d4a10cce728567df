"""The one log: the only writer of events and payloads, and every way to read them back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from apps.audit.chain import JSON, Break
from apps.audit.models import Event


@dataclass(frozen=True)
class Actor:
    """Who did it, by id and label, so that an event outlives the person."""

    kind: Literal["person", "driver", "system", "key"]
    id: str
    label: str


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
    data: dict[str, JSON]
    texts: dict[str, str | None]


@dataclass(frozen=True)
class Verified:
    """What re-computing a trail found."""

    events: int
    head: str
    first_break: Break | None


@dataclass(frozen=True)
class Cursor:
    """A place among the events of all trails, in commit order."""

    tx: int
    id: int


def append(trail: str, entries: Sequence[Entry], *, by: Actor, at: datetime, subject: str, project: str) -> list[Event]:
    """Seal `entries` at the end of `trail`, in the caller's transaction, and return their rows."""
    raise NotImplementedError


def read(trail: str, *, after: int = 0, limit: int = 1000, texts_limit: int | None = None) -> list[Read]:
    """The events of a trail after `after`, at most `limit`, their texts resolved and cut to `texts_limit` characters."""
    raise NotImplementedError


def text(digest: str) -> str | None:
    """The text of a payload; None where it was erased or never was."""
    raise NotImplementedError


def verify(trail: str) -> Verified:
    """Re-compute a trail from its first event and name the first place where it does not hold."""
    raise NotImplementedError


def since(cursor: Cursor | None, limit: int) -> tuple[list[Event], Cursor | None]:
    """The next events of all trails in the order their transactions became final, and the cursor after them."""
    raise NotImplementedError
