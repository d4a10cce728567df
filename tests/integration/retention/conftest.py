"""A project with its people, whose texts are kept for a while; runs are written by a driver's desk."""

import pytest

from apps.accounts.models import Membership, User
from tests.people import ada, bob, rung

__all__ = ["ada", "bob", "rung"]


@pytest.fixture
def database(committed_db: None) -> None:
    """Commits are real: what is erased is looked for as anybody would find it."""


@pytest.fixture
def admin(ada: User) -> User:
    """Ada, who administers her project."""
    Membership.objects.filter(user=ada).update(role=Membership.Role.ADMIN)
    return ada
