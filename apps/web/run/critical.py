"""What a run had to wait for: back from its end, always to what was finished last of all that the next had to have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Work:
    """Something that took time, and what had to be there before it could begin."""

    ended: datetime
    needs: Sequence[str]


def critical(works: Mapping[str, Work]) -> frozenset[str]:
    """The works on the way to the one that ended last; what is needed and not among them is passed over."""
    path: set[str] = set()
    at = _last(list(works), works)
    while at is not None and at not in path:
        path.add(at)
        at = _last(works[at].needs, works)
    return frozenset(path)


def _last(names: Sequence[str], works: Mapping[str, Work]) -> str | None:
    return max((name for name in names if name in works), key=lambda name: works[name].ended, default=None)
