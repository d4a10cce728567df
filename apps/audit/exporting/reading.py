"""Reading for an export, between which no connection is held: who reads on may be slow."""

from collections.abc import Mapping
from typing import Any

from django.db import connection


def rows_of(statement: str, given: Mapping[str, Any]) -> list[Any]:
    """The rows that a statement returns."""
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        rows: list[Any] = cursor.fetchall()
    give_back()
    return rows


def give_back() -> None:
    """Give the connection back to the pool."""
    if not connection.in_atomic_block:
        connection.close()
