"""Places in the list of all events, in its three orders: behind one of them a page begins."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

Way: TypeAlias = Literal["commits", "restored", "time"]
LETTERS: dict[str, Way] = {"c": "commits", "r": "restored", "t": "time"}


@dataclass(frozen=True)
class Place:
    """An event, by what the list is ordered by and its id.

    The order is that of commits, or, where a time is asked for, of times. Events that came with a restore carry
    numbers of another database: they stand behind all others (`restored`).
    """

    way: Way
    at: int  # a transaction's number; of time, microseconds
    id: int

    @classmethod
    def of(cls, way: Way, pk: int, tx: int, at: datetime) -> "Place":
        return cls(way, (at - EPOCH) // MICROSECOND if way == "time" else tx, pk)

    @classmethod
    def read(cls, text: str) -> "Place | None":
        """The place that was written so; None for anything else."""
        at, _, pk = text[1:].partition(".")
        is_number = [each.isascii() and each.isdigit() and len(each) < 19 for each in (at, pk)]
        return cls(LETTERS[text[0]], int(at), int(pk)) if text[:1] in LETTERS and all(is_number) else None

    def __str__(self) -> str:
        return f"{self.way[0]}{self.at}.{self.id}"

    @property
    def moment(self) -> datetime:
        return EPOCH + min(self.at, 10**17) * MICROSECOND


FIRST_RESTORED = Place("restored", 10**18 - 1, 10**18 - 1)
"""Before everything that came with a restore."""
