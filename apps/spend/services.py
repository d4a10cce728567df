"""Which accounts a call is charged to, and raising their limits."""

from collections.abc import Collection
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.backends.utils import CursorWrapper

from apps.accounts.changes import changed
from apps.audit import log
from apps.audit.log import Actor, Entry
from apps.audit.statements import Statement, together
from apps.core.errors import Conflict, Invalid
from apps.spend.models import Account, Budget

TRAIL = "spend"
STEP_USD = Decimal("0.0001")  # as finely as a limit is kept
MOST_USD = Decimal(10**12)

# The budgets are read anew for each call: what an admin has just set holds for the next one, in every driver.
ACCOUNTS_FOR = """
    WITH wanted AS (
        SELECT %(run)s::text AS key, 'this run' AS label, NULL::bigint AS budget_id, %(run_limit)s::numeric AS limit_usd
        UNION ALL
        SELECT
            'budget:' || budget.id || ':' || CASE budget.period
                WHEN 'run' THEN %(run)s WHEN 'day' THEN %(day)s WHEN 'month' THEN %(month)s ELSE 'total'
            END,
            budget.name, budget.id, budget.limit_usd
        FROM spend_budget AS budget
        LEFT JOIN workers_profile AS profile ON profile.id = budget.profile_id
        LEFT JOIN workers_worker AS worker ON worker.id = budget.worker_id
        WHERE budget.enabled
            AND (budget.project_id IS NULL OR budget.project_id = %(project)s)
            AND (budget.person_id IS NULL OR budget.person_id = %(person)s)
            AND (budget.profile_id IS NULL OR profile.slug = %(profile)s)
            AND (budget.worker_id IS NULL OR worker.slug = %(worker)s)
    ), found AS (
        SELECT account.id, key FROM spend_account AS account JOIN wanted USING (key)
    ), made AS (
        INSERT INTO spend_account (key, label, budget_id, limit_usd, spent_usd, reserved_usd)
        SELECT key, label, budget_id, limit_usd, 0, 0 FROM wanted
        WHERE key NOT IN (SELECT key FROM found)
        ORDER BY key
        ON CONFLICT (key) DO UPDATE SET key = excluded.key
        RETURNING id
    )
    SELECT id FROM found UNION ALL SELECT id FROM made ORDER BY id
"""


class NotRaised(Invalid):
    """The new limit is not above the present one."""


class NoLimit(Conflict):
    """There is no limit to raise."""


def accounts_for(
    *, run_code: str, run_limit: Decimal | None, project: int, person: int, profile: str, worker: str, at: datetime
) -> tuple[int, ...]:
    """The accounts a call at `at` is charged to: its run's, and one of each budget that it counts towards.

    A nested run's calls are charged to the outermost run: give that one's code and limit. A limit is taken over when
    its account is made; from then on it is the account's own. See `raise_limit`.
    """
    day = at.astimezone(UTC).date().isoformat()
    given = {
        "run": f"run:{run_code}",
        "run_limit": run_limit,
        "day": day,
        "month": day[:7],
        "project": project,
        "person": person,
        "profile": profile,
        "worker": worker,
    }
    found: tuple[int, ...] = together([Statement(ACCOUNTS_FOR, given, _ids)])[0]
    return found


def _ids(cursor: CursorWrapper) -> tuple[int, ...]:
    return tuple(pk for (pk,) in cursor.fetchall())


@transaction.atomic
def raise_limit(*, account: Account, to: Decimal, by: Actor, reason: str, now: datetime) -> Account:
    """Let more be spent under one account: by this run, or under a budget in this period alone.

    :raises NoLimit: it has none. :raises NotRaised: `to` is not above it.
    """
    account = Account.objects.select_for_update().get(pk=account.pk)
    if account.limit_usd is None:
        raise NoLimit(f"“{account.label}” has no limit to raise.")
    before, account.limit_usd = account.limit_usd, _raised(account.limit_usd, to)
    account.save(update_fields=["limit_usd"])
    data: dict[str, Any] = {"account": account.key, "from": str(before), "to": str(account.limit_usd)}
    told = Entry("limit.raised", data, {"reason": reason})
    _tell(told, by=by, now=now, subject=account.key, budget=account.budget)
    return account


@transaction.atomic
def raise_budget(*, budget: Budget, to: Decimal, by: Actor, reason: str, now: datetime) -> Budget:
    """Raise a budget's limit for now and from now on.

    :raises NotRaised: `to` is not above it.
    """
    budget = Budget.objects.select_for_update().get(pk=budget.pk)
    before, budget.limit_usd = budget.limit_usd, _raised(budget.limit_usd, to)
    budget.save(update_fields=["limit_usd"])
    take_over(budget, now=now)
    entry = changed(
        "budget",
        {"budget": budget.pk},
        fields=["limit_usd"],
        before={"limit_usd": before},
        after={"limit_usd": budget.limit_usd},
    )
    told = Entry(entry.verb, entry.data, {**entry.texts, "reason": reason})
    _tell(told, by=by, now=now, subject=f"budget:{budget.pk}", budget=budget)
    return budget


def take_over(budget: Budget, *, now: datetime, fields: Collection[str] = ("limit_usd",)) -> None:
    """Have the accounts of the present period follow their budget, in the transaction that changed its `fields`."""
    follow: dict[str, Any] = {"limit_usd": ("limit_usd", budget.limit_usd), "name": ("label", budget.name)}
    changes = dict(follow[name] for name in fields if name in follow)
    if not changes:
        return
    accounts = budget.accounts.order_by("pk")
    if budget.period != Budget.Period.RUN:
        accounts = accounts.filter(key=key_of(budget, at=now))
    present = [pk for (pk,) in accounts.select_for_update().values_list("pk")]  # locked in the order of all others
    Account.objects.filter(pk__in=present).update(**changes)


def key_of(budget: Budget, *, at: datetime) -> str:
    """The key of a budget's account at `at`; for a budget of each run, what those keys begin with."""
    day = at.astimezone(UTC).date().isoformat()
    period = {Budget.Period.DAY: day, Budget.Period.MONTH: day[:7], Budget.Period.RUN: "run:"}
    return f"budget:{budget.pk}:{period.get(Budget.Period(budget.period), 'total')}"


def _raised(limit: Decimal, to: Decimal) -> Decimal:
    if not to.is_finite() or to >= MOST_USD or (to := to.quantize(STEP_USD)) <= limit:
        raise NotRaised(f"Give a limit above the present one of {limit.normalize():f} USD.", field="to")
    return to


def _tell(entry: Entry, *, by: Actor, now: datetime, subject: str, budget: Budget | None) -> None:
    project = budget.project.slug if budget and budget.project else ""
    log.append(log.trail_within(TRAIL, project), [entry], by=by, at=now, subject=subject, project=project)
