"""A studio as a stranger gets it: a fresh copy of the tree, `make run`, and nothing else touched.

What the walk may use is what a person has: the printed link, a browser, signals to the processes that `up` started,
and the simulator's own log of what it was asked.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
FIRST_START_S = 600  # everything is installed and built
NEXT_START_S = 60

# What each of the supervisor's children is known by.
WORDS = {
    "web": "studio.up.web",
    "driver": "worker",
    "beat": "beat",
    "simulator": "apps.simulator",
    "redis": "redis-server",
}


def fresh_copy() -> Path:
    """The files that git knows or would know, in an empty directory of their own."""
    home = Path(tempfile.mkdtemp(prefix="studio-walk-"))
    home.chmod(0o755)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, home / name)
    return home


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class FreshStudio:
    """`make run` in a fresh copy."""

    def __init__(self) -> None:
        self.home = fresh_copy()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.output = self.home / "output.txt"
        self.link = ""  # the sign-in link that the first start printed
        self.make: subprocess.Popen[bytes] | None = None

    # --- starting and stopping ---------------------------------------------------------------------------------------

    def start(self, *, within_s: float) -> str:
        """Start it and wait for the sign-in link it prints."""
        # Nothing of this test's own environment reaches it: it must find everything by itself.
        kept = ("PATH", "HOME", "LANG", "TMPDIR", "PYTHON", "CHROMIUM")
        env = {name: value for name, value in os.environ.items() if name in kept or name.lower().endswith("proxy")}
        env |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "NPM_", "npm_", "SSL_"))}
        with self.output.open("wb") as log:
            self.make = subprocess.Popen(
                ["make", "run", f"ARGS=--port {self.port}"],
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )
        found = self.wait_for(lambda: re.search(r"http://\S+/sign-in/\S+", self.said()), within_s=within_s, what="link")
        assert f"Ready at {self.url}" in self.said()
        return str(found.group())

    def said(self) -> str:
        return self.output.read_text()

    def wait_for(self, holds: Callable[[], Any], *, within_s: float, what: str) -> Any:
        until = time.monotonic() + within_s
        while not (found := holds()):
            assert self.make is None or self.make.poll() is None, f"`make run` ended:\n{self.said()}"
            assert time.monotonic() < until, f"after {within_s} s still no {what}:\n{self.said()}"
            time.sleep(0.05)
        return found

    @property
    def supervisor(self) -> psutil.Process:
        """The `up` that make started."""
        assert self.make is not None
        family = [psutil.Process(self.make.pid), *psutil.Process(self.make.pid).children(recursive=True)]
        return next(one for one in family if "manage.py" in " ".join(one.cmdline()) and "up" in one.cmdline())

    def process(self, kind: str) -> psutil.Process:
        """The supervisor's child of a kind: web, driver, beat, simulator, redis or postgres."""
        for child in self.supervisor.children():
            try:
                line = " ".join(child.cmdline())
            except psutil.Error:  # it has just died
                continue
            named = next((name for name, word in WORDS.items() if word in line), None)
            if (named or ("postgres" if "postgres" in line else None)) == kind:
                return child
        raise AssertionError(f"`up` has no child {kind}")

    def interrupt(self) -> tuple[float, list[psutil.Process]]:
        """Ctrl-C: to the whole foreground group, as a terminal does. How long it took, and what was left behind."""
        assert self.make is not None
        family = psutil.Process(self.make.pid).children(recursive=True)
        began = time.monotonic()
        os.killpg(self.make.pid, signal.SIGINT)
        self.make.wait(20)
        took = time.monotonic() - began
        _, alive = psutil.wait_procs(family, timeout=max(0.1, 5 - took))
        return took, alive

    def remove(self) -> None:
        if self.make is not None and self.make.poll() is None:
            self.interrupt()
        shutil.rmtree(self.home, ignore_errors=True)

    # --- the simulator's own log -------------------------------------------------------------------------------------

    def asked(self, after: int = 0) -> list[dict[str, Any]]:
        """What the simulator was asked and how each call ended, from its log file, after the first `after` rows."""
        log = self.home / "data" / "logs" / "simulator.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line) for line in lines[after:]]
