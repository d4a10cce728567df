"""What the data directory holds and who may have it."""

import errno
import os
import stat
from collections import namedtuple
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from studio.embedded import ports
from studio.embedded.trouble import Trouble, explain
from studio.secrets import ensure_secrets, write_private
from studio.up import directory
from studio.up.services import choose


def test_secrets_are_made_once_and_read_by_their_owner_alone(tmp_path: Path) -> None:
    made = ensure_secrets(tmp_path)

    assert ensure_secrets(tmp_path) == made
    assert Fernet(made["vault_key"])
    assert len(bytes.fromhex(made["signing_key"])) == 32
    assert len(set(made.values())) == len(made)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "secrets").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700


def test_a_private_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "services.json"
    path.write_text("old")
    path.chmod(0o644)

    write_private(path, "new")

    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["services.json"]


def test_a_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    with (
        directory.owned(tmp_path, url="http://127.0.0.1:8000"),
        pytest.raises(Trouble, match=rf"already runs .*process {os.getpid()}, http://127.0.0.1:8000.*--data"),
        directory.owned(tmp_path, url="http://127.0.0.1:9000"),
    ):
        pass

    with directory.owned(tmp_path, url="again"):
        pass


def test_a_disk_with_too_little_room_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10**9, 10**9, 5 * 2**20))

    with pytest.raises(Trouble, match="5 MB are free and the studio needs 150"):
        directory.make(tmp_path / "data")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "may not use"),
        (errno.EDQUOT, "quota"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_an_error_of_the_file_system_is_one_sentence_with_the_place(number: int, words: str) -> None:
    told = str(explain(OSError(number, os.strerror(number), "/data/secrets")))

    assert words in told
    assert "/data/secrets" in told


def test_logs_are_moved_aside_when_they_are_long(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "web.log"
    with log.open("ab") as writer:
        writer.write(b"x" * (directory.LOG_LIMIT_BYTES + 1))
        writer.flush()

        directory.bound_logs(tmp_path)
        writer.write(b"next\n")

    assert log.read_bytes() == b"next\n"
    assert (tmp_path / "logs" / "web.log.1").stat().st_size == directory.LOG_LIMIT_BYTES + 1


def test_a_busy_port_is_said_with_another_to_take(tmp_path: Path) -> None:
    port, holder = ports.hold()
    with holder:
        holder.listen()
        with pytest.raises(Trouble, match=rf"Port {port} is taken.*--port {port + 1}"):
            choose(tmp_path, web_port=port, simulator=True)


def test_a_held_port_is_still_free_for_our_server() -> None:
    port, holder = ports.hold()
    with holder:
        assert ports.is_free(port)
        assert not ports.answers(port)
        assert ports.choose(port) == port
