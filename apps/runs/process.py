"""What one driver process has once: the loop its runs wait on, the gateway, the typist, and its pulse.

The pulse and the sweeper are threads of their own, outside those that hold runs. The pulse says twice a second that the
driver lives, and learns which of its runs were stopped; it needs the database alone. The sweeper rings for runs that
nobody drives, and may wait for the broker.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import redis
import redis.asyncio
import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone
from redis.exceptions import RedisError

from apps.runs import claim, tasks
from apps.runs.claim import Wishes
from apps.runs.live import Typist, channel_layer
from apps.runs.models import Run
from apps.workers import tokens
from apps.workers.gateway import Gateway
from apps.workers.lines import Limits
from apps.workers.models import FlowRule
from apps.workers.places import Turnstile
from apps.workers.services import limits_now

logger = structlog.get_logger(__name__)

PULSE_S = 0.5
LIMITS_EVERY = 4  # beats
SWEEP_S = 2.0
SWEEP_AT_ONCE = 200
CLOSE_EVERY = 30  # sweeps
LONGEST_PAUSE = timedelta(seconds=60)


@dataclass
class Process:
    """This driver process. `held` are its runs (id: claim) with the function that cuts each."""

    name: str
    started_at: datetime
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    gateway: Gateway
    client: "redis.asyncio.Redis"
    typist: Typist
    turnstile: Turnstile
    typing: "asyncio.Task[None]"
    limits: dict[str, Limits] = field(default_factory=dict)  # of each model, as they are set now
    has_rules: bool = True  # whether any flow rule is in force, as the last beat learnt it
    held: dict[int, tuple[int, Callable[[str], None]]] = field(default_factory=dict)
    wishes: dict[int, Wishes] = field(default_factory=dict)
    ending: threading.Event = field(default_factory=threading.Event)

    def hold(self, run_id: int, claim: int, cut: Callable[[str], None]) -> None:
        self.wishes.pop(run_id, None)  # what was asked when it was held before
        self.held[run_id] = (claim, cut)

    def drop(self, run_id: int, claim: int) -> None:
        if self.held.get(run_id, (claim,))[0] == claim:  # a later claim of the same run stays
            self.held.pop(run_id, None)

    def pulse_for_ever(self) -> None:
        """Beat until the process ends. A database that is away is waited for: the runs' own writes say so too."""
        beats = 0
        while not self.ending.wait(PULSE_S):
            try:
                self._pulse()
                if beats % LIMITS_EVERY == 0:
                    self.learn_limits(limits_now())
                beats += 1
            except (DatabaseError, InterfaceError) as error:
                logger.warning("the pulse waits for the database", error=str(error).strip())
            except Exception:
                logger.exception("the pulse missed a beat")
            finally:
                connection.close()

    def _pulse(self) -> None:
        held = dict(self.held)
        claim.beat(
            driver=self.name,
            pid=os.getpid(),
            threads=settings.DRIVER_THREADS,
            started_at=self.started_at,
            held=held.keys(),
            now=timezone.now(),
        )
        self.has_rules = FlowRule.objects.enabled().exists()
        over, self.wishes = claim.look({run_id: number for run_id, (number, _) in held.items()})
        for run_id in over:
            held[run_id][1]("stopped")

    def wishes_of(self, run: Run) -> Wishes:
        """What people ask of a run: as the last beat learnt it, or as it was claimed."""
        return self.wishes.get(run.pk) or Wishes.of(run)

    def learn_limits(self, limits: dict[str, Limits]) -> None:
        """Let what an admin has set hold from now on, also for those who wait at a model's door."""

        def values(one: Limits | None) -> tuple[int | None, ...]:
            return () if one is None else (one.concurrency, one.requests_per_minute, one.tokens_per_minute)

        changed = [slug for slug, each in limits.items() if values(self.limits.get(slug)) != values(each)]
        is_first = not self.limits
        self.limits = {slug: limits[slug] if slug in changed else self.limits[slug] for slug in limits}
        if not is_first:
            for slug in changed:
                asyncio.run_coroutine_threadsafe(self.turnstile.limits(slug, limits[slug]), self.loop)

    @property
    def is_full(self) -> bool:
        """Whether every thread holds a run, so that nothing it is rung for could be taken."""
        return len(self.held) >= settings.DRIVER_THREADS

    def end(self) -> None:
        """The process is asked to end: let go of every run, so that another driver can take it at once."""
        self.ending.set()
        for _, cut in list(self.held.values()):
            cut("released")

    def close(self) -> None:
        """Stop what `start` started: for tests, which start more than one in a process."""
        self.ending.set()
        asyncio.run_coroutine_threadsafe(self._close_on_loop(), self.loop).result(timeout=10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(timeout=10)
        self.loop.close()

    async def _close_on_loop(self) -> None:
        self.typing.cancel()
        await asyncio.wait([self.typing])
        await self.turnstile.close()
        await self.gateway.close()
        await self.client.aclose()
        await channel_layer().flush()


@dataclass
class Sweeper:
    """Rings for runs that nobody drives: their message was lost, or their driver died.

    For the same run ever less often, and not while this driver could not take it or the queue holds enough already: a
    house that is full must not fill the broker.
    """

    process: Process
    rung: dict[int, tuple[datetime, timedelta]] = field(default_factory=dict)  # run: when last, and the pause after

    def sweep_for_ever(self) -> None:
        queue = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=2)
        sweeps = 0
        while not self.process.ending.wait(SWEEP_S):
            sweeps += 1
            try:
                if sweeps % CLOSE_EVERY == 0:
                    claim.close_abandoned(now=timezone.now())
                if not self.process.is_full:
                    self.sweep(timezone.now(), queued=int(queue.llen(settings.CELERY_TASK_DEFAULT_QUEUE)))
            except (DatabaseError, InterfaceError, RedisError, OSError) as error:
                logger.warning("the sweeper waits", error=str(error).strip())
            except Exception:
                logger.exception("a sweep failed")
            finally:
                connection.close()

    def sweep(self, now: datetime, *, queued: int) -> None:
        waiting = list(claim.waiting(now=now).values_list("pk", flat=True)[:SWEEP_AT_ONCE])
        self.rung = {run_id: told for run_id, told in self.rung.items() if run_id in waiting}
        for run_id in waiting[queued:]:
            at, pause = self.rung.get(run_id, (None, claim.UNCLAIMED_FOR))
            if at is None or now - at >= pause:
                self.rung[run_id] = (now, min(pause if at is None else pause * 2, LONGEST_PAUSE))
                tasks.ring_driver(run_id)


_process: Process | None = None
_starting = threading.Lock()


def this_process() -> Process:
    """The one `Process` of this driver process, started when first asked for, its pulse beating."""
    global _process
    with _starting:
        if _process is None:
            _process = start()
            threading.Thread(target=tokens.warm_up, name="driver-tokens", daemon=True).start()
            threading.Thread(target=_process.pulse_for_ever, name="driver-pulse", daemon=True).start()
            sweeper = Sweeper(_process)
            threading.Thread(target=sweeper.sweep_for_ever, name="driver-sweeper", daemon=True).start()
    return _process


def current() -> Process | None:
    """The process if it was started, for those who would not start it."""
    return _process


def start() -> Process:
    """A process on a loop of its own thread, without a pulse."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="driver-loop", daemon=True)
    thread.start()
    return asyncio.run_coroutine_threadsafe(_make(loop, thread), loop).result(timeout=30)


async def _make(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> Process:
    client: redis.asyncio.Redis = redis.asyncio.from_url(settings.REDIS_URL)
    typist = Typist(client=client, layer=channel_layer())
    started_at = timezone.now()
    return Process(
        name=f"{socket.gethostname()}-{os.getpid()}-{started_at:%H%M%S}",
        started_at=started_at,
        loop=loop,
        thread=thread,
        gateway=Gateway(),
        client=client,
        typist=typist,
        turnstile=Turnstile(client),
        typing=loop.create_task(typist.run(), name="typist"),
    )
