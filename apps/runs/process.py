"""What one driver process has once: the loop its runs wait on, the gateway, the typist, and its pulse.

The pulse is a thread of its own, outside the threads that hold runs: it says twice a second that the driver lives,
learns which of its runs were stopped, and rings for runs that nobody drives.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import redis.asyncio
import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from apps.runs import claim, tasks
from apps.runs.live import Typist, channel_layer
from apps.workers.gateway import Gateway

logger = structlog.get_logger(__name__)

PULSE_S = 0.5
SWEEP_EVERY = 4  # pulses
SWEEP_AT_ONCE = 200


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
    typing: "asyncio.Task[None]"
    held: dict[int, tuple[int, Callable[[str], None]]] = field(default_factory=dict)
    ending: threading.Event = field(default_factory=threading.Event)
    rung: dict[int, datetime] = field(default_factory=dict)

    def hold(self, run_id: int, claim: int, cut: Callable[[str], None]) -> None:
        self.held[run_id] = (claim, cut)

    def drop(self, run_id: int) -> None:
        self.held.pop(run_id, None)

    def pulse_for_ever(self) -> None:
        """Beat until the process ends. A database that is away is waited for: the runs' own writes say so too."""
        count = 0
        while not self.ending.wait(PULSE_S):
            count += 1
            try:
                self._pulse(sweep=count % SWEEP_EVERY == 0)
            except (DatabaseError, InterfaceError) as error:
                logger.warning("the pulse waits for the database", error=str(error).strip())
            except Exception:
                logger.exception("the pulse missed a beat")
            finally:
                connection.close()

    def _pulse(self, *, sweep: bool) -> None:
        now = timezone.now()
        held = dict(self.held)
        claim.beat(
            driver=self.name,
            pid=os.getpid(),
            threads=settings.DRIVER_THREADS,
            started_at=self.started_at,
            held=held.keys(),
            now=now,
        )
        for run_id in claim.no_longer({run_id: number for run_id, (number, _) in held.items()}):
            held[run_id][1]("stopped")
        if sweep:
            self._sweep(now)

    def _sweep(self, now: datetime) -> None:
        """Ring for runs that nobody drives; for the same one not again at once, or a full house would ring for ever."""
        self.rung = {run_id: at for run_id, at in self.rung.items() if now - at < claim.UNCLAIMED_FOR}
        for run_id in claim.waiting(now=now).values_list("pk", flat=True)[:SWEEP_AT_ONCE]:
            if run_id not in self.rung:
                self.rung[run_id] = now
                tasks.ring_driver(run_id)

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
        await self.gateway.close()
        await self.client.aclose()
        await channel_layer().flush()


_process: Process | None = None
_starting = threading.Lock()


def this_process() -> Process:
    """The one `Process` of this driver process, started when first asked for, its pulse beating."""
    global _process
    with _starting:
        if _process is None:
            _process = start()
            threading.Thread(target=_process.pulse_for_ever, name="driver-pulse", daemon=True).start()
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
        typing=loop.create_task(typist.run(), name="typist"),
    )
