"""What `up` cannot start on is said in a sentence or two, with what to do next."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from studio.embedded import ports
from studio.embedded.postgres import Postgres
from studio.secrets import ensure_secrets
from studio.up.directory import make
from tests.functional.up.studio import data_directory, manage, refused, studio

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root mounts disks and is refused by PostgreSQL")


@contextmanager
def disk(options: str) -> Iterator[Path]:
    """A small file system of its own."""
    place = Path(tempfile.mkdtemp(prefix="studio-disk-"))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, check=False)
    if mounted.returncode != 0:
        place.rmdir()
        pytest.skip("this machine does not let root mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)
        place.rmdir()


@needs_root
def test_a_disk_without_room() -> None:
    with disk("size=30m") as place:
        told = refused(place / "data")

    assert told.startswith(f"The disk of {place / 'data'} is nearly full: ")
    assert "--data" in told


@needs_root
def test_a_disk_that_is_full_to_the_last_byte() -> None:
    with disk("size=1m") as place:
        (place / "data").mkdir()
        with pytest.raises(OSError, match="No space left"):
            (place / "filler").write_bytes(bytes(2 * 2**20))
        assert "is full. Free some space" in refused(place / "data")


@needs_root
def test_a_disk_that_cannot_be_written_to() -> None:
    with disk("ro") as place:
        assert "is on a read-only disk" in refused(place / "data")


def test_a_directory_that_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")

    assert str(tmp_path / "data") in refused(tmp_path / "data")


def test_a_cluster_of_another_postgresql() -> None:
    with data_directory() as data:
        make(data)
        postgres = Postgres(data=data, port=1, secrets={})
        postgres.settle()
        cluster = postgres.cluster
        cluster.mkdir()
        (cluster / "PG_VERSION").write_text("16\n")

        told = refused(data, "--port", str(ports.choose(None)))

    assert f"{cluster} was made by PostgreSQL 16; this studio runs 18" in told
    assert "pg_dump" in told


@pytest.mark.parametrize(
    ("name", "url"),
    [("DATABASE_URL", "postgres://nobody:hidden@127.0.0.1:1/none"), ("REDIS_URL", "redis://:hidden@127.0.0.1:1/0")],
)
def test_a_server_of_ones_own_that_does_not_answer(name: str, url: str) -> None:
    with data_directory() as data:
        told = refused(data, "--port", str(ports.choose(None)), **{name: url})

    assert f"{name} names does not answer" in told
    assert "hidden" not in told


@pytest.mark.parametrize("option", [["--port", "0"], ["--port", "http"], ["--drivers", "0"], ["--colour"]])
def test_options_that_make_no_sense(tmp_path: Path, option: list[str]) -> None:
    done = manage(tmp_path, "up", *option)

    assert done.returncode == 2
    assert "usage: manage.py up" in done.stderr


@needs_root
def test_as_root_a_directory_out_of_the_servers_reach_is_served_from_elsewhere(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    data = closed / "data"
    try:
        with studio(data) as running:
            elsewhere = Path((data / "postgres-at").read_text().strip())
            assert not elsewhere.is_relative_to(tmp_path)
            assert (elsewhere / "cluster" / "PG_VERSION").exists()
            assert running.get("/healthz") == 200
        assert manage(data, "sign_in_link").returncode == 0
        assert Path((data / "postgres-at").read_text().strip()) == elsewhere
    finally:
        shutil.rmtree(elsewhere)


@needs_root
def test_as_root_a_cluster_that_was_moved_out_of_reach_is_named(tmp_path: Path) -> None:
    with data_directory() as first:
        make(first)
        postgres = Postgres(data=first, port=1, secrets=ensure_secrets(first), durable=False)
        postgres.settle()
        postgres.prepare()
        data = tmp_path / "data"
        shutil.move(first, data)
        for path in [data / "postgres", *(data / "postgres").rglob("*")]:
            os.chown(path, 65534, 65534, follow_symlinks=False)

        told = refused(data, "--port", str(ports.choose(None)))

    assert f"user 65534 cannot reach {data / 'postgres'}" in told
    assert "chmod o+x" in told
