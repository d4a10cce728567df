"""Accounts and calls to test the ledger with."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from threading import Thread
from typing import Any, TypeVar

from django.db import connection

from apps.audit.statements import Statement, together
from apps.spend.book import About, Refusal, release, reserve, settle
from apps.spend.models import Account, Line
from apps.workers.calls import Usage

T = TypeVar("T")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PRICE = {"input_usd": "2.50", "cached_usd": None, "output_usd": "10", "free": False, "version": 3, "from": "litellm"}
USAGE = Usage(input_tokens=1000, cached_tokens=0, output_tokens=200, reasoning_tokens=50)


def about(run: str = "run1", **more: Any) -> About:
    given: dict[str, Any] = {"project_id": 1, "project": "default", "person_id": 1, "person": "Ada"}
    worker = {"profile": "studio-ultra", "worker": "gpt-5", "worker_name": "GPT-5", "price": PRICE}
    return About(**{"run": run, **given, **worker, **more})


def account(key: str, limit: str | None = None, **more: Any) -> Account:
    limit_usd = None if limit is None else Decimal(limit)
    return Account.objects.create(key=key, label=more.pop("label", key), limit_usd=limit_usd, **more)


def reserved(ref: str, accounts: Sequence[Account], usd: str, **more: Any) -> Refusal | None:
    """Set aside, in a trip of its own."""
    pks = [each.pk for each in accounts]
    return sent(reserve(ref=ref, accounts=pks, usd=Decimal(usd), about=about(**more), at=NOON))


def settled(ref: str, cost: str | None, usage: Usage = USAGE, **more: Any) -> bool:
    return sent(settle(ref=ref, usage=usage, cost_usd=None if cost is None else Decimal(cost), at=NOON, **more))


def released(ref: str) -> bool:
    return sent(release(ref=ref))


def sent(statement: Statement[T]) -> T:
    answer: T = together([statement])[0]
    return answer


def sums(account: Account) -> tuple[str, str]:
    """What is spent and what is set aside."""
    account.refresh_from_db()
    return f"{account.spent_usd.normalize():f}", f"{account.reserved_usd.normalize():f}"


def line(ref: str) -> Line:
    return Line.objects.get(ref=ref)


def at_once(jobs: Sequence[Callable[[], None]]) -> None:
    """Each job in a thread, and a connection, of its own; what one of them raises is raised."""
    wrong: list[BaseException] = []

    def carry(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            wrong.append(error)
        finally:
            connection.close()

    threads = [Thread(target=carry, args=[job]) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]
