"""A studio of its own for the benchmarks: `manage.py up` in a temporary directory, asked from outside like any other.

Runs are submitted through the studio's services in this process, against the same database; what comes of them is
seen where a person would see it, on the run's socket.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import psutil
import websockets

ROOT = Path(__file__).resolve().parents[2]
START_S = 120
AFTERWARDS_S = 0.3


@dataclass
class Studio:
    """A running studio: where it is, a signed-in session, and its processes by what they do."""

    data: Path
    url: str
    cookie: str
    supervisor: psutil.Process

    @property
    def services(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.data / "services.json").read_text())
        return found

    def processes(self) -> dict[str, list[psutil.Process]]:
        """The supervisor's children by kind: web, driver, beat, redis, postgres, simulator."""
        kinds = {"studio.up.web": "web", "worker": "driver", "beat": "beat", "apps.simulator": "simulator"}
        found: dict[str, list[psutil.Process]] = {}
        for child in self.supervisor.children():
            words = " ".join(child.cmdline())
            kind = next((kind for word, kind in kinds.items() if word in words), None)
            if kind is None:
                kind = "redis" if "redis-server" in words else "postgres" if "postgres" in words else "other"
            found.setdefault(kind, []).append(child)
        return found

    def cpu_s(self) -> dict[str, float]:
        """CPU seconds used so far, by kind; PostgreSQL with all its backends."""
        return {
            kind: sum(_cpu_s(each) for one in some for each in [one, *one.children(recursive=True)])
            for kind, some in self.processes().items()
        }

    def memory_mb(self) -> dict[str, float]:
        """Resident memory by kind, in MB (10^6 bytes)."""
        return {
            kind: sum(each.memory_info().rss for one in some for each in [one, *one.children(recursive=True)]) / 1e6
            for kind, some in self.processes().items()
        }


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


@contextmanager
def running_studio(*, port: int = 8471) -> Iterator[Studio]:
    """A studio in a temporary directory, signed in; Django in this process is set up on its services."""
    home = Path(tempfile.mkdtemp(prefix="studio-bench-"))
    home.chmod(0o755)
    data = home / "data"
    log = (home / "up.log").open("w+")
    command = [sys.executable, "manage.py", "up", "--data", str(data), "--port", str(port)]
    up = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        link = _link(up, home / "up.log")
        os.environ["STUDIO_DATA"] = str(data)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")
        import django

        django.setup()
        yield Studio(data, f"http://127.0.0.1:{port}", _sign_in(link), psutil.Process(up.pid))
    finally:
        up.send_signal(signal.SIGINT)
        try:
            up.wait(20)
        except subprocess.TimeoutExpired:
            up.kill()
        log.close()
        shutil.rmtree(home, ignore_errors=True)


def _link(up: "subprocess.Popen[bytes]", log: Path) -> str:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if found := re.search(r"http://\S+/sign-in/\S+", log.read_text()):
            return found.group()
        if up.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"the studio did not start:\n{log.read_text()}")


def _sign_in(link: str) -> str:
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(link).close()
    token = next(cookie.value for cookie in jar if cookie.name == "studio_csrf")
    body = urlencode({"csrfmiddlewaretoken": token or ""}).encode()
    opener.open(urllib.request.Request(link, body, {"Referer": link})).close()
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


@dataclass
class Viewer:
    """Somebody who watches one run: what they saw and when.

    Like the page, it joins pieces by their offsets: what overlaps is cut; a gap is counted (a page would ask)."""

    studio: Studio
    code: str
    texts: dict[str, str] = field(default_factory=dict)
    first_delta_at: dict[str, float] = field(default_factory=dict)
    delta_at: list[tuple[str, int, int, float]] = field(default_factory=list)  # stream, from, to, when
    gaps: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    ended_at: float = 0.0
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def watch(self) -> "Viewer":
        """Follow the run until it has ended and nothing more comes: an event may overtake the last frame of text."""
        address = f"ws://{urlsplit(self.studio.url).netloc}/ws/runs/{self.code}/"
        headers = {"Cookie": self.studio.cookie, "Origin": self.studio.url}
        async with websockets.connect(address, additional_headers=headers, max_size=None) as socket:
            await socket.send(json.dumps({"t": "hello", "after": 0}))
            while True:
                try:
                    raw = await asyncio.wait_for(socket.recv(), AFTERWARDS_S if self.ended_at else None)
                except TimeoutError:
                    return self
                message = json.loads(raw)
                now = time.time()
                self.ready.set()
                if message["t"] == "deltas":
                    for stream, offset, text in message["deltas"]:
                        self._take(stream, offset, text, now)
                elif message["t"] == "text":
                    self._take(message["stream"], message["from"], message["text"], now)
                elif message["t"] == "events":
                    self.events += message["events"]
                    if any(event["verb"] in ("run.succeeded", "run.failed") for event in message["events"]):
                        self.ended_at = now

    def _take(self, stream: str, offset: int, text: str, now: float) -> None:
        have = self.texts.get(stream, "")
        if offset > len(have):
            self.gaps += 1
        new = text[len(have) - offset :] if offset <= len(have) else text
        if new:
            self.first_delta_at.setdefault(stream, now)
            self.delta_at.append((stream, len(have), len(have) + len(new), now))
        self.texts[stream] = have + new
