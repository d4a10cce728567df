"""The ledger: what setting money aside and booking it adds to the writes of a step.

A step's start and its end are written as a driver writes them, each in a transaction of its own whose statements go in
one trip; every other time with the ledger's statements among them, charged to a run and three budgets. One connection,
so it is the work itself that is measured: what drivers wait for each other under one budget comes on top.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from tests.benchmarks.plot import spread
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio

if TYPE_CHECKING:
    from apps.audit.statements import Statement
    from apps.runs.models import Run, Step
    from apps.spend.book import About

REPETITIONS = 400
WARM_UP = 40
TARGET_MS = 2
PERIODS = ("day", "month", "total")
PROMPT = "Compare the growth of the four regions over the last three years, and say which of them grew most. " * 40
PATIENCE_S = 30


async def measure(studio: Studio, setting: Setting) -> list[str]:
    return await sync_to_async(_measure)(setting)


def _measure(setting: Setting) -> list[str]:
    from apps.spend.models import Budget
    from apps.workers.tokens import at_most, warm_up

    for period in PERIODS:
        Budget.objects.update_or_create(name=f"bench {period}", defaults={"period": period, "limit_usd": 10**6})
    warm_up()
    writing = Writing(_finished(setting))
    found = [writing.step(number) for number in range(WARM_UP + REPETITIONS)][WARM_UP:]
    bare, full, asking = zip(*found, strict=True)
    counting = [_ms(lambda: at_most([{"role": "user", "content": PROMPT}])) for _ in range(REPETITIONS)]
    extra = [more - less for less, more in zip(bare, full, strict=True)]  # of the same moment
    return [
        f"Ledger: a step's start and end written with and without it, {REPETITIONS} times each",
        f"  without {spread(bare, 'ms')}, with {spread(full, 'ms')}",
        f"  reserve and settle add {median(extra):.2f} ms a step at p50 (at most {TARGET_MS}), "
        f"ratio {median(full) / median(bare):.2f}",
        f"  finding a call's accounts, a trip of its own: {median(asking):.2f} ms at p50",
        f"  counting a prompt of {len(PROMPT):,} characters: {median(counting):.2f} ms at p50",
    ]


def _finished(setting: Setting) -> "Run":
    """A run that is over: nobody else writes its rows any more."""
    run = setting.submit(setting.workflow([("s1", setting.fast, [])]), "Describe a ledger.")
    until = time.monotonic() + PATIENCE_S
    while run.finished_at is None:
        assert time.monotonic() < until, "no driver carried the run out"
        time.sleep(0.1)
        run.refresh_from_db()
    return run


class Writing:
    """A driver's writes about one step of a run, over and over."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.row: Step = run.steps.get()
        self.attempts = 1

    def step(self, number: int) -> tuple[float, float, float]:
        """Milliseconds of a step without the ledger and with it, in turns, and of finding its accounts."""
        asking = _ms(self._accounts)
        if number % 2:
            bare = self._once(ledger=False)
            return bare, self._once(ledger=True), asking
        full = self._once(ledger=True)
        return self._once(ledger=False), full, asking

    def _once(self, *, ledger: bool) -> float:
        from apps.runs import rows
        from apps.spend import book
        from apps.workers.calls import Completion, Usage

        self.attempts += 1
        at, ref = datetime.now(UTC), f"{self.run.code}:s1:{self.attempts}"
        price = {"input_usd": "2.5", "cached_usd": None, "output_usd": "10", "free": False, "version": 1}
        accounts, about = self._accounts() if ledger else (), self._about(price)
        usage, cost = Usage(1000, output_tokens=200), Decimal("0.0045")
        reserve = [book.reserve(ref=ref, accounts=accounts, usd=Decimal("0.05"), about=about, at=at)]
        settle = [book.settle(ref=ref, usage=usage, cost_usd=cost, at=at, accounts=accounts, about=about)]

        begun = time.perf_counter()
        started = rows.start(
            step=self.row, number=self.attempts, worker="bench", digest="d" * 64, messages=[{"content": PROMPT}], at=at
        )
        *_, (attempt, _) = self._write([*(reserve if ledger else []), started])
        completion = Completion(PROMPT, usage, cost, ttft_ms=1.0, duration_ms=2.0, finish_reason="stop", model="bench")
        ended = rows.succeed(step=self.row, attempt=attempt, completion=completion, at=at)
        self._write([*(settle if ledger else []), ended])
        return (time.perf_counter() - begun) * 1000

    def _write(self, statements: "Sequence[Statement[Any]]") -> list[Any]:
        from django.db import transaction

        from apps.audit.statements import together
        from apps.runs import rows

        with transaction.atomic():
            return together([rows.lock_run(self.run.pk), *statements])

    def _accounts(self) -> tuple[int, ...]:
        from apps.spend.services import accounts_for

        return accounts_for(
            run_code=self.run.code,
            run_limit=Decimal(10**6),
            project=self.run.project_id,
            person=self.run.owner_id,
            profile=self.run.profile,
            worker="bench",
            at=datetime.now(UTC),
        )

    def _about(self, price: dict[str, Any]) -> "About":
        from apps.spend.book import About

        return About(
            run=self.run.code,
            project_id=self.run.project_id,
            project="default",
            person_id=self.run.owner_id,
            person="admin",
            profile=self.run.profile,
            worker="bench",
            worker_name="Bench",
            price=price,
        )


def _ms(job: Callable[[], object]) -> float:
    begun = time.perf_counter()
    job()
    return (time.perf_counter() - begun) * 1000
