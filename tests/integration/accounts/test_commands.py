"""Django's own commands about people leave events, as everything else that changes something does."""

import pytest
from django.contrib.auth.management.commands import changepassword
from django.core.management import CommandError, call_command

from apps.accounts.models import Membership, User
from apps.accounts.services import TRAIL
from apps.audit.log import read, verify


@pytest.mark.django_db
def test_a_superuser_made_by_command_has_a_project_and_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a long passphrase of ours")

    call_command("createsuperuser", "--noinput", username="grace", email="grace@example.org", verbosity=0)

    grace = User.objects.get(username="grace")
    (event,) = read(TRAIL)
    assert (event.verb, event.actor.id, event.data["person"]) == ("person.created", "createsuperuser", grace.pk)
    assert grace.memberships.get().role == Membership.Role.ADMIN
    assert grace.home_project is not None
    assert verify(TRAIL).first_break is None


@pytest.mark.django_db
def test_a_refused_superuser_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.create_user("grace")

    with pytest.raises(CommandError):
        call_command("createsuperuser", "--noinput", username="grace", email="", verbosity=0)

    assert read(TRAIL) == []


@pytest.mark.django_db
def test_a_password_changed_by_command_is_an_event_that_does_not_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = User.objects.create_user("ada", password="the one before it")
    User.objects.create_user("bob", password="untouched and long")
    monkeypatch.setattr(changepassword.Command, "_get_pass", lambda *args, **kwargs: "a long passphrase of ours")

    call_command("changepassword", "ada")

    (event,) = read(TRAIL)
    assert (event.verb, event.actor.id, event.data) == (
        "password.changed",
        "changepassword",
        {"person": ada.pk, "usable": True},
    )
    assert "passphrase" not in str(event)
    assert User.objects.get(username="ada").check_password("a long passphrase of ours")
