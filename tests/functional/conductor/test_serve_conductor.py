"""The life of `manage.py serve_conductor`, with a program in vLLM's place that loads at once."""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studio import vllm
from studio.embedded import ports, processes
from tests.functional.up.studio import Studio, manage
from tests.services import ROOT

STAND_IN = Path(__file__).with_name("stand_in.py")
COMMAND = [sys.executable, str(ROOT / "manage.py"), "serve_conductor", "--vllm", str(STAND_IN)]


@pytest.fixture
def port() -> int:
    return ports.choose(None)


@contextmanager
def serving(data: Path, port: int, *options: str, **extra: str) -> Iterator[Studio]:
    """The command at work. It is started and read as `up` is."""
    command = Studio(data, "--port", str(port), *options, command=COMMAND, **extra)
    try:
        yield command
    finally:
        command.close()


def seen(data: Path) -> dict[str, Any]:
    """What the stand-in was told, and the numbers of its processes."""
    found: dict[str, Any] = json.loads((data / "conductor" / "seen.json").read_text())
    return found


def runs(pid: int) -> bool:
    return processes.birth(pid) is not None


def wait_until(holds: Callable[[], bool], within_s: float = 10) -> None:
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def refused(tmp_path: Path, *options: str, **extra: str) -> str:
    done = manage(tmp_path, "serve_conductor", "--vllm", str(STAND_IN), *options, **extra)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr.removeprefix("CommandError: ").strip()


def test_it_loads_says_what_to_enter_and_ends_on_ctrl_c_with_all_it_started(tmp_path: Path, port: int) -> None:
    with serving(tmp_path, port, "--name", "mine", CONDUCTOR_API_KEY="sk-of-the-test") as command:
        command.wait_for("^Loading Qwen/Qwen2.5-7B-Instruct")
        command.wait_for(r"^The conductor is ready after \d+ s\.$")
        assert command.wait_for(r"^  Base url +(\S+)")[1] == f"http://127.0.0.1:{port}/v1"
        assert command.wait_for(r"^  Model +(\S+)")[1] == "mine"
        command.wait_for("Ctrl-C stops it")
        told = seen(tmp_path)

        assert command.interrupt() < 5

        command.wait_for("^Stopped")
        assert command.process.returncode == 0
        assert "sk-of-the-test" not in " ".join([*command.said, *told["options"]])
    assert told["key"] == "sk-of-the-test"
    assert not runs(told["pid"])
    assert not runs(told["engine"])
    assert ports.is_free(port)


def test_a_server_that_is_killed_starts_again_and_leaves_no_engine_behind(tmp_path: Path, port: int) -> None:
    with serving(tmp_path, port) as command:
        command.wait_for("Ctrl-C stops it")
        first = seen(tmp_path)
        os.kill(first["pid"], signal.SIGKILL)

        command.wait_for(rf"^conductor-{port} ended \(killed by SIGKILL\); starting it again")
        command.wait_for(rf"^conductor-{port} is back")

        assert seen(tmp_path)["pid"] != first["pid"]
        assert not runs(first["engine"])
        assert runs(seen(tmp_path)["engine"])


def test_the_server_does_not_outlive_the_command_however_that_ends(tmp_path: Path, port: int) -> None:
    with serving(tmp_path, port) as command:
        command.wait_for("Ctrl-C stops it")
        told = seen(tmp_path)

        os.kill(command.process.pid, signal.SIGKILL)

        wait_until(lambda: not runs(told["pid"]) and not runs(told["engine"]))


def test_ctrl_c_while_it_loads_ends_it_at_once(tmp_path: Path, port: int) -> None:
    with serving(tmp_path, port, "--model", "endless") as command:
        command.wait_for("^Loading endless")

        assert command.interrupt() < 5

        command.wait_for("^Stopped")
        assert command.process.returncode == 0


def test_a_server_that_cannot_start_says_why(tmp_path: Path, port: int) -> None:
    told = refused(tmp_path, "--port", str(port), "--model", "broken")

    assert told.startswith("vLLM did not start (exit code 1): ValueError: No room for the cache. (all of it in ")


def test_a_server_that_never_answers_is_given_up(tmp_path: Path, port: int) -> None:
    told = refused(tmp_path, "--port", str(port), "--model", "endless", "--load-within", "1")

    assert told.startswith("vLLM did not answer within 1 s; see ")


def test_a_port_that_is_taken_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        told = refused(tmp_path, "--port", str(number))

    assert told.startswith(f"Port {number} is taken on 127.0.0.1.")
    assert "--port" in told


def test_an_adapter_that_is_not_there_is_named(tmp_path: Path) -> None:
    told = refused(tmp_path, "--adapter", f"mine={tmp_path}/nowhere")

    assert told.startswith("The adapter “mine” cannot be read: ")


def test_an_open_address_wants_a_key(tmp_path: Path) -> None:
    assert "CONDUCTOR_API_KEY" in refused(tmp_path, "--host", "0.0.0.0")


def test_without_vllm_it_names_the_command_that_installs_it(tmp_path: Path) -> None:
    done = manage(tmp_path, "serve_conductor", "--vllm", str(tmp_path / "nowhere"))

    assert done.returncode == 1
    assert f"`{vllm.INSTALL}`" in done.stderr


def test_variables_choose_what_is_served(tmp_path: Path, port: int) -> None:
    chosen = {"CONDUCTOR_MODEL": "other/model", "CONDUCTOR_PORT": str(port), "CONDUCTOR_MAX_LENGTH": "4096"}
    command = Studio(tmp_path, command=[*COMMAND], **chosen)
    try:
        command.wait_for("Ctrl-C stops it")

        options = seen(tmp_path)["options"]
    finally:
        command.close()

    assert options[options.index("--served-model-name") + 1] == "other/model"
    assert options[options.index("--max-model-len") + 1] == "4096"
