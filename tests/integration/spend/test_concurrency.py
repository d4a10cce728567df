"""Drivers at the same accounts at the same time: real connections, real commits."""

import random
from collections import deque
from decimal import Decimal
from functools import partial
from itertools import count
from threading import Barrier

import pytest
from django.db import transaction
from django.db.models import Sum

from apps.audit.statements import together
from apps.spend.book import Refusal, hold, reserve, settle
from apps.spend.models import Line
from tests.integration.spend.ledger import (
    NOON,
    USAGE,
    about,
    account,
    at_once,
    line,
    released,
    reserved,
    settled,
    sums,
)

pytestmark = pytest.mark.django_db(transaction=True)

DRIVERS = 8


def test_the_last_dollar_is_spent_once() -> None:
    """Eight drivers try a hundred calls each of at most 3 cents; 33 of them fit into a dollar, and 33 are made."""
    day = account("budget:1:2026-03-02", "1")
    start, answers = Barrier(DRIVERS), deque[Refusal | None]()

    def drive(number: int) -> None:
        run = account(f"run:run{number}")
        start.wait()
        answers.extend(reserved(f"run{number}:s{step}:1", [run, day], "0.03") for step in range(100))

    at_once([partial(drive, number) for number in range(DRIVERS)])

    assert answers.count(None) == 33
    assert sums(day) == ("0", "0.99")


def test_however_calls_end_no_more_is_spent_than_the_limit() -> None:
    day, total = account("budget:1:2026-03-02", "1"), account("budget:2:total", "1.5")
    start = Barrier(DRIVERS)

    def drive(number: int) -> None:
        chance = random.Random(number)
        run = account(f"run:run{number}", "0.4")
        start.wait()
        for step in range(60):
            ref, usd = f"run{number}:s{step}:1", Decimal(chance.randint(1, 60)) / 1000
            if reserved(ref, [total, run, day], str(usd)) is not None:
                continue
            if chance.random() < 0.3:
                assert released(ref)
            else:
                assert settled(ref, str(usd * chance.randint(0, 100) / 100))

    at_once([partial(drive, number) for number in range(DRIVERS)])

    cost = Line.objects.aggregate(usd=Sum("cost_usd"))["usd"]
    assert Decimal("0.94") < cost <= 1, "the dollar was spent, to the smallest call"
    assert sums(day) == sums(total) == (f"{cost.normalize():f}", "0")


def test_drivers_with_accounts_in_any_order_never_wait_for_each_other_in_a_ring() -> None:
    accounts = [account(f"budget:{number}:total", "1000") for number in range(6)]
    numbers, start = count(), Barrier(DRIVERS)

    def drive(number: int) -> None:
        chance = random.Random(number)
        start.wait()
        for _ in range(60):
            ref, some = f"r:{next(numbers)}", chance.sample(accounts, 4)
            reserved(ref, some, "0.5")
            settled(ref, "0.25")

    at_once([partial(drive, number) for number in range(DRIVERS)])

    spent = sum(Decimal(sums(each)[0]) for each in accounts)
    assert spent == DRIVERS * 60 * 4 * Decimal("0.25")


def test_several_calls_in_one_transaction_hold_all_their_accounts_first() -> None:
    """As a driver writes: two steps start and one ends in one moment, each charged to other accounts."""
    accounts = [account(f"budget:{number}:total", "1000") for number in range(6)]
    numbers, start = count(), Barrier(DRIVERS)

    def drive(number: int) -> None:
        chance = random.Random(number)
        start.wait()
        before = f"r:{next(numbers)}"
        reserved(before, chance.sample(accounts, 3), "0.5")
        for _ in range(30):
            pks = [[each.pk for each in chance.sample(accounts, 3)] for _ in range(2)]
            refs = [f"r:{next(numbers)}" for _ in pks]
            starting = [
                reserve(ref=ref, accounts=those, usd=Decimal("0.5"), about=about(), at=NOON)
                for ref, those in zip(refs, pks, strict=True)
            ]
            ending = settle(ref=before, usage=USAGE, cost_usd=Decimal("0.25"), at=NOON)
            with transaction.atomic():
                together([hold(accounts=[*pks[0], *pks[1]], refs=[before]), *starting, ending])
            settled(refs[0], "0.25")
            before = refs[1]
        settled(before, "0.25")

    at_once([partial(drive, number) for number in range(DRIVERS)])

    assert not Line.objects.exclude(state="settled").exists()
    spent = sum(Decimal(sums(each)[0]) for each in accounts)
    assert spent == DRIVERS * 61 * 3 * Decimal("0.25")


def test_the_same_call_asked_for_by_many_at_once_is_set_aside_once() -> None:
    run = account("run:run1", "1")
    start, answers = Barrier(DRIVERS), deque[Refusal | None]()

    def drive() -> None:
        start.wait()
        answers.extend(reserved(f"run1:s{step}:1", [run], "0.05") for step in range(20))

    at_once([drive] * DRIVERS)

    assert sums(run) == ("0", "1")
    assert answers.count(None) == DRIVERS * 20


def test_the_same_call_settled_by_many_at_once_is_booked_once() -> None:
    run = account("run:run1", "10")
    reserved("run1:s1:1", [run], "0.5")
    start = Barrier(DRIVERS)

    def drive(number: int) -> None:
        start.wait()
        for _ in range(20):
            settled("run1:s1:1", "0.25")
            settled("run1:s1:1", str(Decimal(number + 1) / 100))
            released("run1:s1:1")

    at_once([partial(drive, number) for number in range(DRIVERS)])

    cost = line("run1:s1:1").cost_usd
    assert cost is not None
    assert sums(run) == (f"{cost.normalize():f}", "0")


def test_a_call_nothing_was_set_aside_for_is_booked_once_by_many() -> None:
    run = account("run:run1", "10")
    start, changed = Barrier(DRIVERS), deque[bool]()

    def drive() -> None:
        start.wait()
        made = (settled(f"run1:s{step}:1", "0.25", accounts=[run.pk], about=about()) for step in range(20))
        changed.extend(made)

    at_once([drive] * DRIVERS)

    assert sums(run) == ("5", "0")
    assert sum(changed) == 20
