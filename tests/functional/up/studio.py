"""A whole studio as a process of its own, and what a person sees of it."""

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from studio.embedded import ports, processes
from tests.services import ROOT

_OURS = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "SIMULATOR_URL", "SECRET_KEY", "VAULT_KEY", "SIGNING_KEY")


def environment(data: Path, **extra: str) -> dict[str, str]:
    """A person's environment: nothing of the servers that the tests themselves use."""
    inherited = {name: value for name, value in os.environ.items() if name not in (*_OURS, "STUDIO_PLAIN_STATIC")}
    return {**inherited, "STUDIO_DATA": str(data), **extra}


@contextmanager
def data_directory() -> Iterator[Path]:
    """A directory that PostgreSQL's account reaches too: pytest's own are closed to everybody else."""
    place = Path(tempfile.mkdtemp(prefix="studio-up-"))
    place.chmod(0o711)
    try:
        yield place / "data"
    finally:
        shutil.rmtree(place)


def manage(data: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run one command of manage.py to its end."""
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(
        command, env=environment(data, **extra), capture_output=True, text=True, check=False, timeout=120
    )


class Studio:
    """`manage.py up` on the directory `data`."""

    def __init__(self, data: Path, *options: str, command: list[str] | None = None, **extra: str) -> None:
        self.data, self.port = data, ports.choose(None)
        up = command or [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*up, *options],
            env=environment(data, **extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def wait_for(self, pattern: str, *, within_s: float = 60) -> "re.Match[str]":
        """The first line from now on that matches."""
        until = time.monotonic() + within_s
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, until - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, f"{pattern!r} was not said, but:\n" + "\n".join(self.said) + self.logs()
            self.said.append(line)
            if found := re.search(pattern, line):
                return found

    def logs(self) -> str:
        paths = sorted((self.data / "logs").glob("*.log"))
        return "".join(f"\n--- {path.name}\n{path.read_text(errors='replace')[-1500:]}" for path in paths)

    def ready(self) -> "Studio":
        self.wait_for(rf"^Ready at http://127\.0\.0\.1:{self.port}$")
        self.wait_for(r"^Ctrl-C")
        return self

    @property
    def services(self) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads((self.data / "services.json").read_text())
        return kept

    def children(self) -> dict[str, int]:
        """The children's numbers by name."""
        return {path.name: json.loads(path.read_text())["pid"] for path in (self.data / "run").glob("[!.]*")}

    def get(self, path: str) -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return int(answer.status)

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> float:
        """Ask it to stop as a terminal does; how many seconds that took."""
        began = time.monotonic()
        os.killpg(self.process.pid, number)
        self.process.wait(20)
        return time.monotonic() - began

    def close(self) -> None:
        if self.process.poll() is None:
            self.interrupt(signal.SIGTERM)
        self._reader.join()
        assert self.process.stdout
        self.process.stdout.close()


@contextmanager
def studio(data: Path, *options: str, command: list[str] | None = None, **extra: str) -> Iterator[Studio]:
    """A studio that is ready, for as long as the block lasts."""
    running = Studio(data, *options, command=command, **extra)
    try:
        yield running.ready()
    finally:
        running.close()


def refused(data: Path, *options: str, **extra: str) -> str:
    """What `up` says when it does not start."""
    done = manage(data, "up", *options, **extra)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip()


def gone(numbers: dict[str, int], *, within_s: float = 5) -> bool:
    """Whether all these processes end within some seconds."""
    until = time.monotonic() + within_s
    while any(processes.birth(pid) for pid in numbers.values()):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def keep(running: Studio, word: str) -> None:
    with psycopg.connect(running.services["database_owner_url"], autocommit=True) as owner:
        owner.execute("CREATE TABLE IF NOT EXISTS kept (word text)")
        owner.execute("INSERT INTO kept VALUES (%s)", [word])


def kept(running: Studio) -> list[str]:
    with psycopg.connect(running.services["database_owner_url"]) as owner:
        return [word for (word,) in owner.execute("SELECT word FROM kept ORDER BY word").fetchall()]
