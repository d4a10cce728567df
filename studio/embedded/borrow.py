"""The embedded PostgreSQL for one command: the one that runs, else one of our own for as long as the command lasts."""

import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from studio.embedded import ports, processes
from studio.embedded.postgres import ENVIRONMENT, Postgres
from studio.embedded.trouble import Trouble
from studio.secrets import ensure_secrets

START_WITHIN_S = 30


@contextmanager
def locked(path: Path, kind: int, *, within_s: float | None = None, otherwise: str = "") -> Iterator[None]:
    """Hold a lock on the file `path`.

    :raises Trouble: with the words `otherwise`, if somebody else still holds it after `within_s` seconds.
    """
    with path.open("a") as file:
        until = None if within_s is None else time.monotonic() + within_s
        while until is not None:
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise Trouble(otherwise) from error
                time.sleep(0.05)
        else:
            fcntl.flock(file, kind)
        yield  # closing the file gives the lock back


def starting(data: Path) -> Path:
    """The lock of whoever starts or stops the database."""
    return data / "database-starting.lock"


def in_use(data: Path) -> Path:
    """The lock that commands share while they use a database one of them started."""
    return data / "database-in-use.lock"


@contextmanager
def database_for_command(data: Path) -> Iterator[None]:
    """Let a command find the embedded database of `data`, if there is one: started when nobody else runs it."""
    port = _embedded_port(data)
    if port is None or os.environ.get("DATABASE_URL"):
        yield
        return
    with ExitStack() as held:
        with locked(starting(data), fcntl.LOCK_EX):
            server = None if ports.answers(port) else _start(data, port)
            if server is None:
                held.enter_context(locked(in_use(data), fcntl.LOCK_SH))
        try:
            yield
        finally:
            if server is not None:
                _stop_when_unused(data, server)


def _embedded_port(data: Path) -> int | None:
    try:
        kept = json.loads((data / "services.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    port = kept.get("ports", {}).get("postgres")
    return int(port) if port else None


class _Server:
    """A PostgreSQL that ends with the command which started it."""

    def __init__(self, data: Path, postgres: Postgres) -> None:
        self.run, self.postgres = data / "run", postgres
        with (data / "logs" / "postgres.log").open("ab") as log:
            self.process = processes.spawn(
                postgres.command(),
                log=log,
                env=ENVIRONMENT,
                death=postgres.stop_signal,
                account=postgres.account,
                cwd="/",
            )
        processes.note(self.run, "postgres", self.process.pid, postgres.stop_signal)

    def wait(self, log: Path) -> None:
        until = time.monotonic() + START_WITHIN_S
        while not self.postgres.answers():
            if self.process.poll() is not None or time.monotonic() > until:
                raise Trouble(f"The database did not start; {log} says why.")
            time.sleep(0.02)
        self.postgres.ensure_roles()

    def stop(self) -> None:
        processes.end(self.process, first=self.postgres.stop_signal, grace_s=10)
        processes.forget(self.run, "postgres")


def _start(data: Path, port: int) -> _Server:
    processes.end_orphans(data / "run")
    postgres = Postgres(data=data, port=port, secrets=ensure_secrets(data))
    postgres.settle()
    postgres.prepare()
    print("The studio is not running: starting its database for this command.", file=sys.stderr)
    server = _Server(data, postgres)
    try:
        server.wait(data / "logs" / "postgres.log")
    except BaseException:
        server.stop()
        raise
    return server


def _stop_when_unused(data: Path, server: _Server) -> None:
    """Stop the server once no other command uses it; meanwhile no new one joins."""
    with locked(starting(data), fcntl.LOCK_EX), in_use(data).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another command uses this database; it stops when that one ends.", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        server.stop()
