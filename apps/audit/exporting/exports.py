"""Begins an export: seals what it will hold, lays down what is in it, and says so in the log before the first byte."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.db import transaction

from apps.audit import anchors, log, signing
from apps.audit.exporting.selected import Scope, Selection
from apps.audit.exporting.writer import About, write
from apps.audit.log import Actor, Entry
from apps.core.errors import Invalid

PURPOSE = "export"
"""What the signature of an export is for; its text is the manifest."""


class NothingToExport(Invalid):
    """No event is in the scope."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(f"There is nothing to export: {scope.label} has no event.", field="scope")


@dataclass(frozen=True)
class Export:
    """An export that has begun and is told in the log; its bytes are read while it is handed on."""

    about: About
    selection: Selection

    @property
    def name(self) -> str:
        return f"conductor-export-{self.about.made_at:%Y-%m-%d}-{self.about.export}.zip"

    def pieces(self) -> Iterator[bytes]:
        """The zip, once."""
        return write(self.selection, self.about, public_keys=_public_keys(), sign=partial(signing.sign, PURPOSE))


def begin_export(*, scope: Scope, with_texts: bool, by: Actor, now: datetime) -> Export:
    """What `scope` holds now, as an export of which the log says that it was made.

    :raises NothingToExport: no event is in the scope. :raises apps.audit.signing.NoSigningKey: nobody could check it.
    """
    anchors.seal_anchor(now=now)  # so that all of it is held, up to this minute
    selection = Selection(scope)
    if not selection.trails:
        raise NothingToExport(scope)
    about = About(
        export=uuid4().hex[:12],
        studio=settings.PUBLIC_URL,
        made_at=now,
        made_by=by.label,
        scope=scope.told(),
        texts=with_texts,
        last_anchor=selection.last_anchor,
    )
    _tell(about, selection, by=by)
    return Export(about, selection)


def _public_keys() -> str:
    """The key that signs now, and behind it those that signed before."""
    keys = signing.public_keys().values()
    return "".join(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode() for key in keys)


@transaction.atomic
def _tell(about: About, selection: Selection, *, by: Actor) -> None:
    """One event for the run, or for each of the projects: in each it can be seen what left it."""
    scope = selection.scope
    data: dict[str, Any] = {name: value for name, value in scope.told().items() if name not in ("projects", "label")}
    data |= {"export": about.export, "trails": selection.trails, "events": selection.length, "texts": about.texts}
    for project in sorted(scope.projects):
        trail = scope.trails[0] if scope.trails else f"exports:{project}" if project else "exports"
        subject = trail.removeprefix("run:") if scope.trails else f"project:{project}" if project else "studio"
        log.append(trail, [Entry("trail.exported", data)], by=by, at=about.made_at, subject=subject, project=project)
