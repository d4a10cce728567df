"""What ends with a membership ends wherever somebody ends it: in the admin pages as on the project's own."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.api_keys import find_by_secret, make_api_key
from apps.accounts.models import ApiKey, Membership, Project, User
from apps.accounts.services import ensure_first_person
from tests.factories import NOON, make_person, make_project, told_in
from tests.integration.accounts.test_admin import person

pytestmark = pytest.mark.django_db

Role = Membership.Role


@pytest.fixture
def root() -> User:
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def browser(root: User, client: Client) -> Client:
    client.force_login(root)
    return client


@pytest.fixture
def lab() -> Project:
    return make_project("lab")


@pytest.fixture
def boss(lab: Project) -> User:
    return member(lab, "boss", Role.ADMIN)


@pytest.fixture
def ada(lab: Project, boss: User) -> User:
    return member(lab, "ada", Role.ANALYST)


@pytest.fixture
def secret(ada: User, lab: Project) -> str:
    return make_api_key(person=ada, project=lab, name="cron", scopes=["run"], by=ada.actor, now=NOON)[1]


def member(project: Project, name: str, role: str) -> User:
    made = make_person(name, project=project)
    made.memberships.update(role=role)
    return made


def rows(*memberships: Membership, **changes: Any) -> dict[str, Any]:
    """What the table of memberships beside a person or a project posts; `changes` by number and field: `_0_DELETE`."""
    given: dict[str, Any] = {"memberships-TOTAL_FORMS": len(memberships), "memberships-INITIAL_FORMS": len(memberships)}
    for at, each in enumerate(memberships):
        fields = {"id": each.pk, "user": each.user_id, "project": each.project_id, "role": each.role}
        given |= {f"memberships-{at}-{name}": value for name, value in fields.items()}
    return given | {f"memberships{name.replace('_', '-')}": value for name, value in changes.items()}


def project_form(project: Project, **changes: Any) -> dict[str, Any]:
    its = project.memberships.order_by("pk")
    return {"slug": project.slug, "name": project.name} | rows(*its, **changes)


@pytest.mark.parametrize("way", ["alone", "chosen", "beside the person", "beside the project"])
def test_keys_end_with_a_membership_that_an_administrator_ends(
    browser: Client, root: User, ada: User, lab: Project, secret: str, way: str
) -> None:
    its = ada.memberships.get()
    chosen = {"action": "delete_selected", "_selected_action": [its.pk], "post": "yes"}
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "alone": (f"membership/{its.pk}/delete/", {"post": "yes"}),
        "chosen": ("membership/", chosen),
        "beside the person": (f"user/{ada.pk}/change/", person(ada, home_project=lab.pk) | rows(its, _0_DELETE="on")),
        "beside the project": (f"project/{lab.pk}/change/", project_form(lab, _1_DELETE="on")),
    }
    path, given = ways[way]

    answer = browser.post(f"/admin/accounts/{path}", given)

    assert answer.status_code == 302
    assert [each.username for each in User.objects.filter(memberships__project=lab)] == ["boss"]
    assert ApiKey.objects.get().revoked_at is not None
    assert User.objects.get(pk=ada.pk).home_project is None
    told = [event for event in told_in("accounts") if event.actor == root.actor]
    assert {"membership.removed", "api-key.revoked"} <= {event.verb for event in told}
    Membership.objects.create(user=ada, project=lab)
    assert find_by_secret(secret=secret, now=NOON) is None, "whoever comes back makes new keys"


def test_a_key_opens_nothing_without_its_membership_whatever_ended_it(ada: User, secret: str) -> None:
    assert find_by_secret(secret=secret, now=NOON) is not None

    ada.memberships.all().delete()

    assert find_by_secret(secret=secret, now=NOON) is None


@pytest.mark.parametrize("way", ["alone", "beside the person"])
def test_a_membership_becomes_nobody_else_s_and_of_no_other_project(
    browser: Client, ada: User, boss: User, lab: Project, way: str
) -> None:
    its, other = ada.memberships.get(), make_project("other")
    moved = {"user": boss.pk, "project": other.pk, "role": "auditor"}

    if way == "alone":
        browser.post(f"/admin/accounts/membership/{its.pk}/change/", moved)
    else:
        beside = rows(its, _0_project=other.pk, _0_role="auditor")
        browser.post(f"/admin/accounts/user/{ada.pk}/change/", person(ada) | beside)

    its.refresh_from_db()
    assert (its.user, its.project, its.role) == (ada, lab, "auditor")


def test_the_last_admin_stays_one_in_the_admin_pages_too(browser: Client, boss: User, ada: User, lab: Project) -> None:
    last = boss.memberships.get()
    lower = {"user": boss.pk, "project": lab.pk, "role": "analyst"}
    chosen = {"action": "delete_selected", "_selected_action": [last.pk], "post": "yes"}

    answers = [
        browser.post(f"/admin/accounts/membership/{last.pk}/change/", lower),
        browser.post(f"/admin/accounts/membership/{last.pk}/delete/", {"post": "yes"}),
        browser.post("/admin/accounts/membership/", chosen),
        browser.post(f"/admin/accounts/user/{boss.pk}/change/", person(boss) | rows(last, _0_role="analyst")),
        browser.post(f"/admin/accounts/user/{boss.pk}/change/", person(boss) | rows(last, _0_DELETE="on")),
        browser.post(f"/admin/accounts/user/{boss.pk}/change/", person(boss) | rows(last, _0_DELETE="on", _0_role="")),
        browser.post(f"/admin/accounts/user/{boss.pk}/delete/", {"post": "yes"}),
        browser.post(f"/admin/accounts/project/{lab.pk}/change/", project_form(lab, _0_role="auditor")),
    ]

    for answer in answers:
        assert answer.status_code == 200
        assert "Lab would have no admin any more. Make somebody else one first." in answer.content.decode()
    last.refresh_from_db()
    assert last.role == Role.ADMIN


def test_of_two_admins_both_do_not_go_at_once(browser: Client, boss: User, lab: Project) -> None:
    member(lab, "other", Role.ADMIN)
    refused = browser.post(
        f"/admin/accounts/project/{lab.pk}/change/", project_form(lab, _0_DELETE="on", _1_role="analyst")
    )
    taken = browser.post(f"/admin/accounts/project/{lab.pk}/change/", project_form(lab, _0_DELETE="on"))

    assert "would have no admin" in refused.content.decode()
    assert taken.status_code == 302
    assert [each.username for each in User.objects.filter(memberships__project=lab)] == ["other"]


def test_who_takes_over_takes_over_at_once(browser: Client, boss: User, ada: User, lab: Project) -> None:
    answer = browser.post(
        f"/admin/accounts/project/{lab.pk}/change/", project_form(lab, _0_role="analyst", _1_role="admin")
    )

    assert answer.status_code == 302
    assert [each.user for each in lab.memberships.filter(role=Role.ADMIN)] == [ada]


def test_the_last_admin_is_switched_off_all_the_same(browser: Client, boss: User, lab: Project) -> None:
    given = person(boss) | rows(boss.memberships.get())
    del given["is_active"]

    browser.post(f"/admin/accounts/user/{boss.pk}/change/", given)

    assert not User.objects.get(pk=boss.pk).is_active
