"""Places at workers: how many calls at once, how many a minute, and none while its circuit is open, over all drivers.

    turnstile = Turnstile(client)                                   # one for a driver process, on its loop
    async with await turnstile.enter(slug, limits, tokens=worst, on_wait=say) as place:
        reply = await gateway.stream(...)                           # a CallFailed goes to place.heard, too
        place.tokens_used = reply.usage.input_tokens + reply.usage.output_tokens
        await place.heard(None)

Whoever must wait stands in one queue a worker, over all drivers, in the order of coming. Leaving admits the next within
the same Redis script, and the turnstile it belongs to is told at once; a slow look makes up for news that are lost. All
places of a process are leases, renewed together: what a killed driver held is free when they end. While Redis is away
nothing stands still: each driver keeps to its share of the places, and registers what it holds when Redis is back.

No library does this: those for rates (limits, throttled-py) cannot take the worst case and give back the rest, nor
decide together with the places who is admitted.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from itertools import count
from random import uniform
from typing import Any

import redis.asyncio
import structlog

from apps.core.waiting import happens
from apps.workers.calls import CallFailed
from apps.workers.circuit import CircuitOpen, reason_of, verdict_on
from apps.workers.lines import Limits, Line, Place, Waiter, Waiting
from apps.workers.news import listen
from apps.workers.pace import Pace
from apps.workers.scripts import RedisAway, Scripts, line_of
from apps.workers.standing import Standing, standings

__all__ = ["CircuitOpen", "Limits", "Pace", "Place", "Standing", "Turnstile", "Waiting"]

logger = structlog.get_logger(__name__)

ENDLESS = "turnstile-"  # how the names of tasks begin that go on until it is closed
AT_ONCE = 8  # connections that a crowd of newcomers may take


class Turnstile:
    """The one way into the workers for a driver process. Made and used on one event loop; `close` it at the end."""

    def __init__(self, client: "redis.asyncio.Redis", pace: Pace = Pace()) -> None:  # noqa: B008 - frozen
        self.id = secrets.token_hex(6)
        self.pace = pace
        self._client = client
        self._scripts = Scripts(client, pace)
        self._lines: dict[str, Line] = {}
        self.troubled: set[str] = set()  # workers about which Redis must be asked, whatever their limits
        self._turnstiles = 1
        self._alone = False  # somebody was let in while Redis was away
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._begun: asyncio.Task[None] | None = None
        self._crowd = asyncio.Semaphore(AT_ONCE)
        self._muster = asyncio.Lock()  # of looks and renewals with leaves: they would bring back who has just left

    # --- for drivers -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen to the news, and learn who is in trouble: before the first call, if nobody asked for it earlier."""
        if self._begun is None:
            self._begun = self._go(self._set_up())
        if not self._begun.done():
            await asyncio.shield(self._begun)

    async def enter(
        self, slug: str, limits: Limits, *, tokens: int = 0, on_wait: Callable[[Waiting], None] = lambda waiting: None
    ) -> Place:
        """Take a place at the worker, as soon as there is one. `tokens` is the worst case of the call.

        `on_wait` is told why, and how many are ahead, as soon as it must wait and whenever that changes.

        :raises CircuitOpen: the worker has failed too often, and it is not yet time to try again.
        """
        await self.start()
        line, ticket = self._line(slug), f"{self.id}:{next(self._numbers)}"
        unlimited = limits.are_none and line.limits.are_none
        line.learn(limits)
        if unlimited and slug not in self.troubled:
            return line.hold(ticket, registered=False)
        waiter = line.join(ticket, tokens, on_wait)
        asking = self._go(self._ask(line, waiter))
        try:
            return await waiter.answer
        except asyncio.CancelledError:
            line.drop(waiter)
            self._go(self._withdraw(line, ticket, asking))
            raise

    async def leave(self, place: Place) -> None:
        """Give a place back: what `Place.leave` does."""
        if place.left:
            return
        place.left = True
        line = self._line(place.slug)
        line.held.pop(place.ticket, None)
        if place.registered:  # to the end, even if whoever leaves is cancelled meanwhile
            await asyncio.shield(self._go(self._send_leave(line, place.ticket, place.tokens_used, unused=place.unused)))
        self._grant_alone_if_away(line)

    async def heard(self, slug: str, failure: CallFailed | None, *, place: Place | None = None) -> None:
        """Tell the worker's circuit how a call went: None for a reply. A 429 makes all drivers wait a while.

        Without a `place` the call is taken for this process' trial, if it makes one at the worker.
        """
        verdict = verdict_on(failure)
        if slug not in self.troubled and verdict in ("answered", "alive"):
            return  # news to nobody
        self.troubled.add(slug)
        place = place or next((held for held in self._line(slug).held.values() if held.trial), None)
        ticket = "" if place is None else place.ticket
        given: dict[str, Any] = {"ticket": ticket, "verdict": verdict, "reason": reason_of(failure)}
        if failure is not None and failure.retry_after_s is not None:
            given["retry_after_ms"] = round(failure.retry_after_s * 1000)
        with suppress(RedisAway):
            await self._scripts.at(slug, "heard", given)

    async def outwait(self, refusal: CircuitOpen) -> None:
        """Wait until the worker may be tried again, or is well before that: for who has nobody else to ask."""
        await happens(self._line(refusal.slug).well, refusal.wait_s)

    async def limits(self, slug: str, limits: Limits) -> None:
        """Let new limits hold at once, also for those who wait already."""
        self._line(slug).learn(limits)
        with suppress(RedisAway):
            await self._scripts.at(slug, "limits", {"limits": limits.told(), "tells": True})

    async def forgive(self, slug: str) -> None:
        """Close the worker's circuit and end its cooling: somebody has mended it."""
        with suppress(RedisAway):
            await self._scripts.at(slug, "forgive", {})

    async def standing(self, slugs: Sequence[str]) -> dict[str, Standing]:
        """How it stands at the workers, over all drivers; of a worker without limits to within a few seconds.

        :raises RedisAway: nobody can say.
        """
        return standings(slugs, await self._scripts.run("standing", [line_of(slug) for slug in slugs], {}, probes=True))

    async def close(self) -> None:
        """Give back everything at once, for a driver that ends in good order. Who waits is cancelled."""
        for line in self._lines.values():
            for waiter in list(line.waiting.values()):
                waiter.answer.cancel()
            for place in list(line.held.values()):
                self._go(self.leave(place))
        await asyncio.sleep(0)  # whoever waited withdraws now
        while ending := {task for task in self._tasks if not task.get_name().startswith(ENDLESS)}:
            await asyncio.wait(ending)
        while endless := set(self._tasks):  # more than once: a client whose connection breaks may lose a cancellation
            for task in endless:
                task.cancel()
            await asyncio.wait(endless, timeout=self.pace.retry_s)

    # --- one step at a time ------------------------------------------------------------------------------------------

    def _line(self, slug: str) -> Line:
        if slug not in self._lines:
            self._lines[slug] = Line(self, slug)
        return self._lines[slug]

    def _go(self, work: Coroutine[Any, Any, None], name: str | None = None) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _set_up(self) -> None:
        heard = asyncio.Event()
        self._go(listen(self._client, self.id, self._hear_news, heard, self.pace), name=f"{ENDLESS}news")
        await happens(heard, self.pace.call_s)
        await self._renew()
        self._go(self._renew_for_ever(), name=f"{ENDLESS}leases")

    async def _ask(self, line: Line, waiter: Waiter) -> None:
        given = {"ticket": waiter.ticket, "tokens": waiter.tokens, "limits": line.limits.told(), "tells": True}
        try:
            async with self._crowd:
                told = await self._scripts.at(line.slug, "enter", given)
            line.hear(told, tell_s=self.pace.tell_s, look_s=self.pace.look_s)
        except RedisAway:
            logger.debug("a place is taken without Redis", worker=line.slug)
        except Exception as fault:  # ours: whoever waits must not wait for ever
            line.fail(waiter, fault)
        waiter.asked = True
        self._grant_alone_if_away(line)
        self._watch(line)

    async def _withdraw(self, line: Line, ticket: str, asking: "asyncio.Task[None]") -> None:
        """Take a ticket back whose owner is gone, after what it asked was answered: not before, or it would stay."""
        await asyncio.wait([asking])
        line.held.pop(ticket, None)
        await self._send_leave(line, ticket, None, unused=True)
        self._grant_alone_if_away(line)

    async def _send_leave(self, line: Line, ticket: str, used: int | None, *, unused: bool) -> None:
        given: dict[str, Any] = {"ticket": ticket, "limits": line.limits.told(), "unused": unused}
        if used is not None:
            given["used"] = max(0, used)
        if self._scripts.away.is_set():
            return  # the lease will end
        async with self._muster:
            with suppress(RedisAway):
                await self._scripts.at(line.slug, "leave", given)

    # --- what goes on meanwhile --------------------------------------------------------------------------------------

    def _watch(self, line: Line) -> None:
        if line.waiting and (line.watching is None or line.watching.done()):
            line.watching = self._go(self._watch_over(line), name=f"{ENDLESS}line")

    async def _watch_over(self, line: Line) -> None:
        """Look for as long as somebody waits: when it is due, and when there are news."""
        while line.waiting:
            await happens(line.nudged, max(0.0, line.due_at - time.monotonic()))
            line.nudged.clear()
            line.due_at = time.monotonic() + self.pace.look_s
            try:
                if not self._scripts.away.is_set():
                    await self._look(line)
                self._grant_alone_if_away(line)
            except Exception:
                logger.exception("a look at a worker's line failed", worker=line.slug)

    async def _look(self, line: Line) -> None:
        async with self._muster:
            waiting = [
                {"ticket": waiter.ticket, "tokens": waiter.tokens} | ({"order": waiter.order} if waiter.order else {})
                for waiter in line.waiting.values()
                if waiter.asked
            ]
            if not waiting:
                return
            with suppress(RedisAway):
                told = await self._scripts.at(line.slug, "look", {"waiting": waiting, "limits": line.limits.told()})
                line.hear(told, tell_s=self.pace.tell_s, look_s=self.pace.look_s)

    async def _renew_for_ever(self) -> None:
        while True:
            if self._scripts.away.is_set():
                await asyncio.sleep(self.pace.retry_s)
            else:
                await happens(self._scripts.away, self.pace.renew_s * uniform(0.9, 1.0))  # noqa: S311 - it guards nothing
            try:
                await self._renew()
            except Exception:
                logger.exception("the leases were not renewed")

    async def _renew(self) -> None:
        """Renew every lease with one script: what Redis did not know of, it knows from then on."""
        was_away = self._scripts.away.is_set()
        async with self._muster:
            places = {slug: list(line.held.values()) for slug, line in self._lines.items() if line.held}
            for place in (place for some in places.values() for place in some):
                place.registered = True
            given = {
                "turnstile": self.id,
                "lease_ms": round(self.pace.lease_s * 1000),
                "muster_ms": round(self.pace.muster_s * 1000),
                "alone": self._alone,
                "held": [[place.ticket for place in some] for some in places.values()],
            }
            try:
                told = await self._scripts.run("renew", [line_of(slug) for slug in places], given, probes=True)
            except RedisAway:
                return
            self._alone = False
            self._scripts.found()
        self._turnstiles = max(1, told["turnstiles"])
        self.troubled = set(told["troubled"])
        if was_away:
            for line in self._lines.values():
                line.nudged.set()

    def _grant_alone_if_away(self, line: Line) -> None:
        if self._scripts.away.is_set():
            share = max(1, (line.limits.concurrency or 0) // self._turnstiles)
            self._alone = line.grant_alone(share) or self._alone

    def _hear_news(self, word: str, slug: str, ticket: str) -> None:
        if word == "muster":
            self._go(self._renew())
        elif word == "granted":
            self._line(slug).grant(ticket)
        elif word == "trouble":
            self.troubled.add(slug)
            self._line(slug).nudged.set()
        elif word == "well":
            self.troubled.discard(slug)
            self._line(slug).nudged.set()
            self._line(slug).well.set()
