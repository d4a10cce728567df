"""Commands of manage.py while no studio runs: the database is there for as long as one needs it."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.embedded import ports
from studio.embedded.postgres import APP, Postgres
from tests.functional.up.studio import data_directory, environment, manage, refused, studio
from tests.services import ROOT

SAID = "The studio is not running: starting its database for this command."


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A directory where a studio ran once."""
    with data_directory() as place:
        with studio(place):
            pass
        yield place


def port(data: Path) -> int:
    return int(json.loads((data / "services.json").read_text())["ports"]["postgres"])


def begin(data: Path, seconds: float) -> subprocess.Popen[str]:
    """A command that uses the database for a while, begun."""
    code = (
        "import time; from django.db import connection; cursor = connection.cursor();"
        f"cursor.execute('SELECT 1'); print('in use', flush=True); time.sleep({seconds}); cursor.execute('SELECT 2');"
        "print('done', flush=True)"
    )
    command = [sys.executable, str(ROOT / "manage.py"), "shell", "--no-imports", "-c", code]
    process = subprocess.Popen(
        command, env=environment(data), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline().strip() == "in use"
    return process


def test_a_command_starts_the_database_and_stops_it(data: Path) -> None:
    done = manage(data, "sign_in_link")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("http://127.0.0.1:")
    assert SAID in done.stderr
    assert not ports.answers(port(data))
    assert not (data / "run" / "postgres").exists()


def test_the_last_of_two_commands_turns_off_the_light(data: Path) -> None:
    with begin(data, 0.5) as first, begin(data, 3) as second:
        said_by_first = first.communicate(timeout=30)[1]
        said_by_second = second.communicate(timeout=30)[1]

    assert (first.returncode, second.returncode) == (0, 0), said_by_first + said_by_second
    assert SAID in said_by_first
    assert "Another command uses this database" in said_by_first
    assert SAID not in said_by_second
    assert not ports.answers(port(data))


def test_a_command_that_is_killed_takes_its_database_along(data: Path) -> None:
    with begin(data, 60) as command:
        command.kill()
        command.communicate()
    for _ in range(100):
        if not ports.answers(port(data)):
            break
        time.sleep(0.05)

    assert manage(data, "sign_in_link").returncode == 0


def test_a_studio_waits_for_a_short_command(data: Path) -> None:
    with begin(data, 1.5) as command, studio(data) as running:
        assert command.communicate()[0].strip() == "done"
        assert running.get("/healthz") == 200


def test_a_studio_does_not_wait_for_ever(data: Path) -> None:
    with begin(data, 60) as command:
        told = refused(data, "--port", str(ports.choose(None)))
        command.terminate()
        command.communicate()

    assert f"A command of manage.py uses the database in {data}" in told


def test_a_command_that_needs_no_database_starts_none(data: Path) -> None:
    done = manage(data, "check")

    assert done.returncode == 0
    assert SAID not in done.stderr


def test_a_database_in_the_environment_replaces_it(data: Path, postgres: Postgres) -> None:
    done = manage(data, "showmigrations", "audit", DATABASE_URL=postgres.url(APP))

    assert done.returncode == 0, done.stderr
    assert SAID not in done.stderr


@pytest.mark.parametrize("command", ["sign_in_link", "migrate", "showmigrations"])
def test_a_command_where_no_studio_ever_ran_says_so_at_once(tmp_path: Path, command: str) -> None:
    began = time.monotonic()
    done = manage(tmp_path / "nowhere", command)

    assert time.monotonic() - began < 5
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"No studio has run in {tmp_path / 'nowhere'}. Start one with `make run`, or set STUDIO_DATA."
    ]
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "command", [["check"], ["makemigrations", "--check"], ["sign_in_link", "-h"], ["help"], ["shell", "-c", "print(1)"]]
)
def test_a_command_that_can_do_without_a_database_does_so_at_once(tmp_path: Path, command: list[str]) -> None:
    began = time.monotonic()
    done = manage(tmp_path, *command)

    assert time.monotonic() - began < 15
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
