"""Where the moments of a run stand on one line, in percent of it; what was idle on it can be cut short."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil

Stretch = tuple[datetime, datetime]

LONG = 0.05  # of the whole: an idle stretch that is worth cutting
CUT_TO = 0.03  # of what is left of the line
STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400)
MOST_TICKS = 8
BETWEEN_TICKS = 4.0  # percent: where less is left, labels would touch


@dataclass(frozen=True)
class Tick:
    """A line across the rows, and the time gone by then."""

    at: float
    label: str


@dataclass(frozen=True)
class Gap:
    """A long stretch in which nothing was under way."""

    start: float
    width: float
    ms: float


class Scale:
    """The line from `begin` to `end`, on which something was under way in the `busy` stretches.

    With `cut` its idle gaps, those of more than 5 % of the whole, are as narrow as can be seen.
    """

    def __init__(self, begin: datetime, end: datetime, busy: Iterable[Stretch], *, cut: bool) -> None:
        self.begin = begin
        self.end = max(end, begin + timedelta(milliseconds=1))
        self.idle = list(_idle(self.begin, self.end, busy))
        idle_s = sum((b - a).total_seconds() for a, b in self.idle)
        line_s = (self.end - begin).total_seconds()
        self._cuts = self.idle if cut and idle_s < line_s else []  # where there is nothing else, it is not cut
        busy_s = line_s - (idle_s if self._cuts else 0)
        self._cut_s = CUT_TO * busy_s
        self._whole_s = busy_s + self._cut_s * len(self._cuts)

    def at(self, moment: datetime) -> float:
        """Percent of the line, from 0 to 100."""
        moment = min(max(moment, self.begin), self.end)
        s = (moment - self.begin).total_seconds()
        for begin, end in self._cuts:
            if moment > begin:
                passed = (min(moment, end) - begin).total_seconds()
                s += self._cut_s * passed / (end - begin).total_seconds() - passed
        return round(s / self._whole_s * 100, 3)

    def between(self, begin: datetime, end: datetime) -> tuple[float, float]:
        """Where a stretch begins, and how wide it is."""
        start = self.at(begin)
        return start, round(max(0.0, self.at(end) - start), 3)

    @property
    def gaps(self) -> list[Gap]:
        return [Gap(*self.between(a, b), ms=(b - a).total_seconds() * 1000) for a, b in self.idle]

    @property
    def ticks(self) -> list[Tick]:
        """At most eight or so, at round times."""
        step = next((step for step in STEPS_S if self._whole_s / step <= MOST_TICKS), STEPS_S[-1])
        ticks: list[Tick] = []
        for s in self._round_times(step):
            at = self.at(self.begin + timedelta(seconds=s))
            if at <= 100 - BETWEEN_TICKS and (not ticks or at - ticks[-1].at >= BETWEEN_TICKS):
                ticks.append(Tick(at, told(s)))
        return ticks

    def _round_times(self, step: float) -> Iterator[float]:
        """Multiples of `step`, in seconds, outside what is cut."""
        edges = [self.begin, *(edge for cut in self._cuts for edge in cut), self.end]
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            first, last = ((edge - self.begin).total_seconds() / step for edge in (begin, end))
            yield from (number * step for number in range(ceil(first), int(last) + 1))


def told(s: float) -> str:
    """`1.5 s`, `12 s`, `1:30`, `2:05:00`"""
    if s < 60:
        return f"{s:g} s"
    minutes, rest = divmod(round(s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _idle(begin: datetime, end: datetime, busy: Iterable[Stretch]) -> Iterator[Stretch]:
    """The long stretches between `begin` and `end` that lie in none of `busy`."""
    least = (end - begin) * LONG
    inside = [(max(a, begin), min(b, end)) for a, b in busy if b > begin and a < end]
    edges: Sequence[Stretch] = [(begin, begin), *_joined(inside), (end, end)]
    for (_, free_from), (free_until, _) in pairwise(edges):
        if free_until - free_from > least:
            yield free_from, free_until


def _joined(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """The same ground, in order, each part of it once."""
    current: Stretch | None = None
    for begin, end in sorted(stretches):
        if current is None or begin > current[1]:
            if current is not None:
                yield current
            current = (begin, end)
        else:
            current = (current[0], max(current[1], end))
    if current is not None:
        yield current
