"""The signs of life."""

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from apps.runs.models import Driver
from apps.web import health


@pytest.fixture
def driver(db: None) -> Driver:
    now = timezone.now()
    return Driver.objects.create(name="d", pid=1, threads=64, started_at=now, seen_at=now)


def test_healthz_asks_nobody(client: Client) -> None:
    """Without the `db` fixture a query would fail the test."""
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok\n")


def test_readyz_names_every_part(driver: Driver, redis_url: str, client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"ready": True, "database": "ok", "redis": "ok", "driver": "ok"}


def test_readyz_misses_a_driver_not_seen_for_ten_seconds(driver: Driver, redis_url: str, client: Client) -> None:
    Driver.objects.update(seen_at=timezone.now() - timedelta(seconds=11))

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["driver"].startswith("missing")


def test_readyz_misses_redis(driver: Driver, client: Client, settings: LazySettings) -> None:
    settings.REDIS_URL = "redis://:secret@127.0.0.1:1/0"

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["redis"] == "missing: ConnectionError"


def test_readyz_misses_the_database(redis_url: str, client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import connection

    elsewhere = {**connection.get_connection_params(), "port": "1"}
    monkeypatch.setattr(connection, "get_connection_params", lambda: elsewhere)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["database"] == "missing: OperationalError"
    assert response.json()["driver"].startswith("unknown")


def test_readyz_bears_a_database_that_goes_between_two_questions(
    redis_url: str, client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> bool:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(health, "is_driver_seen", gone)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["driver"] == "missing: OperationalError"
