"""Filters of the list of runs that people keep under names: each change is one transaction and an event of theirs."""

from datetime import datetime

from django.db import IntegrityError, transaction

from apps.accounts.models import User
from apps.audit import log
from apps.audit.log import Entry
from apps.core.errors import Conflict, Invalid, NotFound
from apps.runs.filters import LONGEST, parse, render
from apps.runs.models import SavedView
from apps.workers.calls import clean

MOST_VIEWS = 12
LONGEST_NAME = 40


class NameTaken(Conflict):
    """The person has a view of that name."""


def save_view(*, name: str, text: str, by: User, now: datetime) -> SavedView:
    """Keep what was understood of a filter's `text`.

    :raises Invalid: it has no name, asks for nothing, or is one too many. :raises NameTaken: there is one.
    """
    if SavedView.objects.filter(person=by).count() >= MOST_VIEWS:
        raise Invalid(f"There are {MOST_VIEWS} views already. Delete one first.")
    view = SavedView(person=by, name=_clean_name(name), text=_understood(text), created_at=now)
    with transaction.atomic():
        _write(view)
        _leave("view.saved", view, by=by, at=now)
    return view


def change_view(*, view: SavedView, name: str, by: User, now: datetime, text: str | None = None) -> SavedView:
    """Give a view another name, and with a `text` another filter.

    :raises Invalid: there is no name or no filter. :raises NameTaken: another view of theirs is called that.
    """
    view.name = _clean_name(name)
    if text is not None:
        view.text = _understood(text)
    with transaction.atomic():
        _write(view)
        _leave("view.changed", view, by=by, at=now)
    return view


def delete_view(*, view: SavedView, by: User, now: datetime) -> None:
    """Forget a view; the runs in it stay."""
    with transaction.atomic():
        _leave("view.deleted", view, by=by, at=now)
        view.delete()


def view_of(person: User, pk: int) -> SavedView:
    """A view of theirs.

    :raises NotFound: it is gone, or somebody else's.
    """
    view = SavedView.objects.filter(person=person, pk=pk).first()
    if view is None:
        raise NotFound("This view is gone, or it is not yours.")
    return view


def _clean_name(name: str) -> str:
    name = " ".join(clean(name).split())
    if not name:
        raise Invalid("Give the view a name.", field="name")
    if len(name) > LONGEST_NAME:
        raise Invalid(f"A view's name has at most {LONGEST_NAME} characters.", field="name")
    return name


def _understood(text: str) -> str:
    asked = render(parse(text))
    if not asked:
        raise Invalid("There is no filter to save: write one first.", field="q")
    if len(asked) > LONGEST:
        raise Invalid("This filter is too long to be saved.", field="q")
    return asked


def _write(view: SavedView) -> None:
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:
        raise NameTaken(f"You have a view called “{view.name}” already.", field="name") from None


def _leave(verb: str, view: SavedView, *, by: User, at: datetime) -> None:
    told = Entry(verb, {"view": view.pk}, {"name": view.name, "filter": view.text})
    log.append(f"views:{by.pk}", [told], by=by.actor, at=at, subject=f"person:{by.pk}", project="")
