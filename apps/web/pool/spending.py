"""What calls of models have cost, day by day, by the ledger: drawn and told."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from apps.spend.queries import spent_a_day
from apps.web.words.figures import plural, usd

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
    """What was spent in the last 30 days, today included, by the ledger."""
    return Spending([Day(each.date, each.spent.usd, each.spent.unknown) for each in spent_a_day(now=now, days=DAYS)])
