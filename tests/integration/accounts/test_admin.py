"""What an admin does to people and projects at /admin/, and what one does to one's own password, are events."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Membership, Project, User
from apps.accounts.services import TRAIL, change_password, ensure_first_person
from apps.audit.log import Read, verify
from apps.audit.models import Event, Payload
from tests.factories import told_in

pytestmark = pytest.mark.django_db

PASSWORD = "a-canary-correct-horse"
NO_MEMBERSHIP = {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}


@pytest.fixture
def admin() -> User:
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def browser(admin: User, client: Client) -> Client:
    client.force_login(admin)
    return client


@pytest.fixture
def ada(admin: User) -> User:
    return User.objects.create_user("ada")


def post(browser: Client, path: str, given: dict[str, Any]) -> None:
    response = browser.post(f"/admin/{path}/", given)
    assert response.status_code == 302, response.content.decode()


def told() -> list[Read]:
    """Everything but the making of the first person."""
    return told_in(TRAIL)[1:]


def person(user: User, **changes: Any) -> dict[str, Any]:
    joined = timezone.localtime(user.date_joined)
    given = {
        "username": user.username,
        "is_active": "on",
        "date_joined_0": joined.date(),
        "date_joined_1": joined.time(),
    }
    return given | NO_MEMBERSHIP | changes


def test_a_person_is_made_changed_and_removed_under_events(browser: Client, admin: User) -> None:
    new = {"username": "bob", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    post(browser, "accounts/user/add", new | NO_MEMBERSHIP)
    bob = User.objects.get(username="bob")
    post(browser, f"accounts/user/{bob.pk}/change", person(bob, is_superuser="on"))
    post(browser, f"accounts/user/{bob.pk}/delete", {"post": "yes"})

    created, changed, removed = told()
    assert [created.verb, changed.verb, removed.verb] == ["person.created", "person.changed", "person.removed"]
    assert changed.actor == admin.actor
    assert changed.data == {"person": bob.pk, "fields": ["is_superuser"]}
    assert [json.loads(changed.texts[name] or "") for name in ("before", "after")] == [
        {"is_superuser": False},
        {"is_superuser": True},
    ]
    assert PASSWORD not in str([*Event.objects.values(), *Payload.objects.values()])
    assert bob.password not in str(told())
    assert verify(TRAIL).first_break is None


def test_a_membership_given_beside_a_person_or_alone_is_an_event(browser: Client, admin: User, ada: User) -> None:
    project = Project.objects.get()
    row = {"memberships-0-user": ada.pk, "memberships-0-project": project.pk}
    given = person(ada, **row, **{"memberships-TOTAL_FORMS": 1, "memberships-0-role": "analyst"})
    post(browser, f"accounts/user/{ada.pk}/change", given)
    membership = Membership.objects.get(user=ada)
    known = {"memberships-INITIAL_FORMS": 1, "memberships-0-id": membership.pk, "memberships-0-role": "auditor"}
    post(browser, f"accounts/user/{ada.pk}/change", given | known)
    alone = {"user": ada.pk, "project": project.pk, "role": "admin"}
    post(browser, f"accounts/membership/{membership.pk}/change", alone)
    post(browser, f"accounts/user/{ada.pk}/change", given | known | {"memberships-0-DELETE": "on"})

    assert [(event.verb, event.data["role"]) for event in told()] == [
        ("membership.added", "analyst"),
        ("membership.changed", "auditor"),
        ("membership.changed", "admin"),
        ("membership.removed", "admin"),
    ]
    assert {event.data["person"] for event in told()} == {ada.pk}
    assert {(event.subject, event.project) for event in Event.objects.all()[1:]} == {
        (f"person:{ada.pk}", project.slug)  # whose auditors are to see who joined and left
    }


def test_who_goes_takes_their_memberships_along_and_both_are_told(browser: Client, ada: User) -> None:
    Membership.objects.create(user=ada, project=Project.objects.get())

    post(browser, f"accounts/user/{ada.pk}/delete", {"post": "yes"})

    project = Project.objects.get().slug
    assert sorted(Event.objects.filter(verb__endswith=".removed").values_list("verb", "project")) == [
        ("membership.removed", project),
        ("person.removed", ""),
    ]


def test_what_a_group_may_do_is_told(browser: Client) -> None:
    post(browser, "auth/group/add", {"name": "Helpers"})
    post(browser, f"auth/group/{Group.objects.get().pk}/change", {"name": "Keepers"})

    assert [event.verb for event in told()] == ["group.added", "group.changed"]


def test_a_project_leaves_events(browser: Client) -> None:
    given = {"slug": "lab", "name": "Lab", "created_at_0": "2026-03-01", "created_at_1": "12:00"} | NO_MEMBERSHIP
    post(browser, "accounts/project/add", given)
    post(browser, f"accounts/project/{Project.objects.get(slug='lab').pk}/change", given | {"name": "Laboratory"})

    assert [(event.verb, event.data["project"]) for event in told()] == [
        ("project.added", "lab"),
        ("project.changed", "lab"),
    ]
    assert {event.project for event in Event.objects.all()[1:]} == {"lab"}


@pytest.fixture
def heard(browser: Client) -> Project:
    """A project that events tell of, made and renamed."""
    post(browser, "accounts/project/add", {"slug": "acme", "name": "Acme"} | NO_MEMBERSHIP)
    made = Project.objects.get(slug="acme")
    post(browser, f"accounts/project/{made.pk}/change", {"slug": "acme-old", "name": "Acme of old"} | NO_MEMBERSHIP)
    return Project.objects.get(pk=made.pk)


def test_a_project_keeps_its_slug_by_which_its_events_name_it(heard: Project) -> None:
    assert (heard.slug, heard.name) == ("acme", "Acme of old")


def test_no_project_is_made_under_the_slug_of_one_before_it(browser: Client, heard: Project) -> None:
    post(browser, f"accounts/project/{heard.pk}/delete", {"post": "yes"})

    refused = browser.post("/admin/accounts/project/add/", {"slug": "acme", "name": "New"} | NO_MEMBERSHIP)

    assert "its events keep it" in refused.content.decode()
    assert not Project.objects.filter(slug="acme").exists()


def test_another_person_s_password_changes_under_an_event(browser: Client, admin: User, ada: User) -> None:
    given = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    refused = browser.post(f"/admin/accounts/user/{ada.pk}/password/", given | {"password2": "another"})
    post(browser, f"accounts/user/{ada.pk}/password", given)
    post(browser, f"accounts/user/{ada.pk}/password", {"usable_password": "false", "unset-password": "1"})

    assert refused.status_code == 200
    changed, taken = told()
    assert (changed.verb, changed.actor, changed.data) == (
        "password.changed",
        admin.actor,
        {"person": ada.pk, "usable": True},
    )
    assert taken.data["usable"] is False
    assert PASSWORD not in str([*Event.objects.values(), *Payload.objects.values()])


def test_nobody_s_password_is_nobody_s(browser: Client) -> None:
    assert browser.get("/admin/accounts/user/x/password/").status_code == 404


def test_one_s_own_password_changes_under_an_event(ada: User) -> None:
    change_password(user=ada, password=PASSWORD, by=ada.actor, now=timezone.now())

    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
    [event] = told()
    assert (event.verb, event.actor, event.data) == (
        "password.changed",
        ada.actor,
        {"person": ada.pk, "usable": True},
    )


def test_the_admin_s_own_page_for_that_leads_to_the_one_that_tells(browser: Client) -> None:
    assert browser.get("/admin/password_change/")["Location"] == "/account/"
