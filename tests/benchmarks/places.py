"""Places at one worker under four driver processes: whether the limit holds, and what waiting in line costs.

The turnstiles alone, with calls of a fixed time: 500 of them through a limit of 8. How many are inside at once is
counted by a process' own pen in a shared file under a lock, not by the leases. The ideal is as many calls as the limit
all the time. Then a driver that holds all places is killed, and another one waits for them.
"""

import asyncio
import contextlib
import fcntl
import json
import multiprocessing
import os
import signal
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis.asyncio

from apps.workers.places import Limits, Turnstile
from tests.benchmarks.plot import percentile, spread

if TYPE_CHECKING:  # the drivers here are spawned, and need no Django
    from tests.benchmarks.setting import Setting
    from tests.benchmarks.studio import Studio

PROCESSES, CALLS, LIMIT = 4, 500, 8
CALL_S = 0.1
ALONE = 500
TARGET_OF_IDEAL, TARGET_FREE_S = 0.95, 15
START_S = 30

_processes = multiprocessing.get_context("spawn")


async def measure(studio: "Studio", setting: "Setting") -> list[str]:
    url = studio.services["redis_url"]
    with tempfile.TemporaryDirectory() as folder:
        crowd = await asyncio.to_thread(_crowd, url, Path(folder))
    took = max(crowd.ended_at) - min(crowd.began_at)
    bare_s = sum(crowd.call_s) / LIMIT  # the same calls, as long as they really took, without a gap between them
    free_s = await asyncio.to_thread(_killed, url)
    limited, unlimited = await _alone(url, Limits(concurrency=LIMIT)), await _alone(url, Limits())
    return [
        f"Places: {CALLS} calls of {CALL_S * 1000:.0f} ms through a limit of {LIMIT}, {PROCESSES} processes",
        f"  most at once: {crowd.most} (at most {LIMIT}); finished {len(crowd.call_s)} of {CALLS}",
        f"  throughput against the ideal: {CALLS * CALL_S / LIMIT / took:.3f} (at least {TARGET_OF_IDEAL}); against "
        f"these very calls without gaps: {bare_s / took:.3f}",
        f"  waited in line: {spread(crowd.waited_s, 's')}, the longest {max(crowd.waited_s):.1f} s",
        f"  killed while holding {LIMIT}: all free to another driver after {free_s:.1f} s (at most {TARGET_FREE_S})",
        f"  enter and leave, nobody else about: {spread(limited, 'ms')}, p99 {percentile(limited, 99):.2f} ms; "
        f"without limits {spread([ms * 1000 for ms in unlimited], 'µs')}",
    ]


# --- a crowd --------------------------------------------------------------------------------------------------------


@dataclass
class Crowd:
    """What the processes saw of their calls."""

    most: int = 0
    began_at: list[float] = field(default_factory=list)
    ended_at: list[float] = field(default_factory=list)
    call_s: list[float] = field(default_factory=list)
    waited_s: list[float] = field(default_factory=list)


class Count:
    """How many are inside over all processes, and the most there ever were: two numbers in a file, under its lock."""

    shape = struct.Struct("qq")

    def __init__(self, path: Path) -> None:
        self.file = path.open("r+b" if path.exists() else "w+b", buffering=0)

    def add(self, more: int) -> int:
        fcntl.flock(self.file, fcntl.LOCK_EX)
        try:
            self.file.seek(0)
            inside, most = self.shape.unpack(self.file.read(self.shape.size).ljust(self.shape.size, b"\0"))
            inside += more
            self.file.seek(0)
            self.file.write(self.shape.pack(inside, max(most, inside)))
            return int(max(most, inside))
        finally:
            fcntl.flock(self.file, fcntl.LOCK_UN)


def _crowd(url: str, folder: Path) -> Crowd:
    count = Count(folder / "count")
    start = _processes.Barrier(PROCESSES)
    calls = CALLS // PROCESSES
    args = [(url, folder, start, number, calls) for number in range(PROCESSES)]
    drivers = [_processes.Process(target=_drive, args=each) for each in args]
    with _ended(drivers):
        for driver in drivers:
            driver.join(START_S + 3 * CALLS * CALL_S / LIMIT)
    crowd = Crowd(most=count.add(0))
    for number in range(PROCESSES):
        for name, values in json.loads((folder / f"{number}.json").read_text()).items():
            getattr(crowd, name).extend(values)
    return crowd


def _drive(url: str, folder: Path, start: Any, number: int, calls: int) -> None:
    asyncio.run(_calls(url, folder, start, number, calls))


async def _calls(url: str, folder: Path, start: Any, number: int, calls: int) -> None:
    client = redis.asyncio.from_url(url)
    turnstile, count, seen = Turnstile(client), Count(folder / "count"), Crowd()
    await turnstile.start()
    await asyncio.sleep(turnstile.pace.muster_s)  # a Redis that has just been started admits nobody before
    await asyncio.to_thread(start.wait, START_S)

    async def call() -> None:
        asked_at = time.monotonic()
        async with await turnstile.enter("bench-crowd", Limits(concurrency=LIMIT)):
            began_at = time.monotonic()
            count.add(1)
            await asyncio.sleep(CALL_S)
            count.add(-1)
            ended_at = time.monotonic()
        seen.waited_s.append(began_at - asked_at)
        seen.call_s.append(ended_at - began_at)
        seen.ended_at.append(ended_at)

    seen.began_at.append(time.monotonic())  # one clock for all processes of a machine
    await asyncio.gather(*(call() for _ in range(calls)))
    await turnstile.close()
    await client.aclose()
    values = {name: value for name, value in vars(seen).items() if name != "most"}
    (folder / f"{number}.json").write_text(json.dumps(values))


@contextlib.contextmanager
def _ended(drivers: list[SpawnProcess]) -> Iterator[None]:
    for driver in drivers:
        driver.start()
    try:
        yield
    finally:
        for driver in drivers:
            driver.kill()
            driver.join()


# --- a driver that dies ---------------------------------------------------------------------------------------------


def _killed(url: str) -> float:
    """Seconds from the kill of a driver that held every place, and had as many waiting, to another having all."""
    holding = _processes.Event()
    holder = _processes.Process(target=_hold, args=(url, holding))
    with _ended([holder]):
        if not holding.wait(START_S):
            raise SystemExit("no driver took the places")
        time.sleep(5)  # somewhere between two renewals
        return asyncio.run(_take_over(url, holder.pid or 0))


def _hold(url: str, holding: Any) -> None:
    async def hold() -> None:
        turnstile = Turnstile(redis.asyncio.from_url(url))
        entering = [turnstile.enter("bench-killed", Limits(concurrency=LIMIT)) for _ in range(2 * LIMIT)]
        for count, entered in enumerate(asyncio.as_completed(entering), 1):
            await entered
            if count == LIMIT:
                holding.set()

    asyncio.run(hold())


async def _take_over(url: str, pid: int) -> float:
    client = redis.asyncio.from_url(url)
    turnstile = Turnstile(client)
    entering = [asyncio.ensure_future(turnstile.enter("bench-killed", Limits(concurrency=LIMIT))) for _ in range(LIMIT)]
    await asyncio.sleep(1)
    assert not any(task.done() for task in entering), "the places are held"
    os.kill(pid, signal.SIGKILL)
    killed_at = time.monotonic()
    await asyncio.gather(*entering)
    free_s = time.monotonic() - killed_at
    await turnstile.close()
    await client.aclose()
    return free_s


# --- nobody else about ----------------------------------------------------------------------------------------------


async def _alone(url: str, limits: Limits) -> list[float]:
    client = redis.asyncio.from_url(url)
    turnstile = Turnstile(client)
    slug, took_ms = f"bench-alone-{limits.concurrency}", []
    for number in range(ALONE + 20):
        began = time.perf_counter()
        place = await turnstile.enter(slug, limits, tokens=1000)
        await place.leave(tokens_used=100)
        if number >= 20:  # the first ones make connections
            took_ms.append((time.perf_counter() - began) * 1000)
    await turnstile.close()
    await client.aclose()
    return took_ms
