"""What pages ask of the ledger. Every list is bounded; every sum is read from an index."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, TruncDate

from apps.spend.models import Account, Budget, Line
from apps.spend.services import key_of

PAGE = 200
MOST_BUDGETS = 500
UNKNOWN = Count("pk") - Count("cost_usd")
SPENT = Coalesce(Sum("cost_usd"), Decimal(0))


@dataclass(frozen=True)
class Spent:
    """What calls cost: those of unknown cost are counted beside the sum, never in it."""

    usd: Decimal = Decimal(0)
    calls: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class Day:
    """What was spent on a day (UTC)."""

    date: date
    spent: Spent


@dataclass(frozen=True)
class Standing:
    """A budget and how it stands in the present period; where each run has its own limit, the latest run's.

    The account is None where nothing was counted towards it yet.
    """

    budget: Budget
    account: Account | None

    @property
    def spent_usd(self) -> Decimal:
        return self.account.spent_usd if self.account else Decimal(0)

    @property
    def reserved_usd(self) -> Decimal:
        return self.account.reserved_usd if self.account else Decimal(0)

    @property
    def limit_usd(self) -> Decimal:
        """The limit that holds now: it may have been raised for this period alone."""
        raised = self.account.limit_usd if self.account else None
        return self.budget.limit_usd if raised is None else raised

    @property
    def left_usd(self) -> Decimal:
        return self.limit_usd - self.spent_usd - self.reserved_usd


def account_of(run: str) -> Account | None:
    """The account of an outermost run; None where none of its calls was reckoned yet."""
    return Account.objects.filter(key=f"run:{run}").first()


def lines_of(runs: Collection[str], *, after: int = 0, limit: int = PAGE) -> list[Line]:
    """The lines of a run, or of a run and those nested in it, oldest first, behind the line with the id `after`."""
    return list(Line.objects.filter(run__in=runs, pk__gt=after).order_by("pk")[:limit])


def lines_in(account: Account, *, before: int | None = None, limit: int = PAGE) -> list[Line]:
    """The lines booked to an account, newest first, before the line with the id `before`."""
    lines = Line.objects.filter(accounts__contains=[account.pk])
    return list((lines if before is None else lines.filter(pk__lt=before)).order_by("-pk")[:limit])


def spent(workers: Collection[str], *, since: datetime) -> dict[str, Spent]:
    """What each worker's calls have cost since then, by slug; those that made none are there too."""
    rows = _settled().filter(worker__in=workers, at__gte=since).values("worker")
    found = {row["worker"]: _spent(row) for row in rows.annotate(usd=SPENT, calls=Count("pk"), unknown=UNKNOWN)}
    return {slug: found.get(slug, Spent()) for slug in workers}


def spent_a_day(*, now: datetime, days: int = 30) -> list[Day]:
    """What was spent on each of the last `days` days, today last; those without a call are there too."""
    today = now.astimezone(UTC).date()
    dates = [today - timedelta(days=back) for back in reversed(range(days))]
    since = datetime.combine(dates[0], datetime.min.time(), UTC)
    rows = _settled().filter(at__gte=since).values(day=TruncDate("at", tzinfo=UTC))
    found = {row["day"]: _spent(row) for row in rows.annotate(usd=SPENT, calls=Count("pk"), unknown=UNKNOWN)}
    return [Day(each, found.get(each, Spent())) for each in dates]


def budgets(*, now: datetime, only: Q | None = None) -> list[Standing]:
    """Every budget, or `only` some, and how each stands."""
    latest = Account.objects.filter(budget=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    rows = Budget.objects.select_related("project", "person", "profile", "worker").annotate(latest=Subquery(latest))
    found = list((rows if only is None else rows.filter(only))[:MOST_BUDGETS])
    keys = [key_of(each, at=now) for each in found]
    last = [each.latest for each in found if each.period == Budget.Period.RUN]
    accounts = {each.budget_id: each for each in Account.objects.filter(Q(key__in=keys) | Q(pk__in=last))}
    return [Standing(each, accounts.get(each.pk)) for each in found]


def _settled() -> QuerySet[Line]:
    return Line.objects.filter(state=Line.State.SETTLED)


def _spent(row: Mapping[str, Any]) -> Spent:
    return Spent(row["usd"], row["calls"], row["unknown"])
