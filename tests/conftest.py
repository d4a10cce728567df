"""The database under the tests: migrated by its owner, used by the app's role, cleaned by the owner."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from redis import Redis as RedisClient

from studio.embedded.postgres import OWNER, Postgres
from studio.embedded.redis import Redis
from tests.simulators import Simulator, running_simulator

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from pytest_django.plugin import DjangoDbBlocker

_KEPT = ("django_migrations", "django_content_type", "auth_permission")  # written by migrations, never by tests
_seen: dict[int, "BaseDatabaseWrapper"] = {}  # every connection Django opened, whichever thread did


class Cleaner:
    """Empties the tables after a test that really commits. The app's role cannot: only the owner may TRUNCATE."""

    def __init__(self, owner_url: str) -> None:
        self.owner = psycopg.connect(owner_url, autocommit=True, options="-c lock_timeout=10s")
        found = self.owner.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> ALL(%s)", [list(_KEPT)]
        )
        self.tables = [sql.Identifier(name) for (name,) in found]
        self.first = {table.as_string(): self._copied(table) for table in self.tables}

    def _copied(self, table: sql.Identifier) -> bytes:
        with self.owner.cursor() as cursor, cursor.copy(sql.SQL("COPY {} TO STDOUT").format(table)) as rows:
            return b"".join(bytes(row) for row in rows)

    def clean(self) -> None:
        """Back to what the migrations left; a session that still holds a lock is an error after ten seconds."""
        with self.owner.transaction():
            names = sql.SQL(", ").join(self.tables)
            self.owner.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(names))
            for table in self.tables:
                if rows := self.first[table.as_string()]:
                    statement = sql.SQL("COPY {} FROM STDIN").format(table)
                    with self.owner.cursor() as cursor, cursor.copy(statement) as copy:
                        copy.write(rows)


def _remember(*, connection: "BaseDatabaseWrapper", **_: Any) -> None:
    _seen[id(connection)] = connection


def close_strays() -> None:
    """Close what other threads left open: drivers' threads and `sync_to_async` end without saying so."""
    from django.db import connections

    mine = connections["default"]
    for connection in list(_seen.values()):
        if connection is not mine and connection.connection is not None:
            connection.inc_thread_sharing()
            try:
                connection.close()
            finally:
                connection.dec_thread_sharing()
    _seen.clear()
    _seen[id(mine)] = mine


@pytest.fixture(scope="session")
def django_db_setup(
    postgres: Postgres, django_test_environment: None, django_db_blocker: "DjangoDbBlocker"
) -> Iterator[None]:
    """Replaces pytest-django's: the database `studio` itself, on a server of our own that ends with the session."""
    from django.db import connection
    from django.db.backends.signals import connection_created
    from django.test import TransactionTestCase

    from studio.owner import migrate

    with django_db_blocker.unblock():
        migrate(postgres.url(OWNER), verbosity=0)
    cleaner = Cleaner(postgres.url(OWNER))

    def clean(self: TransactionTestCase) -> None:
        connection.close()
        close_strays()
        cleaner.clean()

    patch = pytest.MonkeyPatch()
    patch.setattr(TransactionTestCase, "_fixture_teardown", clean)
    connection_created.connect(_remember)
    yield
    connection_created.disconnect(_remember)
    patch.undo()
    cleaner.owner.close()
    with django_db_blocker.unblock():
        close_strays()
        connection.close()
        getattr(connection, "close_pool", lambda: None)()


@pytest.fixture
def committed_db(transactional_db: None) -> None:
    """A database where commits are real, for threads, processes and `on_commit`. The same as `transactional_db`."""


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """The address of an empty Redis."""
    client = RedisClient.from_url(redis_server.url)
    client.flushall()
    client.close()
    return redis_server.url


@pytest.fixture(scope="session")
def simulator_process() -> Iterator[Simulator]:
    """The simulator as its own process, for the whole session."""
    with running_simulator() as simulator:
        yield simulator


@pytest.fixture
def simulator(simulator_process: Simulator) -> Simulator:
    """The simulator at `settings.SIMULATOR_URL`, its request log empty."""
    simulator_process.forget()
    return simulator_process
