"""The draft behind the edit page: which one is open, what it was kept beside, and who else edits the same run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from django.http import HttpRequest, QueryDict

from apps.accounts.models import User
from apps.runs import drafts
from apps.runs.drafts import Hold, Saved
from apps.runs.models import Run, SavedDraft
from apps.web.editing.draft import Draft, draft_in, draft_of
from apps.web.words.figures import ago

LONGEST_ID = 18


@dataclass(frozen=True)
class Kept:
    """What the page tells of its draft."""

    hold: Hold
    by: User
    now: datetime
    draft: SavedDraft | None = None
    is_restored: bool = False  # the page was opened with it
    is_behind: bool = False  # the run's workflow is another one than when it was begun
    mine: int = 0  # drafts of this run that the person has
    other: SavedDraft | None = None  # what it was kept beside, for somebody else had changed that
    is_gone: bool = False  # what it was to be kept in is not there any more
    others: Sequence[SavedDraft] = ()

    @property
    def is_theirs(self) -> bool:
        """Whether somebody else began the draft that is open."""
        return self.draft is not None and self.draft.person_id != self.by.pk

    @property
    def when(self) -> str:
        return ago(self.draft.updated_at, now=self.now) if self.draft else ""

    @property
    def other_when(self) -> str:
        return ago(self.other.updated_at, now=self.now) if self.other else ""

    @property
    def other_by(self) -> str:
        """`Ada`, or `You, in another tab,`"""
        if self.other is None:
            return ""
        return "You, in another tab," if self.other.changed_by_id == self.by.pk else self.other.changed_by.label

    @property
    def lately(self) -> list[tuple[str, str, int]]:
        """Who else has a draft of this run: name, when it was changed, its number."""
        return [(draft.person.label, ago(draft.updated_at, now=self.now), draft.pk) for draft in self.others]


def opened(request: HttpRequest, run: Run, *, by: User, now: datetime) -> tuple[Draft, Kept]:
    """What the page opens with: the draft that its address names, else the person's latest one, else the run's own.

    :raises NoSuchDraft: the one that is named is not there any more.
    """
    hold, others = Hold(editor=uuid4().hex), drafts.drafts_of_others(run, by=by)
    mine = list(drafts.drafts_of(run, by=by)[:2])
    if "draft" in request.GET:
        saved: SavedDraft | None = drafts.draft_named(run, _number(request.GET["draft"]))
    else:
        saved = mine[0] if mine else None
    if saved is None:
        return draft_of(run), Kept(hold, by, now, others=others)
    kept = Kept(
        replace(hold, pk=saved.pk, version=saved.version),
        by,
        now,
        draft=saved,
        is_restored=True,
        is_behind=saved.base != drafts.base_of(run),
        mine=len(mine),
        others=[other for other in others if other.pk != saved.pk],
    )
    return draft_in(saved.body), kept


def kept_of(run: Run, draft: Draft, form: QueryDict, *, by: User, now: datetime) -> Kept:
    """Keep what a form says; nothing is kept of one that says what the run says, or did not arrive as written."""
    hold = hold_in(form)
    others = drafts.drafts_of_others(run, by=by)
    is_broken = draft.refused is not None and draft.refused.code == "broken-form"
    if is_broken or (not hold.pk and draft.body == draft_of(run).body):
        return Kept(hold, by, now, others=others)
    saved = drafts.save_draft(run=run, body=draft.body, hold=hold, by=by, now=now)
    return _told(saved, hold, by=by, now=now, others=others)


def _told(saved: Saved, hold: Hold, *, by: User, now: datetime, others: Sequence[SavedDraft]) -> Kept:
    return Kept(
        replace(hold, pk=saved.draft.pk, version=saved.draft.version),
        by,
        now,
        draft=saved.draft,
        other=saved.other,
        is_gone=saved.is_gone,
        others=[other for other in others if other.pk not in (saved.draft.pk, saved.other and saved.other.pk)],
    )


def hold_in(form: QueryDict) -> Hold:
    """Which draft a form was filled in from."""
    pk = _number(form.get("draft", ""))
    return Hold(pk, _number(form.get("version", "")), form.get("editor", "")[:32] or uuid4().hex)


def _number(given: str) -> int:
    return int(given) if given.isascii() and given.isdigit() and len(given) <= LONGEST_ID else 0
