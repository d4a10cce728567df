"""The simulator as a process of its own, on a free port."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Process:
    popen: subprocess.Popen[str]
    url: str
    log: Path

    def stop(self, number: signal.Signals = signal.SIGTERM, *, within_s: float = 1) -> int:
        """Order it to stop; the exit status, if it obeys in time."""
        self.popen.send_signal(number)
        return self.popen.wait(within_s)


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[Process]:
    log = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "apps.simulator", "--port", "0", "--log", str(log)]
    with subprocess.Popen(command, cwd=ROOT, env=_bare(), stdout=subprocess.PIPE, text=True) as popen:
        assert popen.stdout is not None
        yield Process(popen, popen.stdout.readline().split()[-1].removesuffix("/v1"), log)
        popen.kill()


def _bare() -> dict[str, str]:
    """An environment without the studio's settings: the simulator needs none."""
    return {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}


@pytest.fixture
async def client(simulator: Process) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(simulator.url, timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session
