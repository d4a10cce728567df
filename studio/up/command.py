"""The order of a start and of a stop."""

import argparse
import fcntl
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from studio.embedded import ports, processes
from studio.embedded.borrow import locked, starting
from studio.embedded.trouble import Trouble, explain
from studio.env import BASE_DIR, data_dir
from studio.up import children, directory, services
from studio.up.signals import Signals, Stopped
from studio.up.supervisor import Supervisor

DRIVER_THREADS = 64
COMMAND_MAY_TAKE_S = 10


def read_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="manage.py up", description="Run the whole studio until Ctrl-C.")
    add_arguments(parser)
    return parser.parse_args(argv)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_port, default=8000, help="where the pages are served (8000)")
    parser.add_argument("--data", type=Path, default=None, help="the data directory (data/ beside manage.py)")
    parser.add_argument("--no-simulator", action="store_true", help="do without the simulated models")
    parser.add_argument("--drivers", type=_count, default=1, metavar="N", help="processes that carry out runs (1)")


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return port


def _count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= 64:
        raise argparse.ArgumentTypeError("from 1 to 64 drivers")
    return count


def say(line: str) -> None:
    """One line for the person at the terminal; that nobody reads any more must not stop the studio."""
    try:
        print(line, flush=True)
    except OSError:
        pass


def main(argv: Sequence[str]) -> int:
    """Run the studio until it is asked to stop. The exit code."""
    arguments = read_arguments(argv)
    data = (arguments.data or data_dir()).resolve()
    try:
        with Signals().caught() as signals:
            try:
                _run(arguments, data, signals)
            except Stopped:
                say("Stopped.")
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    except OSError as error:
        print(explain(error), file=sys.stderr)
        return 1
    return 0


def _run(arguments: argparse.Namespace, data: Path, signals: Signals) -> None:
    directory.make(data)
    with directory.owned(data, url=f"http://{ports.LOOPBACK}:{arguments.port}"):
        directory.bound_logs(data)
        say(f"Starting the studio in {data} …")
        supervisor = Supervisor(data, signals=signals, say=say)
        try:
            with _no_command_between(data, signals):
                chosen = services.choose(data, web_port=arguments.port, simulator=not arguments.no_simulator)
                if chosen.postgres:
                    chosen.postgres.settle()
                chosen.write()
                _start_servers(supervisor, chosen)
            _greet(chosen, _start_studio(supervisor, chosen, drivers=arguments.drivers))
            supervisor.watch()
            say("\nStopping …")
        finally:
            supervisor.stop()
            for sign in (data / "run").glob(".*"):
                sign.unlink()
        say(f"Stopped. The data stays in {data}")


@contextmanager
def _no_command_between(data: Path, signals: Signals) -> Iterator[None]:
    """End orphans, then keep commands from starting the database while we do; wait a little for one that runs it."""
    busy = f"A command of manage.py uses the database in {data}. Let it end, then start the studio again."
    until = time.monotonic() + COMMAND_MAY_TAKE_S
    while True:
        with locked(starting(data), fcntl.LOCK_EX, within_s=COMMAND_MAY_TAKE_S, otherwise=busy):
            if ended := processes.end_orphans(data / "run"):
                say(f"Ended what an earlier start had left running: {', '.join(ended)}.")
            if not (data / "run" / "postgres").exists():
                yield
                return
        if time.monotonic() > until:
            raise Trouble(busy)
        signals.check()
        signals.wait(0.1)


def _start_studio(supervisor: Supervisor, chosen: services.Services, *, drivers: int) -> str:
    """Start what stands on the servers, and return the sign-in link."""
    environment, link = children.environment(chosen.data), chosen.data / "run" / ".link"
    collect = [sys.executable, str(BASE_DIR / "manage.py"), "collectstatic", "--no-input"]
    prepare = [sys.executable, "-m", "studio.up.prepare", str(link)]
    mark, collected = children.static_mark(), chosen.data / "static-collected"
    stale = not collected.exists() or collected.read_text() != mark
    if stale:
        supervisor.begin("static", collect, env=environment, cwd=BASE_DIR)
    supervisor.begin("prepare", prepare, env=environment, cwd=BASE_DIR)
    supervisor.finish("prepare")
    if stale:
        supervisor.finish("static")
        collected.write_text(mark)
    shown = link.read_text().strip()
    link.unlink()

    supervisor.start(children.web_child(chosen))
    supervisor.start(children.beat_child(chosen))
    for number in range(1, drivers + 1):
        supervisor.start(children.driver_child(chosen, number, _driver_threads()))
    supervisor.wait_ready(list(supervisor.running))
    return shown


def _start_servers(supervisor: Supervisor, chosen: services.Services) -> None:
    if chosen.redis:
        supervisor.start(children.redis_child(chosen.redis))
    if chosen.simulator_port:
        supervisor.start(children.simulator_child(chosen, chosen.simulator_port))
    if chosen.postgres:
        if not (chosen.postgres.cluster / "PG_VERSION").exists():
            say("The first start makes the database …")
        supervisor.start(children.postgres_child(chosen.postgres))
        supervisor.wait_ready(["postgres"])
        chosen.postgres.ensure_roles()
    if chosen.redis:
        supervisor.wait_ready(["redis"])


def _driver_threads() -> int:
    try:
        return int(os.environ.get("STUDIO_DRIVER_THREADS", DRIVER_THREADS))
    except ValueError as error:
        raise Trouble("STUDIO_DRIVER_THREADS must be a whole number; see docs/settings.md.") from error


def _greet(chosen: services.Services, link: str) -> None:
    say(f"Ready at {chosen.url}")
    say(f"Sign in: {link}")
    say("(The link works once, for ten minutes; `python manage.py sign_in_link` makes another.)")
    say("Ctrl-C stops everything.")
