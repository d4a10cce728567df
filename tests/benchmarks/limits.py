"""A worker that takes 8 calls at once, under 4 driver processes and 500 steps; then a driver killed with all places.

How many were asked at once is counted from the simulator's own log. The ideal is 8 calls of their real lengths all the
time. The killed driver's places are free when another driver's step that waited for one is called.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from asgiref.sync import sync_to_async

from tests.benchmarks.plot import spread
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import ROOT, Studio

DRIVERS, RUNS, STEPS, LIMIT = 4, 100, 5, 8
CALL_MS = 400  # a short reply of a fast model
TARGET_OF_IDEAL, TARGET_FREE_S = 0.95, 15
WITHIN_S = 180.0
MODEL = f"sim-cedar:ttft={CALL_MS},rate=0,tokens=20"


async def measure(studio: Studio, setting: Setting) -> list[str]:
    return await sync_to_async(_measure)(studio, setting)


def _measure(studio: Studio, setting: Setting) -> list[str]:
    with more_drivers(studio, DRIVERS - 1):
        rows, took_s = _crowd(studio, setting)
        freed_s = _kill(setting)
    ideal_s = sum(row["finished"] - row["started"] for row in rows) / LIMIT
    return [
        f"Limits: {RUNS} runs of {STEPS} parallel steps of {CALL_MS} ms at a worker that takes {LIMIT} at once, "
        f"{DRIVERS} drivers",
        f"  most at once by the simulator's log: {most_at_once(rows)} (at most {LIMIT}); asked {len(rows)} times",
        f"  throughput against the ideal: {ideal_s / took_s:.3f} (at least {TARGET_OF_IDEAL}); "
        f"a call {spread([(row['finished'] - row['started']) * 1000 for row in rows], 'ms')}",
        f"  a driver killed with {LIMIT} places: the next step elsewhere is called after {freed_s:.1f} s "
        f"(at most {TARGET_FREE_S})",
    ]


@contextmanager
def more_drivers(studio: Studio, number: int) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Drivers beside the studio's own, started as it started that one."""
    (first,) = studio.processes()["driver"]
    command, environment = first.cmdline(), first.environ()
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen(command, cwd=ROOT, env=environment, **quiet) for _ in range(number)]
    try:
        _wait(lambda: _drivers() >= number + 1)
        yield started
    finally:
        for each in started:
            each.send_signal(signal.SIGTERM)
        for each in started:
            try:
                each.wait(10)
            except subprocess.TimeoutExpired:
                each.kill()


def most_at_once(rows: Sequence[dict[str, Any]]) -> int:
    """How many calls were under way at the same moment, at most."""
    moments = [(row["started"], 1) for row in rows] + [(row["finished"], -1) for row in rows]
    most = now = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def _crowd(studio: Studio, setting: Setting) -> tuple[list[dict[str, Any]], float]:
    from apps.runs.models import Run

    setting.add("bench-limited", MODEL, concurrency=LIMIT)
    steps = [(f"s{at}", "bench-limited", ()) for at in range(STEPS)]
    runs = [setting.submit(setting.workflow(steps), f"Describe warehouse {at}.") for at in range(RUNS)]
    codes = [run.code for run in runs]
    _wait(lambda: Run.objects.filter(code__in=codes).ended().count() == RUNS)
    rows = _asked(studio)
    assert Run.objects.filter(code__in=codes, status=Run.Status.SUCCEEDED).count() == RUNS
    return rows, max(row["finished"] for row in rows) - min(row["started"] for row in rows)


def _kill(setting: Setting) -> float:
    """Seconds from the death of a driver that holds every place to the next call of a run that another driver holds."""
    from apps.runs.models import Attempt, Run

    setting.add("bench-slow", "sim-cedar:ttft=60000,rate=0,tokens=20", concurrency=LIMIT)
    slow = setting.submit(setting.workflow([(f"s{at}", "bench-slow", ()) for at in range(LIMIT)]), "Hold all.")
    _wait(lambda: Attempt.objects.filter(run=slow, status=Attempt.Status.RUNNING).count() == LIMIT)
    holder = Run.objects.get(pk=slow.pk).driver
    others = [setting.submit(setting.workflow([("s1", "bench-slow", ())]), f"Wait {at}.") for at in range(2 * DRIVERS)]
    codes = [run.code for run in others]
    _wait(lambda: Run.objects.filter(code__in=codes).live().exclude(driver=holder).exists())
    pid = int(holder.rsplit("-", 2)[1])
    os.kill(pid, signal.SIGKILL)
    killed_at = time.monotonic()
    _wait(lambda: Attempt.objects.filter(run__code__in=codes).exists())
    freed_s = time.monotonic() - killed_at
    for run in [slow, *others]:
        setting.stop(run)
    return freed_s


def _drivers() -> int:
    from datetime import timedelta

    from django.utils import timezone

    from apps.runs.models import Driver

    return Driver.objects.filter(seen_at__gt=timezone.now() - timedelta(seconds=2)).count()


def _asked(studio: Studio) -> list[dict[str, Any]]:
    """The finished calls that the simulator tells of."""
    logs = [studio.data / "logs" / name for name in ("simulator.jsonl.1", "simulator.jsonl")]
    lines = [line for log in logs if log.exists() for line in log.read_text().splitlines()]
    rows = [row for row in map(json.loads, lines) if row["finished"] is not None]
    return [row for row in rows if row["model"] == MODEL]


def _wait(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not holds():
        if time.monotonic() > until:
            raise SystemExit("what the benchmark waits for did not happen")
        time.sleep(0.05)
