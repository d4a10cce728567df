"""A run that a limit of money holds: which limit, what the call could cost that was not made, and how it goes on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from functools import cached_property
from typing import Any

from apps.runs.models import Run, Step
from apps.runs.purse import outermost
from apps.spend.models import Account, Budget
from apps.spend.services import key_of
from apps.spend.worst_case import most_output_tokens
from apps.workers.services import price_of

FINEST = -4  # decimals in which limits are kept


@dataclass(frozen=True)
class Worst:
    """Why one call could cost so much: its longest reply at its price, and what it is sent."""

    name: str
    tokens: int
    per_million_usd: Decimal
    reply_usd: Decimal
    sent_usd: Decimal


class Held:
    """What holds `run`, and how that stands now."""

    def __init__(self, run: Run, *, now: datetime) -> None:
        self.run = run
        self.now = now

    # --- as it was when the call was not made ------------------------------------------------------------------------

    @property
    def label(self) -> str:
        return str(self.run.held_by.get("label", ""))

    @property
    def limit_usd(self) -> Decimal:
        return self._told("limit_usd")

    @property
    def spent_usd(self) -> Decimal:
        return self._told("spent_usd")

    @property
    def reserved_usd(self) -> Decimal:
        """What was set aside for calls under way."""
        return self._told("reserved_usd")

    @property
    def needed_usd(self) -> Decimal:
        return self._told("needed_usd")

    def _told(self, name: str) -> Decimal:
        return Decimal(self.run.held_by.get(name) or 0)

    @cached_property
    def step(self) -> Step | None:
        """The step whose call was not made; None where a planner was to be asked."""
        return self.run.steps.defer("result").filter(key=self.run.held_by.get("step") or "").first()

    @property
    def number(self) -> int | None:
        return self.step.position + 1 if self.step else None

    @cached_property
    def worst(self) -> Worst | None:
        """How what is needed comes about, where it is plain whose call it is and not that of one who stands in."""
        possible = [worst for frozen in self._asked() if (worst := _worst(frozen, self.needed_usd))]
        return possible[0] if len(possible) == 1 else None

    def _asked(self) -> Iterator[Mapping[str, Any]]:
        setup = self.run.setup
        if self.step is None:
            parts = (setup, setup.get("fallback") or {})
            yield from (part["conductor"] for part in parts if part.get("conductor"))
            return
        frozen = self.run.pool.get(self.step.worker)
        if frozen is not None and not frozen.get("conducts"):
            yield frozen
            yield from frozen.get("fallbacks", ())

    # --- as it stands now --------------------------------------------------------------------------------------------

    @cached_property
    def payer(self) -> Run:
        """The run that goes on, and this one within it."""
        return outermost(self.run)

    @property
    def is_within(self) -> bool:
        """Whether it is held with a run around it."""
        return bool(self.run.nested_in_id)

    @property
    def is_own(self) -> bool:
        """Whether it is the run's own limit, which whoever may see the run can raise."""
        return str(self.run.held_by.get("account")) == f"run:{self.payer.code}"

    @cached_property
    def account(self) -> Account | None:
        key = self.run.held_by.get("account", "")
        return Account.objects.select_related("budget").filter(key=key).first()

    @property
    def budget(self) -> Budget | None:
        return self.account.budget if self.account else None

    @property
    def freed(self) -> str:
        """Why the limit would not hold it any more; empty where it would."""
        account, budget = self.account, self.budget
        if self.is_own or account is None:
            return ""
        if budget is None or not budget.enabled:
            return "That budget is no longer in force"
        if budget.period != Budget.Period.RUN and key_of(budget, at=self.now) != account.key:
            return "The time that the budget counts by has begun anew"
        if account.left_usd is None or account.left_usd >= self.needed_usd:
            return "There is room for the call by now"
        return ""

    @property
    def enough_usd(self) -> Decimal:
        """A limit under which the call can be made, rounded up."""
        account = self.account
        gone = account.spent_usd + account.reserved_usd if account else self.spent_usd + self.reserved_usd
        return rounded_up(gone + self.needed_usd)

    @property
    def enough(self) -> str:
        """The same as it is written into a field."""
        return f"{self.enough_usd.normalize():f}"


def held_of(run: Run, *, now: datetime) -> Held | None:
    """What holds `run`; None where no limit does."""
    return Held(run, now=now) if run.status == Run.Status.HELD and run.hold == Run.Hold.LIMIT else None


def rounded_up(usd: Decimal) -> Decimal:
    """To two digits that mean something, or as finely as limits are kept."""
    if not usd:
        return Decimal(0)
    return usd.quantize(Decimal(1).scaleb(max(FINEST, usd.adjusted() - 1)), ROUND_CEILING)


def _worst(frozen: Mapping[str, Any], needed_usd: Decimal) -> Worst | None:
    """How a call of `frozen` could come to cost so much; None where it could not."""
    price = price_of(frozen)
    if price.free or not price.output_usd:
        return None
    tokens = most_output_tokens(frozen.get("max_output_tokens"), frozen["identity"]["params"])
    reply_usd = price.output_usd * tokens / 1_000_000
    if reply_usd > needed_usd:
        return None
    return Worst(frozen["name"], tokens, price.output_usd, reply_usd, needed_usd - reply_usd)
