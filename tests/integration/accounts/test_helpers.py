"""Staff who may change people in the admin pages, and are no superusers: none of these pages makes them one of those.

Nor does one make them somebody else: a password, a link and a key are as good as the person.
"""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.utils import timezone

from apps.accounts.models import ApiKey, Project, SignInLink, User
from apps.accounts.services import ensure_first_person
from tests.factories import make_person
from tests.integration.accounts.test_admin import PASSWORD, person

pytestmark = pytest.mark.django_db

SET = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def root() -> User:
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def ada() -> User:
    return make_person("ada")


@pytest.fixture
def helper(root: User) -> User:
    """May do everything to people and keys that a permission lets somebody do."""
    made = make_person("helper")
    User.objects.filter(pk=made.pk).update(is_staff=True)
    made.user_permissions.set(Permission.objects.filter(content_type__app_label="accounts"))
    return User.objects.get(pk=made.pk)


@pytest.fixture
def pages(helper: User, client: Client) -> Client:
    client.force_login(helper)
    return client


def key_for(user: User) -> dict[str, Any]:
    return {"name": "x", "person": user.pk, "project": Project.objects.get().pk, "scopes": ["read"], "lifetime": "30"}


@pytest.mark.parametrize("whose", ["helper", "ada"])
def test_nobody_is_raised_by_them(pages: Client, helper: User, ada: User, whose: str) -> None:
    target = User.objects.get(username=whose)
    group = Group.objects.create(name="Keepers")
    more = {"is_superuser": "on", "groups": [group.pk], "user_permissions": [Permission.objects.all()[0].pk]}
    before = set(target.user_permissions.all())

    answer = pages.post(
        f"/admin/accounts/user/{target.pk}/change/",
        person(target, first_name="Renamed", is_staff="on", email="helper@example.org", **more),
    )

    assert answer.status_code == 302
    target = User.objects.get(pk=target.pk)
    assert target.first_name == "Renamed", "what is theirs to change is changed"
    assert (target.is_superuser, target.email) == (False, ""), "an address is a way in where there is single sign-on"
    assert not target.groups.exists()
    assert set(target.user_permissions.all()) == before


def test_a_superuser_is_not_changed_by_them_nor_removed(pages: Client, root: User, ada: User) -> None:
    base = f"/admin/accounts/user/{root.pk}"
    ada.memberships.update(role="admin")  # so that nothing else forbids that they go
    chosen = {"action": "delete_selected", "_selected_action": [root.pk], "post": "yes"}

    answers = [
        pages.post(f"{base}/change/", person(root, email="helper@example.org")),
        pages.post(f"{base}/delete/", {"post": "yes"}),
        pages.post("/admin/accounts/user/", chosen),
        pages.post(f"{base}/ways-in/", {"do": "end-sessions"}),
    ]

    assert [answer.status_code for answer in answers] == [403] * 4
    assert User.objects.get(pk=root.pk).email == ""
    page = pages.get(f"{base}/change/").content.decode()
    assert "ways-in" not in page, "no page offers what it would refuse"


@pytest.mark.parametrize("whose", ["admin", "ada"])
def test_they_set_nobody_s_password(pages: Client, ada: User, whose: str) -> None:
    target = User.objects.get(username=whose)

    answer = pages.post(f"/admin/accounts/user/{target.pk}/password/", SET)

    assert answer.status_code == 403
    assert not User.objects.get(pk=target.pk).has_usable_password()
    page = pages.get(f"/admin/accounts/user/{ada.pk}/change/").content.decode()
    assert "/password/" not in page


@pytest.mark.parametrize("whose", ["admin", "ada"])
def test_they_hand_out_no_links(pages: Client, ada: User, whose: str) -> None:
    target = User.objects.get(username=whose)

    answer = pages.post(f"/admin/accounts/user/{target.pk}/ways-in/", {"do": "link"})

    assert answer.status_code == 403
    assert not SignInLink.objects.exists()
    page = pages.get(f"/admin/accounts/user/{ada.pk}/ways-in/")
    assert page.status_code == 200
    assert "Make a link" not in page.content.decode()


@pytest.mark.parametrize("whose", ["admin", "ada"])
def test_they_make_keys_for_themselves_alone(pages: Client, helper: User, ada: User, whose: str) -> None:
    refused = pages.post("/admin/accounts/apikey/add/", key_for(User.objects.get(username=whose)))
    made = pages.post("/admin/accounts/apikey/add/", key_for(helper))

    assert "sk-studio-" not in refused.content.decode()
    assert "sk-studio-" in made.content.decode()
    assert [key.person for key in ApiKey.objects.all()] == [helper]


def test_a_superuser_does_all_of_it(root: User, ada: User, client: Client) -> None:
    client.force_login(root)
    base = f"/admin/accounts/user/{ada.pk}"

    client.post(f"{base}/change/", person(ada, is_superuser="on", email="ada@example.org"))
    client.post(f"{base}/password/", SET)
    link = client.post(f"{base}/ways-in/", {"do": "link"})
    key = client.post("/admin/accounts/apikey/add/", key_for(ada))

    ada = User.objects.get(pk=ada.pk)
    assert (ada.is_superuser, ada.email, ada.check_password(PASSWORD)) == (True, "ada@example.org", True)
    assert "/sign-in/" in link.content.decode()
    assert "sk-studio-" in key.content.decode()
