"""Start a child so that it cannot outlive us unnoticed, and tell an orphan from a stranger with the same number.

A process is known by its number *and* its kernel start time, never by its name: numbers are used again.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def birth(pid: int) -> str | None:
    """When the process `pid` began, as an opaque text; None if there is no such process (a zombie is none)."""
    if sys.platform != "linux":
        shown = subprocess.run(  # noqa: S603 - a system program and a number
            ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return shown.stdout.strip() or None
    ticks = _start_ticks(pid)
    return None if ticks is None else f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {ticks}"


def _start_ticks(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()  # the name before it may hold spaces and brackets
    return None if state in "ZX" else int(fields[18])


def began_at(pid: int) -> float | None:
    """When the process `pid` began, in seconds since 1970; None if there is none, or the kernel does not say."""
    if sys.platform != "linux" or (ticks := _start_ticks(pid)) is None:
        return None
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
    return int(line.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")


def dies_with_parent(death: signal.Signals) -> Callable[[], None] | None:
    """A `preexec_fn` that asks Linux to send `death` when we are gone, however that happens.

    Safe only while no other thread runs in the parent, and the asking thread must live as long as the child: so
    children are started by main threads alone.
    """
    if _libc is None:
        return None
    parent, libc = os.getpid(), _libc

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)

    return ask


def spawn(
    command: Sequence[str | Path],
    *,
    log: IO[bytes],
    env: Mapping[str, str],
    death: signal.Signals = signal.SIGKILL,
    account: tuple[int, int] | None = None,
    cwd: Path | str | None = None,
) -> subprocess.Popen[bytes]:
    """Start `command` in its own process group (Ctrl-C is ours to hand on), writing to `log`, as `account` if given."""
    user, group = account or (None, None)
    return subprocess.Popen(  # noqa: S603 - starting what its callers name is what this is for
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=dict(env),
        cwd=cwd,
        process_group=0,
        user=user,
        group=group,
        extra_groups=[] if account else None,
        preexec_fn=dies_with_parent(death),  # main thread only, as it says there
    )


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process; that it has just ended is no mistake."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def end(process: subprocess.Popen[bytes], *, first: signal.Signals, grace_s: float) -> None:
    """Ask a child of ours to stop; after `grace_s` seconds end it without asking."""
    if process.poll() is None:
        send(process.pid, first)
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        send(process.pid, signal.SIGKILL)
        process.wait()


# --- what a hard end leaves behind: one small file a child, in <data>/run/ ------------------------------------------


def note(folder: Path, name: str, pid: int, stop: signal.Signals) -> None:
    """Keep who `name` is and who started it, so that a later start can end it if we cannot."""
    folder.mkdir(mode=0o700, exist_ok=True)
    parent = os.getpid()
    kept = {"pid": pid, "birth": birth(pid), "stop": int(stop), "parent": parent, "parent_birth": birth(parent)}
    (folder / name).write_text(json.dumps(kept))


def forget(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)


def end_orphans(folder: Path, *, grace_s: float = 5) -> list[str]:
    """End what a starter that is gone left running, and return the names. Only exact matches are touched."""
    ended = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            kept: dict[str, Any] = json.loads(path.read_text())
            pid, born, stop = int(kept["pid"]), kept["birth"], signal.Signals(kept["stop"])
            starter = int(kept["parent"]), kept["parent_birth"]
        except (ValueError, KeyError, TypeError):  # cut short by a full disk or a power cut: it names nobody
            path.unlink(missing_ok=True)
            continue
        if starter[1] is not None and birth(starter[0]) == starter[1]:
            continue  # a command that is still at work has its own database: no orphan
        if born is not None and birth(pid) == born:
            _end_stranger(pid, born, stop, grace_s)
            ended.append(path.name)
        path.unlink(missing_ok=True)
    return ended


def _end_stranger(pid: int, born: str, stop: signal.Signals, grace_s: float) -> None:
    """End a process that is not our child, so cannot be waited for."""
    send(pid, stop)
    until = time.monotonic() + grace_s
    while birth(pid) == born:
        if time.monotonic() > until:
            send(pid, signal.SIGKILL)
            until = time.monotonic() + grace_s
        time.sleep(0.02)
