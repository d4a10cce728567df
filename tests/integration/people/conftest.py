"""A person with a password, and what the trail of the accounts says. Commits are real: each event needs its own."""

import pytest

from apps.accounts.models import User
from tests.integration.people.provider import known, provider
from tests.people import bob, browser, other_browser, rung, somebody

__all__ = ["bob", "browser", "known", "other_browser", "provider", "rung"]

PASSWORD = "ada-correct-horse"


@pytest.fixture
def database(committed_db: None) -> None:
    """A transaction that is rolled back would hide an event that is written outside of one."""


@pytest.fixture
def ada(database: None, redis_url: str) -> User:
    user = somebody("ada")
    user.set_password(PASSWORD)
    user.save()
    return user
