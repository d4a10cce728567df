"""How a conductor does, in figures: from what its latest proposals were, as far as one may see their runs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from statistics import quantiles

from django.db.models import Count

from apps.accounts.models import User
from apps.runs.models import Proposal, Run, Step
from apps.web.words.figures import plural, price, seconds

MOST_PROPOSALS = 2_000
BARS = 24
TALLEST = 56.0  # of a bar, in the units of its drawing
WIDTH = 10.0
SHOWN = 8

PERIODS = {
    "hour": ("Last hour", timedelta(hours=1)),
    "day": ("Last day", timedelta(days=1)),
    "week": ("Last week", timedelta(days=7)),
    "all": ("All", None),
}


@dataclass(frozen=True)
class Bar:
    """A bar of a plot, and what it says."""

    x: float
    y: float
    height: float
    label: str
    value: str


@dataclass(frozen=True)
class Plot:
    """Bars over time, with their values to read."""

    title: str
    hint: str
    bars: Sequence[Bar]

    @property
    def told(self) -> Sequence[Bar]:
        return [bar for bar in self.bars if bar.value]


class Doing:
    """What one conductor wrote in a period, read once."""

    def __init__(self, slug: str, *, user: User, period: str, now: datetime) -> None:
        self.slug = slug
        self.user = user
        self.now = now
        self.span = PERIODS[period][1]

    @cached_property
    def proposals(self) -> list[Proposal]:
        """The latest, newest first, without their texts."""
        found = Proposal.objects.filter(conductor=self.slug, run__in=Run.objects.visible_to(self.user))
        if self.span is not None:
            found = found.filter(started_at__gte=self.now - self.span)
        kept = found.exclude(status=Proposal.Status.WRITING).defer("sent", "raw", "problems").select_related("run")
        return list(kept.order_by("-pk")[:MOST_PROPOSALS])

    @cached_property
    def written(self) -> list[Proposal]:
        """Those that came whole: what can be valid or not."""
        whole = (Proposal.Status.VALID, Proposal.Status.INVALID)
        return [proposal for proposal in self.proposals if proposal.status in whole]

    @property
    def is_bounded(self) -> bool:
        return len(self.proposals) == MOST_PROPOSALS

    @property
    def latest(self) -> Sequence[Proposal]:
        return self.proposals[:SHOWN]

    @property
    def figures(self) -> list[tuple[str, str, str]]:
        """Name, figure, and what is to be said beside it."""
        failed = sum(proposal.status == Proposal.Status.FAILED for proposal in self.proposals)
        again = sum(proposal.number > 1 and proposal.round == 1 for proposal in self.proposals)
        costs = [proposal.cost_usd for proposal in self.written]
        known = [cost for cost in costs if cost is not None]
        return [
            ("Replies", f"{len(self.proposals):,}", f"{plural(failed, 'call')} failed" if failed else "no call failed"),
            (
                "Valid",
                share(self.written),
                f"of {len(self.written):,} whole {'reply' if len(self.written) == 1 else 'replies'}",
            ),
            ("Asked again", f"{again:,}", "after an invalid reply or a failed call"),
            ("First token", *_middle_and_worst(proposal.ttft_ms for proposal in self.written)),
            ("Whole reply", *_middle_and_worst(proposal.duration_ms for proposal in self.written)),
            ("Speed", _speed(self.written), "tokens a second, median"),
            ("Cost", price(sum(known, Decimal(0)) if len(known) == len(costs) else None), "of these replies"),
        ]

    @property
    def plots(self) -> list[Plot]:
        if not self.written:
            return []
        parts = self._parts()
        return [
            Plot(
                "Valid replies",
                "share of whole replies",
                _bars([(when, _valid(part), "{:.0%}") for when, part in parts]),
            ),
            Plot(
                "Time for a whole reply",
                "median, seconds",
                _bars([(when, _median(p.duration_ms for p in part), "{:.2f} s", 0.001) for when, part in parts]),
            ),
            Plot("Replies", "how many", _bars([(when, float(len(part)) or None, "{:.0f}") for when, part in parts])),
        ]

    @property
    def repairs(self) -> list[tuple[str, int]]:
        """What had to be put right in its replies, the most frequent first."""
        counted = Counter(repair for proposal in self.written for repair in proposal.repairs)
        return counted.most_common(SHOWN)

    @cached_property
    def steps(self) -> list[tuple[str, int]]:
        """How many plans had how many steps."""
        valid = {(p.run_id, p.round) for p in self.written if p.status == Proposal.Status.VALID}
        rows = Step.objects.filter(run__in={run for run, _ in valid}).values("run_id", "round").annotate(n=Count("pk"))
        counted = Counter(row["n"] for row in rows if (row["run_id"], row["round"]) in valid)
        return [(plural(number, "step"), counted[number]) for number in sorted(counted)]

    def _parts(self) -> list[tuple[datetime, list[Proposal]]]:
        """The written proposals in `BARS` stretches of time, oldest first."""
        oldest = self.now - self.span if self.span else self.written[-1].started_at
        length = max((self.now - oldest) / BARS, timedelta(milliseconds=1))

        def place(proposal: Proposal) -> int:
            return min(int((proposal.started_at - oldest) / length), BARS - 1)

        by_place = {at: list(some) for at, some in groupby(reversed(self.written), key=place)}
        return [(oldest + length * at, by_place.get(at, [])) for at in range(BARS)]


def share(written: Sequence[Proposal]) -> str:
    valid = _valid(written)
    return "–" if valid is None else f"{valid:.0%}"


def _valid(written: Sequence[Proposal]) -> float | None:
    return sum(p.status == Proposal.Status.VALID for p in written) / len(written) if written else None


def _median(values: Iterable[float | None]) -> float | None:
    return _quantile(values, 50)


def _quantile(values: Iterable[float | None], percent: int) -> float | None:
    known = sorted(value for value in values if value is not None)
    if len(known) < 2:
        return known[0] if known else None
    return quantiles(known, n=100, method="inclusive")[percent - 1]


def _middle_and_worst(values: Iterable[float | None]) -> tuple[str, str]:
    known = [value for value in values if value is not None]
    middle, worst = _quantile(known, 50), _quantile(known, 95)
    if middle is None or worst is None:
        return "–", "nothing measured yet"
    return seconds(middle), f"p95 {seconds(worst)}"


def _speed(written: Sequence[Proposal]) -> str:
    """Tokens a second from the first to the last, of replies long enough to tell."""
    speeds = [
        p.output_tokens / (p.duration_ms - p.ttft_ms) * 1000
        for p in written
        if p.duration_ms is not None and p.ttft_ms is not None and p.output_tokens > 1 and p.duration_ms > p.ttft_ms
    ]
    middle = _median(speeds)
    return "–" if middle is None else f"{middle:,.0f}"


def _bars(given: Sequence[tuple[datetime, float | None, str] | tuple[datetime, float | None, str, float]]) -> list[Bar]:
    """One bar for each stretch; where nothing is known there is none, and the tallest fills the drawing."""
    tallest = max((each[1] or 0.0 for each in given), default=0.0) or 1.0
    bars = []
    for at, each in enumerate(given):
        when, value, words = each[:3]
        scale = each[3] if len(each) == 4 else 1.0
        height = 0.0 if value is None else max(value / tallest * TALLEST, 1.0)
        label = f"{when:%d %b %H:%M}"
        said = "" if value is None else words.format(value * scale)
        bars.append(Bar(at * WIDTH, round(TALLEST - height, 2), round(height, 2), label, said))
    return bars
