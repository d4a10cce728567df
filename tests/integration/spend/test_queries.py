"""What pages are told of the ledger."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from apps.spend.arithmetic import arithmetic
from apps.spend.book import settle
from apps.spend.models import Account, Budget
from apps.spend.queries import Spent, account_of, budgets, lines_in, lines_of, spent, spent_a_day
from apps.workers.calls import Usage
from tests.integration.spend.ledger import NOON, USAGE, about, account, line, reserved, sent, settled

pytestmark = pytest.mark.django_db
Counted = Callable[[int], AbstractContextManager[Any]]


def call(ref: str, cost: str | None, *, at: datetime = NOON, accounts: list[Account] | None = None, **of: Any) -> None:
    """A call that was made and paid for."""
    pks = [each.pk for each in accounts or []]
    cost_usd = None if cost is None else Decimal(cost)
    sent(settle(ref=ref, usage=USAGE, cost_usd=cost_usd, at=at, accounts=pks, about=about(**of)))


def test_a_runs_lines_come_in_order_and_in_pages() -> None:
    for number in range(5):
        call(f"run1:s{number}:1", "0.1")
    call("run2:s1:1", "0.1", run="run2")
    call("run3:s1:1", "0.1", run="run3")

    first = lines_of(["run1"], limit=3)
    assert [each.ref for each in first] == ["run1:s0:1", "run1:s1:1", "run1:s2:1"]
    assert [each.ref for each in lines_of(["run1"], after=first[-1].pk)] == ["run1:s3:1", "run1:s4:1"]
    assert len(lines_of(["run1", "run2"])) == 6, "with those nested in it"


def test_a_line_shows_its_arithmetic() -> None:
    """As it comes back from the tables: 800 new, 200 cached and 200 written tokens, of which 50 were thought."""
    run = account("run:run1", "1")
    reserved("run1:s1:1", [run], "0.1")
    settled("run1:s1:1", "0.0045", Usage(1000, cached_tokens=200, output_tokens=200, reasoning_tokens=50))

    rows = arithmetic(line("run1:s1:1"))

    assert [(row.what, row.tokens) for row in rows] == [
        ("input", 800),
        ("cached input", 200),
        ("output", 150),
        ("reasoning", 50),
    ]
    assert sum(row.usd or 0 for row in rows) == line("run1:s1:1").cost_usd == Decimal("0.0045")


def test_an_accounts_lines_come_newest_first() -> None:
    day, other = account("budget:1:2026-03-02", "5"), account("budget:1:2026-03-03", "5")
    for number in range(4):
        call(f"run1:s{number}:1", "0.1", accounts=[day])
    call("run2:s1:1", "0.1", accounts=[other], run="run2")

    first = lines_in(day, limit=3)
    assert [each.ref for each in first] == ["run1:s3:1", "run1:s2:1", "run1:s1:1"]
    assert [each.ref for each in lines_in(day, before=first[-1].pk)] == ["run1:s0:1"]


def test_what_workers_cost_leaves_unknown_costs_out_and_counts_them() -> None:
    call("run1:s1:1", "0.10")
    call("run1:s2:1", "0.20")
    call("run1:s3:1", None)
    call("run1:s4:1", "0.40", worker="qwen")
    call("run1:s5:1", "9", at=NOON - timedelta(days=1))
    reserved("run1:s6:1", [], "5")

    assert spent(["gpt-5", "qwen", "idle"], since=NOON) == {
        "gpt-5": Spent(Decimal("0.30"), calls=3, unknown=1),
        "qwen": Spent(Decimal("0.40"), calls=1),
        "idle": Spent(),
    }


def test_the_last_thirty_days_are_all_there() -> None:
    call("run1:s1:1", "0.10")
    call("run1:s2:1", None)
    call("run1:s3:1", "0.20", at=datetime(2026, 3, 2, 0, 0, tzinfo=UTC))
    call("run1:s4:1", "0.40", at=datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC))
    call("run1:s5:1", "0.80", at=datetime(2026, 2, 1, 0, 0, tzinfo=UTC))
    call("run1:s6:1", "9", at=datetime(2026, 1, 31, 23, 59, tzinfo=UTC))

    days = spent_a_day(now=NOON)

    assert [each.date for each in days] == [date(2026, 2, 1) + timedelta(days=number) for number in range(30)]
    assert (days[0].spent, days[1].spent) == (Spent(Decimal("0.80"), calls=1), Spent())
    assert days[-2].spent == Spent(Decimal("0.40"), calls=1)
    assert days[-1].spent == Spent(Decimal("0.30"), calls=3, unknown=1)


def test_budgets_say_how_they_stand_in_the_present_period(django_assert_num_queries: Counted) -> None:
    for name, period in (("a", "day"), ("b", "run"), ("c", "total"), ("d", "month")):
        Budget.objects.create(name=name, period=period, limit_usd=Decimal(5))
    a, b, c, d = Budget.objects.all()
    account(f"budget:{a.pk}:2026-03-01", "5", budget=a, spent_usd=Decimal(5))
    account(f"budget:{a.pk}:2026-03-02", "9", budget=a, spent_usd=Decimal("1.5"), reserved_usd=Decimal("0.5"))
    account(f"budget:{b.pk}:run:run1", "5", budget=b, spent_usd=Decimal(4))
    account(f"budget:{b.pk}:run:run2", "5", budget=b, spent_usd=Decimal(2))
    account(f"budget:{c.pk}:total", "5", budget=c, spent_usd=Decimal(6))

    with django_assert_num_queries(2):
        found = budgets(now=NOON)

    assert [each.budget for each in found] == [a, b, c, d]
    today, latest, total, untouched = found
    assert (today.spent_usd, today.reserved_usd, today.limit_usd, today.left_usd) == (
        Decimal("1.5"),
        Decimal("0.5"),
        Decimal(9),
        Decimal(7),
    )
    assert latest.account is not None
    assert latest.account.key == f"budget:{b.pk}:run:run2"
    assert total.left_usd == Decimal(-1)
    assert (untouched.account, untouched.spent_usd, untouched.left_usd) == (None, Decimal(0), Decimal(5))


def test_a_run_has_an_account_once_a_call_was_reckoned() -> None:
    assert account_of("run1") is None
    assert account("run:run1") == account_of("run1")
