"""A run's money: what each of its calls could cost, where that is set aside, and what the call is called in the ledger.

A nested run pays from the run that people asked for. Reads the database in the run's own thread, like all writing.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from apps.audit.statements import Statement, together
from apps.runs.models import Run
from apps.spend import book, services
from apps.spend.book import About, Refusal
from apps.spend.worst_case import most_output_tokens, worst_case_usd
from apps.workers import tokens
from apps.workers.calls import Usage
from apps.workers.services import price_of

# What the calls that are no step's are called in the ledger.
NOT_STEPS = ("plan", "embedding")
# What an admin limits meanwhile holds for the calls after that.
FRESH_S = 5.0


class Purse:
    """What one run's calls are paid from."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._known: dict[str, tuple[float, date, tuple[int, ...]]] = {}  # worker: when read, for which day, accounts

    @cached_property
    def payer(self) -> Run:
        """The run that people asked for."""
        return outermost(self.run)

    @property
    def accounts(self) -> list[int]:
        """What this run's calls were charged to so far, where that differs from call to call: then all of it is locked
        first, so that two runs never wait for each other in a ring."""
        charged = {accounts for _, _, accounts in self._known.values()}
        return sorted({account for accounts in charged for account in accounts}) if len(charged) > 1 else []

    def knows(self, frozen: Mapping[str, Any]) -> bool:
        """Whether it was looked up lately what a call of this model is charged to; a free one is to nobody."""
        if is_free(frozen):
            return True
        read_at, day, _ = self._known.get(frozen["slug"], (0.0, None, ()))
        return day == datetime.now(UTC).date() and time.monotonic() - read_at < FRESH_S

    def look_up(self, worker: str, *, at: datetime) -> None:
        """Learn what a call of `worker` is charged to: outside of any transaction that waits for other locks."""
        payer = self.payer
        accounts = services.accounts_for(
            run_code=payer.code,
            run_limit=payer.limit_usd,
            project=payer.project_id,
            person=payer.owner_id,
            profile=payer.profile,
            worker=worker,
            at=at,
        )
        self._known[worker] = (time.monotonic(), at.astimezone(UTC).date(), accounts)

    def reserve(
        self,
        *,
        ref: str,
        frozen: Mapping[str, Any],
        messages: Sequence[Mapping[str, str]],
        at: datetime,
        is_answered: bool = True,
    ) -> Statement[Refusal | None] | None:
        """Sets aside what the call could cost at most; nothing where the price is unknown, which was asked about.

        None for a model that costs nothing: no limit is ever crossed by it. An embedding worker reads and does not
        answer in tokens.
        """
        if is_free(frozen):
            return None
        usd = self.worst_usd(frozen, messages, is_answered=is_answered) or Decimal(0)
        accounts = self._accounts_of(frozen["slug"])
        return book.reserve(ref=ref, accounts=accounts, usd=usd, about=self.about(frozen), at=at)

    def worst_usd(
        self, frozen: Mapping[str, Any], messages: Sequence[Mapping[str, str]], *, is_answered: bool = True
    ) -> Decimal | None:
        """What the call could cost at most, in USD; None where a price is unknown."""
        price = price_of(frozen)
        if price.free:
            return Decimal(0)
        if not is_answered:
            return worst_case_usd(replace(price, output_usd=Decimal(0)), tokens.at_most(messages), 0)
        longest = most_output_tokens(frozen.get("max_output_tokens"), frozen["identity"]["params"])
        return worst_case_usd(price, tokens.at_most(messages), longest)

    def settle(
        self, *, ref: str, frozen: Mapping[str, Any], usage: Usage, cost_usd: Decimal | None, at: datetime
    ) -> Statement[bool]:
        """Books what the call cost, and gives back what was set aside for it."""
        accounts = self._accounts_of(frozen["slug"])
        return book.settle(ref=ref, usage=usage, cost_usd=cost_usd, at=at, accounts=accounts, about=self.about(frozen))

    def pay(self, *, ref: str, frozen: Mapping[str, Any], usage: Usage, cost_usd: Decimal | None, at: datetime) -> bool:
        """`settle`, sent at once, in the transaction under way. False where that was done before."""
        return bool(together([self.settle(ref=ref, frozen=frozen, usage=usage, cost_usd=cost_usd, at=at)])[0])

    def about(self, frozen: Mapping[str, Any]) -> About:
        payer = self.payer
        return About(
            run=payer.code,
            project_id=payer.project_id,
            project=payer.project.slug,
            person_id=payer.owner_id,
            person=payer.owner.label,
            profile=payer.profile,
            worker=frozen["slug"],
            worker_name=frozen["name"],
            price=frozen["price"],
        )

    def _accounts_of(self, worker: str) -> tuple[int, ...]:
        return self._known[worker][2] if worker in self._known else ()


def is_free(frozen: Mapping[str, Any]) -> bool:
    """Whether a frozen model costs nothing."""
    return bool(frozen["price"]["free"])


def outermost(run: Run) -> Run:
    """The run that people asked for: `run` itself, or the one it is nested in, however deep."""
    while run.nested_in_id is not None:
        run = Run.objects.select_related("project", "owner").get(attempts=run.nested_in_id)
    return run


def step_ref(run: Run, step: str, number: int) -> str:
    """The name in the ledger of a worker's call. A step may well be called "plan": no other call must be meant."""
    return f"{run.code}::{step}:{number}" if step in NOT_STEPS else f"{run.code}:{step}:{number}"


def plan_ref(run: Run, number: int) -> str:
    """The name in the ledger of a conductor's call."""
    return f"{run.code}:plan:{number}"


def embedding_ref(run: Run, call: str) -> str:
    """The name in the ledger of an embedding worker's call."""
    return f"{run.code}:embedding:{call}"
