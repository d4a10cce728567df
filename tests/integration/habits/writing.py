"""Watches what is written, and in which transaction: the savepoint that a service opened outermost."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

WRITES = re.compile(r'\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?([a-z]+_[a-z_]+)"?', re.IGNORECASE)
LOCKS = re.compile(r"\bFOR (?:NO KEY )?UPDATE\b", re.IGNORECASE)
ENTERED = re.compile(r"\bFROM audit_seal\(")  # a function of the database writes events


@dataclass
class Written:
    """The tables written to in each transaction, and in which of these an event was."""

    tables: dict[str | None, set[str]] = field(default_factory=dict)
    with_event: set[str | None] = field(default_factory=set)

    def without_event(self, untold: frozenset[str]) -> set[str]:
        """The tables that were written to in a transaction that holds no event, or in none."""
        return {
            table
            for where, tables in self.tables.items()
            if where is None or where not in self.with_event
            for table in tables - untold
        }


@contextmanager
def watched() -> Iterator[Written]:
    """Everything written while the block lasts. It lies in a test's own transaction, which does not count."""
    written, depth = Written(), len(connection.savepoint_ids)

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        inner = [each for each in connection.savepoint_ids[depth:] if each]
        where = inner[0] if inner else None
        text = LOCKS.sub("", sql)
        for table in WRITES.findall(text):
            written.tables.setdefault(where, set()).add(table.lower())
        if ENTERED.search(text):
            written.with_event.add(where)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield written
