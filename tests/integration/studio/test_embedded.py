"""The embedded servers as tests and the studio use them."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest
from redis import Redis as RedisClient
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError
from redis.retry import Retry

from studio.embedded import ports
from studio.embedded.postgres import APP, ENVIRONMENT, OWNER, SUPERUSER, Postgres, find_binaries
from studio.embedded.trouble import Trouble
from studio.secrets import ensure_secrets
from tests.services import running


def test_the_app_changes_rows_and_nothing_else(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url(OWNER), autocommit=True) as owner:
        owner.execute("CREATE TABLE thing (id bigint GENERATED ALWAYS AS IDENTITY, name text)")
        try:
            with psycopg.connect(postgres.url(APP), autocommit=True) as app:
                app.execute("INSERT INTO thing (name) VALUES ('Ä')")
                app.execute("UPDATE thing SET name = 'ä' WHERE name ILIKE 'ä'")
                assert app.execute("DELETE FROM thing RETURNING name").fetchall() == [("ä",)]
                for refused in (
                    "TRUNCATE thing",
                    "DROP TABLE thing",
                    "CREATE TABLE other ()",
                    "ALTER TABLE thing DISABLE TRIGGER ALL",
                ):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        app.execute(refused)
        finally:
            owner.execute("DROP TABLE thing")


@pytest.mark.parametrize("role", [OWNER, APP])
def test_no_role_of_the_studio_is_a_superuser(postgres: Postgres, role: str) -> None:
    with psycopg.connect(postgres.url(role)) as session:
        row = session.execute(
            "SELECT rolsuper, rolcreaterole, rolbypassrls, rolreplication FROM pg_roles WHERE rolname = current_user"
        ).fetchone()

    assert row == (False, False, False, False)


def test_nothing_is_on_trust_and_only_loopback_listens(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url(SUPERUSER)) as session:
        methods = session.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
        addresses = session.execute("SHOW listen_addresses").fetchone()

    assert methods == [("scram-sha-256",)]
    assert addresses == ("127.0.0.1",)


def test_redis_wants_its_password(redis_url: str) -> None:
    port = RedisClient.from_url(redis_url).connection_pool.connection_kwargs["port"]
    stranger = RedisClient(port=port, retry=Retry(NoBackoff(), 0))

    with pytest.raises(AuthenticationError):
        stranger.ping()
    stranger.close()


@pytest.fixture
def cluster() -> Iterator[Postgres]:
    """A cluster of its own, its server not started."""
    place = Path(tempfile.mkdtemp(prefix="studio-cluster-"))
    place.chmod(0o711)
    one = Postgres(data=place, port=ports.choose(None), secrets=ensure_secrets(place), durable=False)
    one.settle()
    one.prepare()
    yield one
    shutil.rmtree(place)


def start(cluster: Postgres, ready: Callable[[], bool] | None = None) -> AbstractContextManager[object]:
    """The cluster's server for a block."""
    return running(
        "another-postgres",
        cluster.command(),
        ready=ready or cluster.answers,
        first=cluster.stop_signal,
        account=cluster.account,
        env=dict(ENVIRONMENT),
        cwd="/",
    )


def test_a_lock_left_by_a_killed_server_whose_number_is_taken_is_removed(cluster: Postgres) -> None:
    lock = cluster.cluster / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{cluster.cluster}\n1000000000\n{cluster.port}\n\n127.0.0.1\n")

    cluster.prepare()

    assert not lock.exists()


def test_the_lock_of_a_server_that_runs_is_left(cluster: Postgres) -> None:
    with start(cluster):
        cluster.prepare()

        assert (cluster.cluster / "postmaster.pid").exists()


def test_roles_are_made_once(cluster: Postgres) -> None:
    with start(cluster):
        cluster.ensure_roles()
        cluster.ensure_roles()

        with psycopg.connect(cluster.url(APP)) as app:
            assert app.execute("SELECT current_user").fetchone() == (APP,)


def test_lost_passwords_are_said(cluster: Postgres) -> None:
    cluster.secrets = {**cluster.secrets, "database_superuser": "another"}

    with (
        start(cluster, ready=lambda: ports.answers(cluster.port)),
        pytest.raises(Trouble, match="refuses the password"),
    ):
        eventually(cluster.answers)


def eventually(check: Callable[[], bool]) -> None:
    while not check():
        pass


def test_half_a_cluster_is_made_anew(cluster: Postgres) -> None:
    cluster.cluster.rename(cluster.home / "cluster.new")
    (cluster.home / "cluster.new" / "PG_VERSION").unlink()

    cluster.prepare()

    assert (cluster.cluster / "PG_VERSION").read_text() == "18\n"


@pytest.mark.skipif(os.getuid() != 0, reason="a plain user runs the binaries where they are")
def test_binaries_out_of_reach_are_copied_to_where_they_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = Path(tempfile.mkdtemp(prefix="studio-outside-"))
    outside.chmod(0o711)
    monkeypatch.setattr("studio.embedded.postgres.OUTSIDE", outside)
    binaries, closed = find_binaries(), tmp_path / "closed"
    package = binaries.parent.parent
    for folder in (binaries.parent, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, closed / folder.relative_to(package.parent), symlinks=True)
    closed.chmod(0o700)
    hidden = closed / binaries.relative_to(package.parent)
    monkeypatch.setattr("studio.embedded.postgres.find_binaries", lambda: hidden)
    (tmp_path / "data").mkdir()

    one = Postgres(data=tmp_path / "data", port=ports.choose(None), secrets=ensure_secrets(tmp_path), durable=False)
    one.settle()
    one.prepare()

    try:
        assert one.binaries.is_relative_to(outside)
        assert one.home.is_relative_to(outside)
        with start(one):
            one.ensure_roles()
    finally:
        shutil.rmtree(outside)
