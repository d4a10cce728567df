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
from typing import Any

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
    gateway: Gateway
    typist: Typist
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


_process: Process | None = None
_starting = threading.Lock()


def this_process() -> Process:
    """The one `Process` of this process, started when first asked for."""
    global _process
    with _starting:
        if _process is None:
            _process = _start()
    return _process


def current() -> Process | None:
    """The process if it was started, for those who would not start it."""
    return _process


def _start() -> Process:
    loop = asyncio.new_event_loop()
    threading.Thread(target=_run_loop, args=(loop,), name="driver-loop", daemon=True).start()
    process = asyncio.run_coroutine_threadsafe(_make(loop), loop).result(timeout=30)
    threading.Thread(target=process.pulse_for_ever, name="driver-pulse", daemon=True).start()
    return process


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()


async def _make(loop: asyncio.AbstractEventLoop) -> Process:
    client: redis.asyncio.Redis = redis.asyncio.from_url(settings.REDIS_URL)
    typist = Typist(client=client, layer=channel_layer())
    started_at = timezone.now()
    process = Process(
        name=f"{socket.gethostname()}-{os.getpid()}-{started_at:%H%M%S}",
        started_at=started_at,
        loop=loop,
        gateway=Gateway(),
        typist=typist,
    )
    _keep(loop.create_task(typist.run(), name="typist"))
    return process


_kept: set["asyncio.Task[Any]"] = set()


def _keep(task: "asyncio.Task[Any]") -> None:
    _kept.add(task)  # a loop holds its tasks weakly
    task.add_done_callback(_kept.discard)
