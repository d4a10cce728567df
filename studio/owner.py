"""Migrating as the owner of the database, from a process that otherwise works as the app's own role."""

from collections.abc import Iterator
from contextlib import contextmanager

import dj_database_url
from django.core.management import call_command
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper


@contextmanager
def as_owner(url: str) -> Iterator[None]:
    """Within the block the connection `default` of this thread is the owner's."""
    app = connections["default"]
    owner = DatabaseWrapper({**app.settings_dict, **dj_database_url.parse(url), "OPTIONS": {}}, alias="default")
    connections["default"] = owner
    try:
        yield
    finally:
        owner.close()
        connections["default"] = app


def migrate(owner_url: str | None, *, verbosity: int = 1) -> None:
    """Bring the tables up to date; without an owner's address as the one role there is."""
    if owner_url is None:
        call_command("migrate", interactive=False, verbosity=verbosity)
        return
    with as_owner(owner_url):
        call_command("migrate", interactive=False, verbosity=verbosity)
