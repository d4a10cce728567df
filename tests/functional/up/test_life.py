"""One start, one stop, and what lies between them: real processes, really killed."""

import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from studio.embedded import ports, processes
from studio.embedded.postgres import OWNER, SUPERUSER, Postgres
from tests.functional.up.studio import Studio, data_directory, gone, keep, kept, manage, studio
from tests.services import ROOT


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """One data directory for the module: each start after the first continues with what is there."""
    with data_directory() as place:
        yield place


def test_a_fresh_directory_becomes_a_studio_that_listens_on_loopback_alone_and_leaves_nothing(data: Path) -> None:
    with studio(data) as running:
        link = next(line for line in running.said if line.startswith("Sign in: "))
        children = running.children()

        assert link.startswith(f"Sign in: http://127.0.0.1:{running.port}/")
        assert running.get("/healthz") == 200
        assert set(children) == {"postgres", "redis", "simulator", "web", "beat", "driver1"}
        assert _listening(children) <= {"127.0.0.1"}
        assert stat.S_IMODE((data / "services.json").stat().st_mode) == 0o600
        assert not _passwords_on_command_lines(data, children)
        keep(running, "first")

        assert running.interrupt() < 5
        assert running.process.returncode == 0
        assert gone(children, within_s=0.1)
        assert os.listdir(data / "run") == []


def _listening(children: dict[str, int]) -> set[str]:
    connections = [c for pid in children.values() for c in psutil.Process(pid).net_connections("inet")]
    return {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}


def _passwords_on_command_lines(data: Path, children: dict[str, int]) -> set[str]:
    secrets = {path.read_text().strip() for path in (data / "secrets").iterdir()}
    lines = " ".join(" ".join(psutil.Process(pid).cmdline()) for pid in children.values())
    return {secret for secret in secrets if secret in lines}


def test_a_kill_loses_nothing_committed_and_the_next_start_is_at_the_same_addresses(data: Path) -> None:
    with studio(data) as running:
        assert kept(running) == ["first"]
        keep(running, "second")
        children, before = running.children(), running.services["ports"]
        running.process.kill()
        assert gone(children)

    with studio(data) as running:
        assert kept(running) == ["first", "second"]
        assert {**running.services["ports"], "web": 0} == {**before, "web": 0}


def test_what_a_kill_left_running_is_ended_by_the_next_start(data: Path) -> None:
    """Where the kernel does not end children with their parent, as on macOS."""
    with subprocess.Popen(["sleep", "600"]) as orphan:
        try:
            born = {"pid": orphan.pid, "birth": processes.birth(orphan.pid), "stop": int(signal.SIGTERM)}
            (data / "run" / "web").write_text(json.dumps({**born, "parent": 1, "parent_birth": "another boot"}))
            with studio(data) as running:
                assert "Ended what an earlier start had left running: web." in running.said
            assert orphan.wait(5) == -signal.SIGTERM
        finally:
            orphan.kill()


def test_a_stop_while_it_starts_leaves_nothing(data: Path) -> None:
    starting = Studio(data)
    starting.wait_for("^Starting")
    until = time.monotonic() + 20
    while "web" not in (children := starting.children()) and time.monotonic() < until:
        time.sleep(0.02)

    assert starting.interrupt(signal.SIGTERM) < 5
    starting.close()

    assert starting.process.returncode == 0
    assert gone(children, within_s=0.1)
    assert os.listdir(data / "run") == []


def test_drivers_are_as_many_as_asked_for_and_the_simulator_may_stay_away(data: Path) -> None:
    with studio(data, "--drivers", "2", "--no-simulator") as running:
        assert set(running.children()) == {"postgres", "redis", "web", "beat", "driver1", "driver2"}
        assert running.services["simulator_url"] is None


def test_servers_named_in_the_environment_replace_our_own(postgres: Postgres, redis_url: str) -> None:
    with psycopg.connect(postgres.url(SUPERUSER, "postgres"), autocommit=True) as server:
        server.execute("CREATE DATABASE elsewhere OWNER studio_owner")
    owner = postgres.url(OWNER, "elsewhere")
    try:
        with data_directory() as place, studio(place, DATABASE_URL=owner, REDIS_URL=redis_url) as running:
            assert set(running.children()) == {"simulator", "web", "beat", "driver1"}
            assert running.get("/healthz") == 200
            assert running.services["database_url"] == owner
            assert not (place / "postgres").exists()
            done = manage(place, "sign_in_link")
            assert done.returncode == 0, done.stderr
    finally:
        with psycopg.connect(postgres.url(SUPERUSER, "postgres"), autocommit=True) as server:
            server.execute("DROP DATABASE elsewhere WITH (FORCE)")


def test_make_run_passes_options_and_ctrl_c_on(data: Path) -> None:
    port = ports.choose(None)
    # `frontend` and the environment are as good as made: the tests run in them
    made = ["-o", "frontend", "-o", ".venv/.installed", f"ARGS=--port {port}"]
    running = Studio(data, command=["make", "--no-print-directory", "-C", str(ROOT), "run", *made])
    running.port = port
    try:
        running.ready()
        assert running.get("/healthz") == 200
        children = running.children()
        assert running.interrupt() < 5
        assert gone(children, within_s=0.1)
    finally:
        running.close()
