"""Real driver processes: `celery -A studio worker -P threads`, as `up` starts them."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest
from django.db import connection

from apps.runs.models import Driver
from tests.pools import admin, knobs, mini, pool, ultra
from tests.services import running

__all__ = ["admin", "knobs", "mini", "pool", "ultra"]

COMMAND = [
    sys.executable,
    *("-m", "celery", "-A", "studio", "worker", "-P", "threads", "-c", "8", "-Q", "runs", "--loglevel", "WARNING"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
]

StartDriver = Callable[[], "subprocess.Popen[bytes]"]


def start(name: str) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    seen = Driver.objects.count()
    return running(name, [*COMMAND, "-n", f"{name}@%h"], ready=lambda: Driver.objects.count() > seen, within_s=40)


@pytest.fixture
def start_driver(pool: str) -> Iterator[StartDriver]:
    """Start a driver process; it is ended after the test."""
    with ExitStack() as drivers:
        count = 0

        def one_more() -> "subprocess.Popen[bytes]":
            nonlocal count
            count += 1
            return drivers.enter_context(start(f"driver{count}"))

        yield one_more
    connection.close()


def wait_until(holds: Callable[[], bool], *, within_s: float, what: str) -> float:
    """Wait for something that other processes do; the seconds it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < within_s, f"after {within_s} s still not: {what}"
        time.sleep(0.02)
    return time.monotonic() - began
