"""A studio at work: children are killed, a second one knocks, commands come and go."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from redis import Redis

from tests.functional.up.studio import Studio, data_directory, keep, kept, manage, refused, studio


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    with data_directory() as place:
        yield place


@pytest.fixture(scope="module")
def running(data: Path) -> Iterator[Studio]:
    with studio(data) as one:
        keep(one, "kept")
        yield one


@pytest.mark.parametrize("name", ["driver1", "web", "simulator", "redis", "postgres", "beat"])
def test_a_child_that_dies_comes_back_and_the_others_stay(running: Studio, name: str) -> None:
    before, services = running.children(), running.services

    os.kill(before[name], signal.SIGKILL)

    running.wait_for(rf"^{name} ended \(killed by SIGKILL\); starting it again .*/logs/{name}\.log$")
    running.wait_for(rf"^{name} is back\.$")
    after = running.children()
    assert {other for other in after if after[other] != before[other]} == {name}
    assert running.services == services
    assert kept(running) == ["kept"]
    assert eventually(lambda: running.get("/sign-in/") == 200)
    with Redis.from_url(services["redis_url"]) as client:
        assert client.ping()


def eventually(check: Callable[[], bool], *, within_s: float = 10) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            if check():
                return True
        except (OSError, psycopg.OperationalError):
            pass
        time.sleep(0.1)
    return False


def test_a_second_studio_on_the_same_directory_is_told_of_the_first(data: Path, running: Studio) -> None:
    told = refused(data, "--port", "8799")

    assert f"already runs on {data} (process {running.process.pid}, http://127.0.0.1:{running.port})" in told
    assert "--data" in told


def test_a_busy_port_is_said(running: Studio) -> None:
    with data_directory() as other:
        assert f"Port {running.port} is taken" in refused(other, "--port", str(running.port))


def test_commands_find_the_studio_that_runs(data: Path, running: Studio) -> None:
    done = manage(data, "sign_in_link")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"http://127.0.0.1:{running.port}/")
    assert "starting its database" not in done.stderr


def test_migrations_by_hand_are_the_owners(data: Path, running: Studio) -> None:
    done = manage(data, "migrate")

    assert done.returncode == 0, done.stderr
    assert "No migrations to apply" in done.stdout
