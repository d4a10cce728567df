"""Who is an orphan and who is a stranger."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.embedded import processes


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


def write_note(folder: Path, name: str, **changed: object) -> None:
    folder.mkdir(exist_ok=True)
    kept = {"stop": int(signal.SIGTERM), "parent": 1, "parent_birth": "another boot", **changed}
    (folder / name).write_text(json.dumps(kept))


def test_a_process_that_outlived_its_starter_is_ended(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    write_note(tmp_path / "run", "web", pid=sleeper.pid, birth=processes.birth(sleeper.pid))

    assert processes.end_orphans(tmp_path / "run") == ["web"]

    assert sleeper.wait(5) == -signal.SIGTERM
    assert list((tmp_path / "run").iterdir()) == []


def test_a_stranger_with_the_same_number_is_left_alone(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    write_note(tmp_path / "run", "web", pid=sleeper.pid, birth="long ago")

    assert processes.end_orphans(tmp_path / "run") == []
    assert sleeper.poll() is None


def test_the_child_of_a_command_still_at_work_is_no_orphan(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    processes.note(tmp_path / "run", "postgres", sleeper.pid, signal.SIGINT)

    assert processes.end_orphans(tmp_path / "run") == []
    assert sleeper.poll() is None
    assert (tmp_path / "run" / "postgres").exists()


def test_a_note_cut_short_names_nobody(tmp_path: Path) -> None:
    (tmp_path / "web").write_text('{"pid": 1')

    assert processes.end_orphans(tmp_path) == []
    assert not (tmp_path / "web").exists()


def test_one_that_does_not_listen_is_ended_without_asking(tmp_path: Path) -> None:
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    deaf = f"{ignore}; print('deaf', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        write_note(tmp_path / "run", "driver1", pid=process.pid, birth=processes.birth(process.pid))

        processes.end_orphans(tmp_path / "run", grace_s=0.1)

        assert process.wait(5) == -signal.SIGKILL


def test_a_process_that_is_gone_was_never_born() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()

    assert processes.birth(process.pid) is None
    assert processes.birth(os.getpid()) is not None
    assert processes.birth(os.getpid()) == processes.birth(os.getpid())


def test_a_child_dies_with_the_one_that_started_it(tmp_path: Path) -> None:
    starter = (
        "import os, signal, sys\n"
        "from studio.embedded import processes\n"
        "with open(os.devnull, 'ab') as log:\n"
        "    child = processes.spawn([sys.executable, '-c', 'import time; time.sleep(60)'], log=log, env=os.environ)\n"
        "print(child.pid, processes.birth(child.pid), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    shown = subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, check=False).stdout

    pid, _, born = shown.strip().partition(" ")
    wait_until_gone(int(pid), born)


def wait_until_gone(pid: int, born: str) -> None:
    for _ in range(200):
        if processes.birth(pid) != born:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} is still there")
