"""An anchor as it is kept outside of the studio: one line of JSON that can be checked without us.

Pure: nothing here knows a database or a key. `hash` is SHA-256 over `prev` and `line`, `signature` is over `hash`, and
`line` names heads of trails.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from apps.audit import chain

TRAIL = "anchors"
"""The trail that anchors are events of."""


@dataclass(frozen=True)
class Head:
    """The end of a trail, as it was when it was anchored."""

    trail: str
    seq: int
    hash: str


@dataclass(frozen=True)
class Pinned:
    """One anchor: its place in the trail `anchors`, the hash before it, its event, and the signature over its hash."""

    seq: int
    prev: str
    line: str
    hash: str
    key: str
    signature: str

    @cached_property
    def content(self) -> Any:
        """Its line, parsed. :raises ValueError: it is no JSON."""
        return chain.parsed(self.line)

    @cached_property
    def heads(self) -> Sequence[Head]:
        """The heads it names. :raises ValueError: its line is not an anchor's."""
        return heads_in(self.content)

    @property
    def project(self) -> str:
        """The project of the trails it names. :raises ValueError: its line is not an anchor's."""
        try:
            return str(self.content["project"])
        except (KeyError, TypeError) as error:
            raise ValueError("the line is not an anchor's") from error

    @property
    def is_whole(self) -> bool:
        """Whether its hash covers its line and the anchor before it, and its line is the event of its place."""
        try:
            in_place = self.content["trail"] == TRAIL and self.content["seq"] == self.seq
        except (ValueError, KeyError, TypeError):
            return False
        return in_place and len(self.prev) == 64 and chain.seal(self.prev, self.line) == self.hash

    def written(self) -> str:
        """The one line it is kept as, without its end."""
        return chain.canonical(asdict(self))


def heads_in(content: Mapping[str, object]) -> Sequence[Head]:
    """The heads that an anchor's event, parsed, names.

    :raises ValueError: it is no anchor.
    """
    try:
        data = content["data"]
        assert isinstance(data, dict)
        return [Head(str(trail), int(seq), str(hash_)) for trail, seq, hash_ in data["heads"]]
    except (KeyError, TypeError, AssertionError, OverflowError, RecursionError) as error:
        raise ValueError("the line is not an anchor's") from error


def read(text: str) -> Pinned:
    """An anchor from the line it was kept as.

    :raises ValueError: the line is something else, or a part of one.
    """
    given = chain.parsed(text)
    expected = {field.name: field.type for field in fields(Pinned)}
    if not isinstance(given, dict) or set(given) != set(expected):
        raise ValueError("it is no anchor")
    if not all(type(given[name]) is kind for name, kind in expected.items()):
        raise ValueError("it is no anchor")
    return Pinned(**given)
