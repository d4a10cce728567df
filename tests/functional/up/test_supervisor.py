"""The supervisor alone, with children that misbehave."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from studio.embedded.trouble import Trouble
from studio.up import directory
from studio.up.signals import Signals, Stopped
from studio.up.supervisor import Child, Supervisor

# Each child makes a file once it listens to signals, so that a test can wait for that.
POLITE = """
import signal, sys, time
def end(*_):
    with open(sys.argv[2], "a") as file:
        file.write(sys.argv[1] + " ")
    sys.exit()
signal.signal(signal.SIGTERM, end)
open(sys.argv[1], "w").close()
time.sleep(60)
"""
DEAF = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(sys.argv[1], "w").close()
time.sleep(60)
"""
BROKEN = "import sys; print('the port is taken', file=sys.stderr); sys.exit(3)"
SHORT_LIVED = "import sys; open(sys.argv[1], 'a').write('once ')"


@pytest.fixture
def said() -> list[str]:
    """What a person at the terminal would have read."""
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    monkeypatch.chdir(tmp_path)
    directory.make(tmp_path)
    with Signals().caught() as signals:
        one = Supervisor(tmp_path, signals=signals, say=said.append)
        yield one
        one.stop()


def child(name: str, code: str, *arguments: str, stage: int = 0, grace_s: float = 2, ready: bool = True) -> Child:
    sign = Path(name)
    return Child(
        name=name,
        command=[sys.executable, "-c", code, name, *arguments],
        stage=stage,
        env=os.environ,
        ready=sign.exists if ready else lambda: False,
        grace_s=grace_s,
    )


def ask_to_stop(*after_s: float) -> None:
    """Ask as Ctrl-C does, some seconds from now."""
    for seconds in after_s:
        threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT]).start()


def seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def test_stages_stop_one_after_another(supervisor: Supervisor, tmp_path: Path) -> None:
    for stage, name in [(2, "postgres"), (0, "web"), (1, "driver")]:
        supervisor.start(child(name, POLITE, "order", stage=stage))
    supervisor.wait_ready(["postgres", "web", "driver"])

    supervisor.stop()

    assert (tmp_path / "order").read_text().split() == ["web", "driver", "postgres"]
    assert list((tmp_path / "run").iterdir()) == []


def test_a_deaf_child_is_ended_when_its_grace_is_over(supervisor: Supervisor) -> None:
    supervisor.start(child("deaf", DEAF, grace_s=0.5))
    supervisor.wait_ready(["deaf"])

    assert 0.5 <= seconds(supervisor.stop) < 1.5


def test_a_second_ctrl_c_hurries(supervisor: Supervisor) -> None:
    supervisor.start(child("deaf", DEAF, grace_s=20))
    supervisor.wait_ready(["deaf"])
    ask_to_stop(0.1, 0.6)
    supervisor.watch()

    assert seconds(supervisor.stop) < 2


def test_a_child_that_cannot_start_is_told_with_its_last_words(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(child("web", BROKEN))

    with pytest.raises(Trouble, match=r"^web did not start: exit code 3\. It said: the port is taken") as told:
        supervisor.wait_ready(["web"])

    assert str(tmp_path / "logs" / "web.log") in str(told.value)


def test_a_child_that_never_answers_is_named(supervisor: Supervisor) -> None:
    supervisor.start(child("polite", POLITE, "order"))
    supervisor.start(child("mute", POLITE, "order", ready=False))

    with pytest.raises(Trouble, match=r"^mute did not answer within"):
        supervisor.wait_ready(["polite", "mute"], within_s=2)


def test_a_start_can_be_stopped(supervisor: Supervisor) -> None:
    supervisor.start(child("mute", POLITE, "order", ready=False))
    ask_to_stop(0.1)

    with pytest.raises(Stopped):
        supervisor.wait_ready(["mute"])


def test_a_child_that_dies_again_and_again_is_started_more_and_more_slowly(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    supervisor.start(child("brief", SHORT_LIVED))
    ask_to_stop(4)

    supervisor.watch()

    assert 2 <= len((tmp_path / "brief").read_text().split()) <= 5
    assert said[0] == f"brief ended (exit code 0); starting it again now. Its log: {tmp_path / 'logs' / 'brief.log'}"
    assert any("starting it again in " in line for line in said)


def test_a_child_that_cannot_be_started_again_is_tried_later(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    supervisor.start(child("brief", SHORT_LIVED))
    supervisor.until(Path("brief").exists, within_s=5)
    for path in (tmp_path / "run").iterdir():
        path.unlink()
    (tmp_path / "run").rmdir()
    (tmp_path / "run").write_text("no directory")
    ask_to_stop(2)

    supervisor.watch()

    assert any(line.startswith("brief cannot start; trying again") for line in said)
    (tmp_path / "run").unlink()
    (tmp_path / "run").mkdir()


def test_a_command_that_fails_is_told(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.begin("prepare", [sys.executable, "-c", BROKEN], env=os.environ, cwd=tmp_path)

    with pytest.raises(Trouble, match=r"prepare failed \(exit code 3\). It said: the port is taken"):
        supervisor.finish("prepare")
