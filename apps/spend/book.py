"""Moving money: set aside before a call, book what it cost after it, give back what was not needed.

Each is one statement, to be sent with whatever else is written in that moment; what it does stands in the database, in
migration 0002. Each takes its accounts' locks in the order of their ids and then the line's, so that two never wait for
each other; who sends several in one transaction sends `hold` before them, for the same reason. What is asked twice (an
answer was lost) changes nothing the second time.
See docs/adr/0008-money-is-a-ledger.md.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Any

from django.db.backends.utils import CursorWrapper

from apps.audit.statements import Statement
from apps.workers.calls import Usage

# What a line says of its call, beside the price.
LINE = ("run", "project_id", "project", "person_id", "person", "profile", "worker", "worker_name")
CENT = Decimal("0.00000001")  # the smallest sum of the ledger, that of the attempts' costs


HOLD = """
    SELECT id FROM spend_account
    WHERE id = ANY(%(accounts)s::bigint[])
        OR id IN (SELECT unnest(accounts) FROM spend_line WHERE ref = ANY(%(refs)s::text[]))
    ORDER BY id
    FOR NO KEY UPDATE
"""
RESERVE = "SELECT * FROM spend_reserve(%(ref)s, %(accounts)s::bigint[], %(usd)s, %(about)s::jsonb, %(at)s)"
SETTLE = """
    SELECT spend_settle(
        %(ref)s, %(accounts)s::bigint[], %(about)s::jsonb, %(at)s, %(cost)s,
        %(input)s, %(cached)s, %(output)s, %(reasoning)s, %(estimated)s
    )
"""
RELEASE = "SELECT spend_release(%(ref)s, %(run)s)"


class AccountGone(Exception):
    """An account of the call is in no table: the call would be charged to nobody, so it is not made."""


@dataclass(frozen=True)
class About:
    """Whose call it is and by which prices: what its line says beside the sums."""

    run: str
    project_id: int
    project: str
    person_id: int
    person: str
    profile: str
    worker: str
    worker_name: str
    price: Mapping[str, Any]  # as a frozen worker has it, and "from" where it is known


@dataclass(frozen=True)
class Refusal:
    """The limit that a call could cross, and by how much: the one of which the least is left."""

    account: int
    key: str
    label: str
    limit_usd: Decimal
    spent_usd: Decimal
    reserved_usd: Decimal
    needed_usd: Decimal

    @property
    def may_pass(self) -> bool:
        """Only calls under way stand in the way, which may cost less than is set aside for them."""
        return self.spent_usd + self.needed_usd <= self.limit_usd


def hold(*, accounts: Collection[int] = (), refs: Collection[str] = ()) -> Statement[None]:
    """Locks all accounts that several statements of one transaction will need, named or by the lines' refs."""
    return Statement(HOLD, {"accounts": sorted(accounts), "refs": sorted(refs)}, lambda cursor: None)


def reserve(
    *, ref: str, accounts: Sequence[int], usd: Decimal, about: About, at: datetime
) -> Statement[Refusal | None]:
    """Sets `usd` aside in all of `accounts`, or in none: then the answer is the limit that would be crossed.

    What is free crosses none, not even one that is crossed already. The statement's `read` raises AccountGone where one
    of the accounts does not exist.
    """
    needed = usd.quantize(CENT, ROUND_CEILING)
    wanted = sorted(set(accounts))

    def read(cursor: CursorWrapper) -> Refusal | None:
        there, pk, key, label, limit, spent, aside = cursor.fetchone()
        if there != len(wanted):
            raise AccountGone(f"of the accounts {wanted} only {there} exist")
        return None if pk is None else Refusal(pk, key, label, limit, spent, aside, needed)

    given = {"ref": ref, "accounts": wanted, "usd": needed, "about": _json(about), "at": at}
    return Statement(RESERVE, given, read)


def settle(
    *,
    ref: str,
    usage: Usage,
    cost_usd: Decimal | None,
    at: datetime,
    accounts: Sequence[int] = (),
    about: About | None = None,
) -> Statement[bool]:
    """Books what the call cost, however much was set aside, and gives that back; False where that was done before.

    Other numbers for a settled line are booked by their difference. A cost of None is unknown: it is kept as that, and
    nothing is booked. Where nothing was set aside for `ref`, the line is made of `accounts` and `about`, if given.
    """
    given = {
        "ref": ref,
        "accounts": sorted(set(accounts)),
        "about": about and _json(about),
        "cost": None if cost_usd is None else cost_usd.quantize(CENT, ROUND_HALF_UP),
        "input": usage.input_tokens,
        "cached": usage.cached_tokens,
        "output": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
        "estimated": usage.estimated,
        "at": at,
    }
    return Statement(SETTLE, given, lambda cursor: bool(cursor.fetchone()[0]))


def release(*, ref: str) -> Statement[bool]:
    """Gives back what was set aside for a call that was not made; False where nothing is."""
    return Statement(RELEASE, {"ref": ref, "run": None}, lambda cursor: bool(cursor.fetchone()[0]))


def release_run(*, run: str) -> Statement[int]:
    """Gives back all that is still set aside for calls of a run that has ended, and says for how many."""
    return Statement(RELEASE, {"ref": None, "run": run}, lambda cursor: int(cursor.fetchone()[0]))


def _json(about: About) -> str:
    return json.dumps({name: getattr(about, name) for name in LINE} | {"price": dict(about.price)})
