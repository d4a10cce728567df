"""A call's way to a model: the money and a place at the model's door first, then as many tries as help.

What keeps a call from being made is told to whoever watches. Nothing is held while it waits: no place, no connection.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from apps.runs.engine import StepHeld
from apps.spend.book import Refusal
from apps.workers.calls import CHARS_PER_TOKEN, CallFailed
from apps.workers.patience import is_worth_retrying, wait_for_call
from apps.workers.places import CircuitOpen, Limits, Place, Turnstile, Waiting

# Shorter waits are not worth a word; longer ones are told again when something changes, but not all the time.
SOON_S = 0.3
TOLD_EVERY_S = 2.0
# An open circuit that is tried again so soon is waited for, where nobody stands in.
SHORT_PAUSE_S = 30.0
# Calls under way may turn out cheaper than what is set aside for them: that is waited for, this long.
MONEY_PAUSE_S = 0.5
MONEY_PATIENCE_S = 60.0
# A model that is merely busy is waited for, where nobody stands in; beyond this its people must look.
BUSY_PATIENCE_S = 900.0

logger = structlog.get_logger(__name__)

Why = Literal["place", "rate", "cooling", "circuit", "money"]


@dataclass(frozen=True)
class Wait:
    """Why a call waits: how many are ahead of it, and until when where that is known."""

    why: Why
    ahead: int = 0
    until: datetime | None = None

    @property
    def told(self) -> dict[str, Any]:
        """As an event holds it."""
        return {"why": self.why, "ahead": self.ahead, "until": self.until and self.until.isoformat()}

    def words(self, name: str) -> str:
        """For people: `waiting for a place at Atlas (3 ahead)`."""
        behind = f" ({self.ahead} ahead)" if self.ahead else ""
        at = f", until {self.until:%H:%M:%S} UTC" if self.until else ""
        return {
            "place": f"waiting for a place at {name}{behind}",
            "rate": f"waiting: {name} takes only so many calls or tokens a minute{behind}",
            "cooling": f"waiting: {name} asked for a pause{at}{behind}",
            "circuit": f"waiting: {name} keeps failing and is tried again{at.replace('until', 'at')}",
            "money": "waiting for calls under way: what is set aside for them reaches the limit",
        }[self.why]


class Teller:
    """Says why a call waits, when that lasts: at first after a moment, then now and then as it changes."""

    def __init__(self, tell: Callable[[Wait], Awaitable[None]]) -> None:
        self._tell = tell
        self._latest: Wait | None = None
        self._telling: asyncio.Task[None] | None = None

    def say(self, wait: Wait) -> None:
        self._latest = wait
        if self._telling is None:
            self._telling = asyncio.ensure_future(self._go_on())

    async def _go_on(self) -> None:
        await asyncio.sleep(SOON_S)
        told = None
        while True:
            if self._latest is not None and self._latest != told:
                told = self._latest
                try:
                    await self._tell(told)
                except Exception as error:  # whoever waits learns of it when it writes
                    logger.info("a wait could not be told", error=str(error))
            await asyncio.sleep(TOLD_EVERY_S)

    async def end(self) -> None:
        """The wait is over. What is being told is told to its end; a write must not be cut."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.wait([self._telling])


class Door:
    """The way to one model, for calls of a run: its place is taken before each call and given back after it."""

    def __init__(
        self,
        turnstile: Turnstile,
        frozen: Mapping[str, Any],
        *,
        limits: Mapping[str, Limits],
        tell: Callable[[Wait], Awaitable[None]],
    ) -> None:
        self.turnstile = turnstile
        self.frozen = frozen
        self.limits = limits  # as they are set now, by slug
        self.tell = tell

    @asynccontextmanager
    async def open(self, *, tokens: int, may_wait: bool) -> AsyncIterator[Place]:
        """A place at the model, until the block ends. `tokens` is the worst case of the call.

        It is `unused` until whoever makes the call says otherwise: the money may be refused, or the run paused.

        :raises CallFailed: it keeps failing, and is not to be tried for a while.
        """
        teller = Teller(self.tell)
        try:
            place = await self._enter(tokens, teller, may_wait=may_wait)
        finally:
            await teller.end()
        place.unused = True
        try:
            yield place
        finally:
            await place.leave()

    async def _enter(self, tokens: int, teller: Teller, *, may_wait: bool) -> Place:
        def on_wait(waiting: Waiting) -> None:
            teller.say(Wait(waiting.why, waiting.ahead, waiting.until))

        while True:
            try:
                limits = self.limits.get(self.frozen["slug"]) or limits_of(self.frozen)
                return await self.turnstile.enter(self.frozen["slug"], limits, tokens=tokens, on_wait=on_wait)
            except CircuitOpen as circuit:
                if not may_wait or circuit.wait_s > SHORT_PAUSE_S:
                    name, at = self.frozen["name"], f"{circuit.next_try:%H:%M:%S} UTC"
                    message = f"{name} keeps failing ({circuit.kind}) and is tried again at {at}"
                    raise CallFailed("circuit", message, retryable=False) from None
                teller.say(Wait("circuit", until=circuit.next_try))
                await self.turnstile.outwait(circuit)


class Tries:
    """How often one model is asked: again where that can help, not for ever, and longer where it is merely busy."""

    def __init__(self, tries: int, *, may_wait: bool) -> None:
        self.tries = tries
        self.may_wait = may_wait
        self.counted = 0
        self.until = time.monotonic() + BUSY_PATIENCE_S
        self.wait_s = 0.0

    def again(self) -> AsyncRetrying:
        """The tries, as tenacity makes them. Within each, a failure goes through `failed` first."""
        return AsyncRetrying(
            stop=lambda state: self.is_spent,
            retry=retry_if_exception(is_worth_retrying),
            wait=lambda state: self.wait_s,
            reraise=True,
        )

    def failed(self, failure: CallFailed, state: RetryCallState) -> float | None:
        """How long until the next try, in seconds; None: there is none."""
        is_busy = failure.kind == "rate_limited" and self.may_wait
        self.counted += not is_busy
        if not failure.retryable or self.is_spent:
            return None
        state.set_exception((type(failure), failure, failure.__traceback__))
        self.wait_s = wait_for_call(state)
        return self.wait_s

    @property
    def is_spent(self) -> bool:
        return self.counted >= self.tries or time.monotonic() > self.until


class Credit:
    """Waiting for money, outside the door: calls under way may turn out cheaper than what is set aside for them."""

    def __init__(self, *, tell: Callable[[Wait], Awaitable[None]]) -> None:
        self.tell = tell
        self.until = time.monotonic() + MONEY_PATIENCE_S
        self.told = False

    async def wait(self, refusal: Refusal) -> None:
        """Wait a moment before it is asked for again.

        :raises StepHeld: waiting is of no use: the limit would be crossed whatever becomes of the calls under way.
        """
        if not refusal.may_pass or time.monotonic() > self.until:
            raise StepHeld("limit", told_of(refusal))
        if not self.told:
            self.told = True
            await self.tell(Wait("money"))
        await asyncio.sleep(MONEY_PAUSE_S)


def told_of(refusal: Refusal) -> dict[str, str]:
    """The limit that a call would cross, as an event and a run's row hold it."""
    return {
        "account": refusal.key,
        "label": refusal.label,
        "limit_usd": str(refusal.limit_usd),
        "spent_usd": str(refusal.spent_usd),
        "reserved_usd": str(refusal.reserved_usd),
        "needed_usd": str(refusal.needed_usd),
    }


def limits_of(frozen: Mapping[str, Any]) -> Limits:
    """The limits that a frozen model was submitted with; a run from before there were any has none."""
    limits = frozen.get("limits") or {}
    return Limits(
        concurrency=limits.get("concurrency"),
        requests_per_minute=limits.get("requests_per_minute"),
        tokens_per_minute=limits.get("tokens_per_minute"),
    )


def tokens_of(frozen: Mapping[str, Any], messages: list[dict[str, str]]) -> int:
    """What a call could use of a model's tokens a minute; only asked where there is such a limit."""
    asked = sum(len(message.get("content") or "") for message in messages) // CHARS_PER_TOKEN
    return asked + int(frozen.get("max_output_tokens") or 1_000)
