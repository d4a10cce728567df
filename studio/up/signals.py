"""Signals as something to wait for: a request to stop, and news of a child."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """Somebody asked to stop while the studio was starting."""


class Signals:
    """Counts requests to stop; `wait` ends early when one comes or a child ends."""

    def __init__(self) -> None:
        self.asked = 0
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1

    def wait(self, seconds: float) -> None:
        ready, _, _ = select.select([self._reader], [], [], seconds)
        if ready:
            os.read(self._reader, 512)

    def check(self) -> None:
        """:raises Stopped: a request to stop has come."""
        if self.asked:
            raise Stopped

    @contextmanager
    def caught(self) -> Iterator["Signals"]:
        before = {number: signal.signal(number, self._ask) for number in STOPPING}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        try:
            yield self
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._reader)
            os.close(self._writer)
