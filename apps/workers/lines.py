"""One worker's line as a driver process sees it: its own calls inside, its own steps waiting, and the limits.

Plain values; `places.py` moves them, together with Redis.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

import structlog

from apps.workers.calls import CallFailed
from apps.workers.circuit import CircuitOpen, moment

if TYPE_CHECKING:
    from apps.workers.places import Turnstile

logger = structlog.get_logger(__name__)

Why = Literal["place", "rate", "cooling"]


@dataclass(frozen=True)
class Limits:
    """What a worker takes at most, over all drivers; None is no limit. Of two versions the newer one holds."""

    concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    version: int = 0

    @property
    def are_none(self) -> bool:
        return self.concurrency is self.requests_per_minute is self.tokens_per_minute is None

    def told(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Waiting:
    """Why a step waits at a worker: how many are ahead of it, and until when where that is known."""

    ahead: int
    why: Why
    until: datetime | None = None


@dataclass(eq=False)
class Place:
    """A call's place at a worker, until it is left; a context manager that leaves it.

    `tokens_used` is what the call really consumed: unknown, the worst case stays counted until its minute is over.
    """

    turnstile: "Turnstile"
    slug: str
    ticket: str
    registered: bool = True  # Redis knows of it
    trial: bool = False  # it finds out whether the worker answers again
    tokens_used: int | None = None
    unused: bool = False  # no call was made: neither it nor its tokens count
    left: bool = False

    async def heard(self, failure: CallFailed | None) -> None:
        """Tell the circuit how the call went. Said before leaving."""
        await self.turnstile.heard(self.slug, failure, place=self)

    async def leave(self, tokens_used: int | None = None) -> None:
        """Give the place back; the next one's is granted in the same step. Leaving twice is leaving once."""
        self.tokens_used = self.tokens_used if tokens_used is None else tokens_used
        await self.turnstile.leave(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()


@dataclass(eq=False)
class Waiter:
    """A step that has asked for a place."""

    ticket: str
    tokens: int
    on_wait: Callable[[Waiting], None]
    answer: "asyncio.Future[Place]"
    asked: bool = False  # its first question was answered, or could not be put: from now on it is looked after
    order: str = ""  # its place in the queue, as Redis gave it
    trial: bool = False
    told: Waiting | None = None
    told_at: float = 0.0

    def tell(self, waiting: Waiting, *, tell_s: float) -> None:
        """Say how it stands, where that is new and the last word is a while ago."""
        now = time.monotonic()
        if waiting == self.told or (self.told is not None and now - self.told_at < tell_s):
            return
        self.told, self.told_at = waiting, now
        try:
            self.on_wait(waiting)
        except Exception:
            logger.exception("one who waits could not be told")  # it must not keep the others from being told


@dataclass(eq=False)
class Line:
    """A worker's line. `held` and `waiting` are this process' own, by ticket, in the order in which they came."""

    turnstile: "Turnstile"
    slug: str
    limits: Limits = Limits()
    held: dict[str, Place] = field(default_factory=dict)
    waiting: dict[str, Waiter] = field(default_factory=dict)
    nudged: asyncio.Event = field(default_factory=asyncio.Event)
    well: asyncio.Event = field(default_factory=asyncio.Event)  # it was in trouble, and is no longer
    watching: "asyncio.Task[None] | None" = None
    due_at: float = 0.0  # when to look again, on this process' own clock

    def join(self, ticket: str, tokens: int, on_wait: Callable[[Waiting], None]) -> Waiter:
        answer: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        waiter = self.waiting[ticket] = Waiter(ticket, max(0, tokens), on_wait, answer)
        return waiter

    def learn(self, limits: Limits) -> None:
        if limits.version >= self.limits.version:
            self.limits = limits

    def hold(self, ticket: str, *, registered: bool = True, trial: bool = False) -> Place:
        place = self.held[ticket] = Place(self.turnstile, self.slug, ticket, registered, trial)
        return place

    def grant(self, ticket: str) -> None:
        """Let a step in. One that is gone has its place given back by whoever took it out of the line."""
        waiter = self.waiting.pop(ticket, None)
        if waiter is not None and not waiter.answer.done():
            waiter.answer.set_result(self.hold(ticket, trial=waiter.trial))

    def grant_alone(self, share: int) -> bool:
        """While Redis is away: let in whom this driver's share of the places allows. Says whether there was anybody."""
        asked = [waiter.ticket for waiter in self.waiting.values() if waiter.asked]
        room = len(asked) if self.limits.concurrency is None else max(0, share - len(self.held))
        for ticket in asked[:room]:
            self.grant(ticket)
        return bool(asked[:room])

    def hear(self, told: Mapping[str, Any], *, tell_s: float, look_s: float) -> None:
        """Take what a script said about tickets of ours: in, kept out by the circuit, or still waiting."""
        free_at = told.get("free_at")
        until = None if free_at is None else moment(free_at)
        pause_s = look_s if free_at is None else min(look_s, max(0.0, (free_at - told["now"]) / 1000) + 0.002)
        self.due_at = time.monotonic() + pause_s
        for ticket in told["tickets"]:
            self._hear_of(ticket, told.get("why", "place"), until, tell_s)

    def _hear_of(self, told: Mapping[str, Any], why: Why, until: datetime | None, tell_s: float) -> None:
        waiter = self.waiting.get(told["ticket"])
        if waiter is None:
            return
        waiter.trial = told["trial"]
        if "bar" in told:
            self.well.clear()
            self.fail(waiter, self._refusal(told["bar"]))
        elif "ahead" not in told:
            self.grant(waiter.ticket)
        else:
            waiter.order = told["order"]
            waiter.tell(Waiting(told["ahead"], why, until), tell_s=tell_s)

    def _refusal(self, bar: Mapping[str, Any]) -> CircuitOpen:
        return CircuitOpen(self.slug, bar["reason"], moment(bar["next_try"]), bar["wait_ms"] / 1000)

    def drop(self, waiter: Waiter) -> None:
        """Forget a step that has given up."""
        self.waiting.pop(waiter.ticket, None)
        if waiter.answer.done() and not waiter.answer.cancelled():
            waiter.answer.exception()  # it was refused in the same moment, and nobody is left to hear that

    def fail(self, waiter: Waiter, why: Exception) -> None:
        self.waiting.pop(waiter.ticket, None)
        if not waiter.answer.done():
            waiter.answer.set_exception(why)
