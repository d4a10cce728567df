"""Exports of the database's trails, unpacked and checked as an outsider would."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction

from apps.audit.anchors import anchors_of, seal_anchor
from apps.audit.exporting.exports import Export, begin_export
from apps.audit.exporting.selected import Scope
from apps.audit.log import Actor, Entry, append
from tests.integration.audit.trails import ADA
from tests.unit.audit.exported import rows, unpack, verify

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVERYTHING = Scope("all", ["default"], "project default")


def later(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def write_at(trail: str, minutes: float, *entries: Entry, project: str = "default", by: Actor = ADA) -> None:
    """Append at so many minutes past noon."""
    with transaction.atomic():
        append(trail, entries, by=by, at=later(minutes), subject=trail, project=project)


def export(scope: Scope = EVERYTHING, *, with_texts: bool = True) -> Export:
    return begin_export(scope=scope, with_texts=with_texts, by=ADA, now=later(600))


def unpacked(made: Export, folder: Path) -> Path:
    return unpack(b"".join(made.pieces()), folder)


def exported(folder: Path, scope: Scope = EVERYTHING, *, with_texts: bool = True) -> tuple[int, str]:
    """Export, unpack and verify: the exit status and what is said."""
    return verify(unpacked(export(scope, with_texts=with_texts), folder))


def listed(folder: Path, name: str, *fields: str) -> list[Any]:
    found = [tuple(row[field] for field in fields) for row in rows(folder, name)]
    return [only[0] for only in found] if len(fields) == 1 else found


def anchors_kept_outside(file: Path) -> Path:
    """Anchor what there is, and keep the anchors in a file."""
    seal_anchor(now=later(500))
    file.write_text("".join(f"{anchor.written()}\n" for anchor in anchors_of()))
    return file
