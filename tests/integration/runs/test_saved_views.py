"""Views that people keep of the list of runs: their own, named once, and each change told."""

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log
from apps.core.errors import Invalid, NotFound
from apps.runs.models import SavedView
from apps.runs.saved_views import MOST_VIEWS, NameTaken, change_view, delete_view, save_view, view_of
from tests.factories import make_person


@pytest.fixture
def ada(db: None) -> User:
    return make_person("ada")


def saved(by: User, name: str = "Failures", text: str = "status:failed") -> SavedView:
    return save_view(name=name, text=text, by=by, now=timezone.now())


def told(by: User) -> list[tuple[str, str | None]]:
    return [(event.verb, event.texts["name"]) for event in log.read(f"views:{by.pk}")]


def test_a_view_keeps_what_was_understood(ada: User) -> None:
    view = saved(ada, "  My\tfailures ", 'is:failed cots>1 worker:qwen "a b"')

    assert (view.name, view.text) == ("My failures", 'status:failed worker:qwen "a b"')


def test_every_change_is_told_in_a_trail_of_the_persons_own(ada: User) -> None:
    view = saved(ada)
    change_view(view=view, name="Broken", by=ada, now=timezone.now())
    delete_view(view=view, by=ada, now=timezone.now())

    assert told(ada) == [("view.saved", "Failures"), ("view.changed", "Broken"), ("view.deleted", "Broken")]
    assert not SavedView.objects.exists()


def test_a_name_is_one_view_of_a_person(ada: User) -> None:
    bob = make_person("bob")
    saved(ada)
    saved(bob)
    other = saved(ada, "Other")

    with pytest.raises(NameTaken):
        saved(ada)
    with pytest.raises(NameTaken):
        change_view(view=other, name="Failures", by=ada, now=timezone.now())
    assert told(ada) == [("view.saved", "Failures"), ("view.saved", "Other")]


@pytest.mark.parametrize(
    ("name", "text"), [("", "status:failed"), ("x" * 41, "status:failed"), ("Fine", "%"), ("Fine", "")]
)
def test_a_view_has_a_name_and_asks_for_something(ada: User, name: str, text: str) -> None:
    with pytest.raises(Invalid):
        saved(ada, name, text)


def test_there_is_an_end_to_how_many_views_there_are(ada: User) -> None:
    for number in range(MOST_VIEWS):
        saved(ada, f"View {number}")

    with pytest.raises(Invalid, match="Delete one first"):
        saved(ada, "One more")


def test_a_view_of_somebody_else_is_not_there(ada: User) -> None:
    view = saved(make_person("bob"))

    with pytest.raises(NotFound):
        view_of(ada, view.pk)
