"""Whoever owns the database, and what they can do to the log without asking anybody.

No trigger is switched off: the owner may empty the tables, and writes other rows into them than there were.
"""

import json
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from apps.audit import chain, signing

Rows = list[dict[str, Any]]
Log = dict[str, Rows]
"""The rows of the log by table, without the app's prefix."""

TABLES = ("trail", "event", "payload", "anchor", "anchoredhead")


class Owner:
    """The owner of the tables."""

    def __init__(self, url: str) -> None:
        self.url = url

    def rewrite(self, change: Callable[[Log], None]) -> None:
        """Put other rows in place of all that is there."""
        with psycopg.connect(self.url, row_factory=dict_row) as owner:
            log = {table: self._read(owner, f"audit_{table}") for table in TABLES}
            change(log)
            names = sql.SQL(", ").join(sql.Identifier(f"audit_{table}") for table in TABLES)
            owner.execute(sql.SQL("TRUNCATE {} CASCADE").format(names))
            for table in TABLES:
                self._write(owner, f"audit_{table}", log[table])

    def _read(self, owner: "psycopg.Connection[dict[str, Any]]", table: str) -> Rows:
        found = owner.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_generated = 'NEVER' "
            "ORDER BY ordinal_position",
            [table],
        )
        columns = sql.SQL(", ").join(sql.Identifier(row["column_name"]) for row in found)
        return owner.execute(sql.SQL("SELECT {} FROM {} ORDER BY 1").format(columns, sql.Identifier(table))).fetchall()

    def _write(self, owner: "psycopg.Connection[dict[str, Any]]", table: str, rows: Rows) -> None:
        for row in rows:
            columns = sql.SQL(", ").join(sql.Identifier(name) for name in row)
            places = sql.SQL(", ").join(sql.Placeholder() for _ in row)
            statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table), columns, places)
            owner.execute(statement, list(row.values()))


# --- what they look for --------------------------------------------------------------------------------------------


def trail_of(log: Log, name: str) -> dict[str, Any]:
    return next(row for row in log["trail"] if row["name"] == name)


def events_of(log: Log, name: str) -> Rows:
    pk = trail_of(log, name)["id"]
    return sorted((row for row in log["event"] if row["trail_id"] == pk), key=lambda row: row["seq"])


def without(log: Log, table: str, gone: Rows) -> None:
    log[table] = [row for row in log[table] if row not in gone]


def seal_anew(log: Log, name: str) -> None:
    """Give every event of a trail the hash that fits what it says now, and the trail its head."""
    prev, trail, events = chain.GENESIS, trail_of(log, name), events_of(log, name)
    for event in events:
        prev = event["hash"] = chain.seal(prev, event["line"])
    trail["head_seq"], trail["head_hash"] = len(events), prev


def say_otherwise(event: dict[str, Any], **changes: Any) -> None:
    """Change what an event says, in its line and in the columns beside it."""
    content = json.loads(event["line"]) | changes
    event["line"] = chain.canonical(content)
    event["verb"] = content["verb"]


def anchor_anew(log: Log, *, sign: bool) -> None:
    """Make every anchor name the heads as they are now; signed anew where the key was stolen, too."""
    heads = {
        (trail["name"], event["seq"]): event["hash"]
        for trail in log["trail"]
        for event in events_of(log, trail["name"])
    }
    for event in events_of(log, "anchors"):
        content = json.loads(event["line"])
        for head in content["data"]["heads"]:
            head[2] = heads[head[0], head[1]]
        event["line"] = chain.canonical(content)
    seal_anew(log, "anchors")
    hashes = {event["seq"]: event["hash"] for event in events_of(log, "anchors")}
    for anchor in log["anchor"]:
        anchor["hash"] = hashes[anchor["seq"]]
        if sign:
            anchor["signature"] = signing.sign(signing.ANCHOR, anchor["hash"])
    for kept in log["anchoredhead"]:
        kept["hash"] = heads[kept["trail"], kept["seq"]]
