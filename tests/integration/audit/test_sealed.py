"""What the database refuses to do to sealed rows, for the app's role and for their owner."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import ProgrammingError, connection
from django.db.transaction import atomic

from apps.audit.log import Entry
from studio.embedded.postgres import OWNER, Postgres
from tests.integration.audit.trails import write

CHANGES = [
    "UPDATE audit_event SET line = 'x'",
    "UPDATE audit_event SET verb = 'x'",
    "DELETE FROM audit_event",
    "DELETE FROM audit_payload",
    "UPDATE audit_payload SET text = 'x'",
    "UPDATE audit_payload SET text = NULL",
    "UPDATE audit_payload SET digest = 'x', text = NULL, salt = NULL, erased_at = now()",
    "DELETE FROM audit_trail",
    "UPDATE audit_trail SET name = 'x'",
    "UPDATE audit_trail SET head_seq = 0",
    "UPDATE audit_trail SET head_hash = 'x'",
]


@pytest.fixture
def a_trail(transactional_db: None) -> None:
    write("run:a", Entry("run.submitted", texts={"task": "Compare A and B."}), Entry("run.approved"))


@pytest.fixture
def owner(postgres: Postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(OWNER), autocommit=True) as owner:
        yield owner


@pytest.mark.usefixtures("a_trail")
@pytest.mark.parametrize("statement", CHANGES)
def test_the_app_is_refused(statement: str) -> None:
    with (
        connection.cursor() as cursor,
        pytest.raises(ProgrammingError, match=r"permission denied|is refused"),
        atomic(),
    ):
        cursor.execute(statement)


@pytest.mark.usefixtures("a_trail")
@pytest.mark.parametrize("statement", CHANGES)
def test_their_owner_is_refused(owner: psycopg.Connection, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="what was sealed does not change"):
        owner.execute(statement.encode())


@pytest.mark.usefixtures("a_trail")
def test_a_session_that_plays_a_replica_is_refused_too(owner: psycopg.Connection) -> None:
    modes = owner.execute(
        "SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'audit%' AND NOT tgisinternal"
    ).fetchall()

    assert len(modes) == 8
    assert {mode for _, mode in modes} == {"A"}  # always


@pytest.mark.usefixtures("a_trail")
@pytest.mark.parametrize("table", ["audit_event", "audit_payload", "audit_trail"])
def test_the_app_cannot_empty_a_table(table: str) -> None:
    with connection.cursor() as cursor, pytest.raises(ProgrammingError, match="permission denied"), atomic():
        cursor.execute(f"TRUNCATE {table} CASCADE")


@pytest.mark.usefixtures("a_trail")
def test_the_app_may_do_no_more_with_the_log_than_it_needs() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, string_agg(privilege_type, ' ' ORDER BY privilege_type) "
            "FROM information_schema.table_privileges WHERE grantee = current_user AND table_name LIKE 'audit%' "
            "GROUP BY table_name"
        )
        allowed = dict(cursor.fetchall())

    assert allowed == {
        "audit_anchor": "INSERT SELECT",
        "audit_anchoredhead": "INSERT SELECT",
        "audit_check": "INSERT SELECT UPDATE",
        "audit_sending": "INSERT SELECT UPDATE",
        "audit_event": "INSERT SELECT",
        "audit_payload": "INSERT SELECT UPDATE",
        "audit_trail": "INSERT SELECT UPDATE",
        "audit_eventwords": "DELETE INSERT SELECT UPDATE",  # what can be searched, which is made from the log
        "audit_follower": "DELETE INSERT SELECT UPDATE",
    }
