"""The data directory: made, checked, owned by one studio at a time, and its logs kept small."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from studio.embedded.trouble import Trouble, explain

FIRST_START_BYTES = 150 * 2**20  # a new cluster is 40 MB, its write-ahead log up to twice that
NEXT_START_BYTES = 20 * 2**20
LOG_LIMIT_BYTES = 10 * 2**20


def make(data: Path) -> None:
    """See that `data` can be written to and has room.

    :raises Trouble: with what is in the way.
    """
    # As root, PostgreSQL runs as another account and must pass through to its own folder; the others stay closed.
    data.mkdir(mode=0o711 if os.getuid() == 0 else 0o700, parents=True, exist_ok=True)
    probe = data / ".probe"
    probe.write_text("written to see that it can be\n")
    probe.unlink()
    for name in ("logs", "run"):
        (data / name).mkdir(mode=0o700, exist_ok=True)
    needed = NEXT_START_BYTES if (data / "services.json").exists() else FIRST_START_BYTES
    free = shutil.disk_usage(data).free
    if free < needed:
        raise Trouble(
            f"The disk of {data} is nearly full: {free // 2**20} MB are free and the studio needs {needed // 2**20}. "
            "Free some space, or choose another place with --data."
        )


@contextmanager
def owned(data: Path, *, url: str) -> Iterator[None]:
    """Keep a second studio out of `data` for as long as the block lasts."""
    path = data / "up.lock"
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Trouble(_taken(data, path.read_text())) from error
        except OSError as error:
            raise explain(error) from error
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "url": url}))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _taken(data: Path, kept: str) -> str:
    try:
        who = json.loads(kept)
        by = f" (process {who['pid']}, {who['url']})"
    except (ValueError, KeyError):
        by = ""
    return f"A studio already runs on {data}{by}. Use that one, stop it, or choose another directory with --data."


def bound_logs(data: Path) -> None:
    """Move what is over the limit aside, one generation back. Writers append, so they go on at the start."""
    for path in (data / "logs").glob("*.*"):
        if path.suffix != ".1" and path.stat().st_size > LOG_LIMIT_BYTES:
            before = path.with_name(f"{path.name}.1")
            try:
                shutil.copyfile(path, before)
            except OSError:  # a full disk: what is gone makes room
                before.unlink(missing_ok=True)
            os.truncate(path, 0)


def last_words(path: Path, since: int = 0) -> str:
    """The last line a child wrote to its log after the byte `since`, to be shown beside what happened."""
    try:
        with path.open("rb") as file:
            file.seek(max(since, path.stat().st_size - 4096))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except FileNotFoundError:
        return ""
    return lines[-1][:300] if lines else ""
