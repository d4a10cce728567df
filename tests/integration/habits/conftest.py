"""The world is made once a module; whatever a test does to it is rolled back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.db import transaction

from studio.embedded.redis import Redis
from tests.integration.habits.world import World, make_world

if TYPE_CHECKING:
    from pytest_django.plugin import DjangoDbBlocker


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: "DjangoDbBlocker", redis_server: Redis) -> Iterator[World]:
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_world()
        transaction.set_rollback(True)


@pytest.fixture
def world(made: World) -> Iterator[World]:
    """What stands in the tables is as it was, for every test."""
    with transaction.atomic():
        yield made
        transaction.set_rollback(True)
