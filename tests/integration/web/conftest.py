"""Two people who do not know each other, and a browser for each."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs import tasks
from apps.runs.models import Run
from tests.integration.web.given import a_run, somebody


@pytest.fixture(autouse=True)
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs a driver was asked for, instead of a broker."""
    asked: list[int] = []
    monkeypatch.setattr(tasks, "ring_driver", asked.append)
    return asked


@pytest.fixture
def ada(db: None, redis_url: str) -> User:
    return somebody("ada")


@pytest.fixture
def bob(db: None, redis_url: str) -> User:
    return somebody("bob")


@pytest.fixture
def browser(ada: User, client: Client) -> Client:
    """Ada's browser, signed in."""
    client.force_login(ada)
    return client


@pytest.fixture
def other_browser(bob: User) -> Client:
    client = Client()
    client.force_login(bob)
    return client


@pytest.fixture
def run(ada: User) -> Run:
    """A run of Ada's."""
    return a_run(ada)
