"""The embedded servers as tests and the studio use them."""

import psycopg
import pytest
from redis import Redis as RedisClient
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError
from redis.retry import Retry

from studio.embedded.postgres import APP, OWNER, SUPERUSER, Postgres


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
