"""The simulated models as a real process, and what they were asked."""

import json
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.services import SIMULATOR_LOG, SIMULATOR_PORT, running


@dataclass(frozen=True)
class Simulator:
    """A running simulator; `base_url` is what an endpoint takes."""

    root: str

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        """The calls it got, in order: one row each (see the simulator's `log.py`)."""
        with urllib.request.urlopen(f"{self.root}/log?after={after}", timeout=5) as answer:
            rows: list[dict[str, Any]] = json.load(answer)
        return rows

    def forget(self) -> None:
        """Empty the log, so that a test sees its own calls alone."""
        request = urllib.request.Request(f"{self.root}/log", method="DELETE")
        urllib.request.urlopen(request, timeout=5).close()

    def answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.root}/healthz", timeout=2).close()
        except OSError:
            return False
        return True


@contextmanager
def running_simulator() -> Iterator[Simulator]:
    simulator = Simulator(f"http://127.0.0.1:{SIMULATOR_PORT}")
    options = ["--host", "127.0.0.1", "--port", str(SIMULATOR_PORT), "--log", str(SIMULATOR_LOG)]
    with running("simulator", [sys.executable, "-m", "apps.simulator", *options], ready=simulator.answers):
        yield simulator
