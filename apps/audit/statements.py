"""Several statements in one trip to the database, for what is written so often that the trips are what it costs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.backends.utils import CursorWrapper

T = TypeVar("T")


@dataclass(frozen=True)
class Statement(Generic[T]):
    """A statement, what is put into it, and how its answer is read."""

    sql: str
    given: Mapping[str, Any]
    read: Callable[[CursorWrapper], T]


def together(statements: Sequence[Statement[Any]]) -> list[Any]:
    """Send `statements` at once and return their answers in order. Each sees what those before it did."""
    if not statements:
        return []
    # Values are quoted by the driver, one statement at a time: they cannot reach into another.
    operations: Any = connection.ops  # those of PostgreSQL
    composed = [operations.compose_sql(each.sql, each.given) for each in statements]
    answers = []
    with connection.cursor() as cursor:
        cursor.execute(";".join(composed))
        for number, statement in enumerate(statements):
            if number:
                cursor.nextset()
            answers.append(statement.read(cursor))
    return answers
