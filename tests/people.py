"""Two people who do not know each other, a browser for each, and nobody who drives: for the tests of pages and sockets.

A `conftest.py` that takes these fixtures says by its own `database` whether commits are real.
"""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs import tasks
from tests import factories


def somebody(name: str) -> User:
    """A person who shares no project with anybody."""
    return factories.make_person(name, project=factories.make_project(name))


@pytest.fixture(autouse=True)
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs a driver was asked for, instead of a broker."""
    asked: list[int] = []
    monkeypatch.setattr(tasks, "ring_driver", asked.append)
    return asked


@pytest.fixture
def ada(database: None, redis_url: str) -> User:
    return somebody("ada")


@pytest.fixture
def bob(database: None, redis_url: str) -> User:
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
