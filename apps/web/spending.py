"""What calls have cost, day by day: every call of a model is counted once, a nested run's among its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from apps.runs.models import Attempt, Proposal
from apps.web.figures import plural, usd

DAYS = 30
TALLEST = 72.0
WIDTH = 12.0


@dataclass(frozen=True)
class Day:
    """What was spent on one day (UTC), and how many calls there were whose price nobody knows."""

    day: date
    cost_usd: Decimal = Decimal(0)
    unknown: int = 0

    @property
    def told(self) -> str:
        more = f" and {plural(self.unknown, 'call')} at an unknown price" if self.unknown else ""
        return f"{usd(self.cost_usd)}{more}"


@dataclass(frozen=True)
class Bar:
    """A day as it is drawn."""

    x: float
    y: float
    height: float
    day: Day


@dataclass(frozen=True)
class Spending:
    """The last days, the oldest first; the last one is today."""

    days: Sequence[Day]

    @property
    def today(self) -> Day:
        return self.days[-1]

    @property
    def whole(self) -> Day:
        """All days together."""
        cost = sum((each.cost_usd for each in self.days), Decimal(0))
        return Day(self.days[0].day, cost, sum(each.unknown for each in self.days))

    @property
    def is_nothing(self) -> bool:
        return not self.whole.cost_usd and not self.whole.unknown

    @property
    def told(self) -> Sequence[Day]:
        """The days that cost something, the latest first."""
        return [each for each in reversed(self.days) if each.cost_usd or each.unknown]

    @property
    def bars(self) -> list[Bar]:
        highest = max(each.cost_usd for each in self.days) or Decimal(1)
        heights = [float(each.cost_usd / highest) * TALLEST for each in self.days]
        sure = [max(height, 1.5) if each.cost_usd else 0.0 for each, height in zip(self.days, heights, strict=True)]
        drawn = zip(self.days, sure, strict=True)
        return [Bar(at * WIDTH, round(TALLEST - high, 2), round(high, 2), day) for at, (day, high) in enumerate(drawn)]


def spending(*, now: datetime) -> Spending:
    """What was spent in the last 30 days, today included."""
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=DAYS - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    # What a step that was given to a conductor cost are the calls of the run that it became.
    attempts = Attempt.objects.exclude(status=Attempt.Status.REUSED).filter(nested=None)
    found: dict[date, Day] = {}
    for calls in (attempts, Proposal.objects.all()):
        for day, cost, unknown in _by_day(calls, since):
            before = found.get(day, Day(day))
            found[day] = Day(day, before.cost_usd + (cost or Decimal(0)), before.unknown + unknown)
    days = [first + timedelta(days=number) for number in range(DAYS)]
    return Spending([found.get(day, Day(day)) for day in days])


def _by_day(calls: QuerySet[Any], since: datetime) -> list[tuple[date, Decimal | None, int]]:
    unknown = Count("pk", filter=Q(cost_usd=None) & (Q(input_tokens__gt=0) | Q(output_tokens__gt=0)))
    days = calls.filter(finished_at__gte=since).annotate(day=TruncDate("finished_at", tzinfo=UTC))
    return list(
        days.values("day").annotate(cost=Sum("cost_usd"), unknown=unknown).values_list("day", "cost", "unknown")
    )
