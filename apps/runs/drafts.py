"""Edits that nobody has started yet, kept while they are made: they survive a reload, and each other.

A draft belongs to who began it; whoever may see the run may open it and go on with it. Who saves on top of what
somebody else has saved meanwhile loses nothing, and neither does the other: what they have becomes a draft of its own.
A draft is no act upon the run, so it leaves no event: what is started from it does.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.core.errors import NotFound
from apps.runs.erased import check_still_whole
from apps.runs.models import Run, SavedDraft

LISTED = 5  # of the drafts that others have of a run


class NoSuchDraft(NotFound):
    """It was started or thrown away, or never was."""

    def __init__(self) -> None:
        super().__init__(
            "This draft is not there any more: it was started as a run, or somebody threw it away. "
            "Open the run and edit it anew."
        )


@dataclass(frozen=True)
class Hold:
    """What a page knows of the draft that it edits: which one, as of which version, and which page it is."""

    pk: int = 0  # none
    version: int = 0
    editor: str = ""


@dataclass(frozen=True)
class Saved:
    """The draft as it is kept by now. `other` is what it was kept beside, where somebody else had changed that."""

    draft: SavedDraft
    other: SavedDraft | None = None
    is_gone: bool = False  # what it was to be saved in was started or thrown away meanwhile


def base_of(run: Run) -> str:
    """What tells whether the run's workflow is still the one that a draft was begun from."""
    return hashlib.sha256(json.dumps(run.workflow_body, sort_keys=True).encode()).hexdigest()[:16]


@transaction.atomic
def save_draft(*, run: Run, body: str, hold: Hold, by: User, now: datetime) -> Saved:
    """Keep `body` in the draft that the page holds, or in a new one.

    A page that holds no draft begins one; where another page of the same person has begun one meanwhile, both are kept.

    :raises RunErased: a draft would bring its texts back.
    """
    check_may(by, Deed.ACT, run.project)
    check_still_whole(run)
    drafts = SavedDraft.objects.select_for_update(of=("self",)).select_related("changed_by").filter(run=run)
    held = drafts.filter(pk=hold.pk).first()
    # What this very page saved last is known to it, even if the answer that said so was lost.
    own = drafts.filter(person=by, editor=hold.editor).exclude(pk=hold.pk).first() if hold.editor else None
    if not hold.pk and own is None:
        held = drafts.filter(person=by).order_by("-updated_at").first()
    elif held is not None and (held.body == body or held.version == hold.version or held.editor == hold.editor):
        return Saved(_changed(held, body, hold, by=by, now=now))
    if own is None:
        own = _new(run, body, hold, by=by, now=now)
    return Saved(_changed(own, body, hold, by=by, now=now), other=held, is_gone=held is None and bool(hold.pk))


def _new(run: Run, body: str, hold: Hold, *, by: User, now: datetime) -> SavedDraft:
    return SavedDraft.objects.create(
        run=run,
        person=by,
        changed_by=by,
        body=body,
        base=base_of(run),
        editor=hold.editor,
        created_at=now,
        updated_at=now,
    )


def _changed(held: SavedDraft, body: str, hold: Hold, *, by: User, now: datetime) -> SavedDraft:
    """The draft with `body` in it; where it says so already, nothing is written."""
    if held.body == body:
        return held
    held.body, held.version, held.editor = body, held.version + 1, hold.editor
    held.changed_by, held.updated_at = by, now
    held.save(update_fields=["body", "version", "editor", "changed_by", "updated_at"])
    return held


def drafts_of(run: Run, *, by: User) -> "QuerySet[SavedDraft]":
    """The drafts of a run that this person began, the latest first."""
    return SavedDraft.objects.filter(run=run, person=by).select_related("changed_by").order_by("-updated_at")


def drafts_of_others(run: Run, *, by: User) -> list[SavedDraft]:
    """The latest drafts that others began of the same run."""
    others = SavedDraft.objects.filter(run=run).exclude(person=by).select_related("person", "changed_by")
    return list(others.order_by("-updated_at")[:LISTED])


def draft_named(run: Run, pk: int) -> SavedDraft:
    """One draft of a run, whoever began it. :raises NoSuchDraft: it is not there any more."""
    draft = SavedDraft.objects.filter(run=run, pk=pk).select_related("person", "changed_by").first()
    if draft is None:
        raise NoSuchDraft
    return draft


def drop_draft(*, run: Run, hold: Hold, by: User) -> None:
    """Throw away the draft that a page holds: it was started, or the person wants to start over.

    One that somebody else began or has changed since stays, for them.

    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    held = SavedDraft.objects.filter(run=run, pk=hold.pk, person=by)
    (held.filter(version=hold.version) | held.filter(editor=hold.editor)).delete()
