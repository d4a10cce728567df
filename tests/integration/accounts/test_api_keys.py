"""Programs' keys: shown once, found by their secret, revoked for good; and all of it told."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.api_keys import KeyNotMade, find_by_secret, make_api_key, revoke_api_key
from apps.accounts.models import ApiKey, Project, User
from apps.accounts.services import TRAIL, ensure_first_person
from apps.audit.log import Read, verify
from apps.audit.models import Event, Payload
from tests.factories import told_in

pytestmark = pytest.mark.django_db

NOW = datetime.fromisoformat("2026-03-02T12:00:00+00:00")


@pytest.fixture
def admin() -> User:
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def browser(admin: User, client: Client) -> Client:
    client.force_login(admin)
    return client


def made(admin: User, **more: Any) -> tuple[ApiKey, str]:
    given: dict[str, Any] = {"name": "nightly", "scopes": ["run", "read"], "by": admin.actor, "now": NOW} | more
    return make_api_key(person=admin, project=given.pop("project", Project.objects.get(slug="default")), **given)


def told() -> list[Read]:
    return [event for event in told_in(TRAIL) if event.verb.startswith("api-key")]


def test_a_key_is_found_by_its_secret_and_kept_as_a_digest(admin: User) -> None:
    key, secret = made(admin)

    assert re.fullmatch(r"sk-studio-[A-Za-z0-9_-]{43}", secret)
    assert find_by_secret(secret=secret, now=NOW) == key
    assert key.scopes == ["read", "run"]
    kept = str([*ApiKey.objects.values(), *Event.objects.values(), *Payload.objects.values()])
    assert secret not in kept
    assert secret[len(key.prefix) :] not in kept


@pytest.mark.parametrize(
    "wrong", ["", "sk-studio-", "sk-studio-" + "a" * 43, "Bearer x", "sk-studio-" + "ä" * 43, "\0"]
)
def test_a_secret_nobody_gave_out_finds_nothing(admin: User, wrong: str) -> None:
    made(admin)

    assert find_by_secret(secret=wrong, now=NOW) is None


def test_a_revoked_key_opens_nothing_and_is_revoked_once(admin: User) -> None:
    key, secret = made(admin)

    assert revoke_api_key(key=key, by=admin.actor, now=NOW) is True
    assert revoke_api_key(key=key, by=admin.actor, now=NOW) is False

    assert find_by_secret(secret=secret, now=NOW) is None
    assert [event.verb for event in told()] == ["api-key.made", "api-key.revoked"]


def test_an_expired_key_and_the_key_of_somebody_switched_off_open_nothing(admin: User) -> None:
    _, short = made(admin, expires_at=NOW + timedelta(days=1))
    _, other = made(admin, name="other")

    assert find_by_secret(secret=short, now=NOW + timedelta(hours=23)) is not None
    assert find_by_secret(secret=short, now=NOW + timedelta(days=1)) is None
    User.objects.update(is_active=False)
    assert find_by_secret(secret=other, now=NOW) is None


def test_use_is_noted_to_the_minute_and_the_first_use_is_told(admin: User) -> None:
    key, secret = made(admin)

    for seconds in (0, 30, 70):
        find_by_secret(secret=secret, now=NOW + timedelta(seconds=seconds))

    key.refresh_from_db()
    assert key.last_used_at == NOW + timedelta(seconds=70)
    assert [event.verb for event in told()] == ["api-key.made", "api-key.first-used"]
    assert told()[-1].actor.kind == "key"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": "  "}, "give it a name"),
        ({"scopes": []}, "opens one or more"),
        ({"scopes": ["everything"]}, "opens one or more"),
        ({"expires_at": NOW}, "a time to come"),
    ],
)
def test_a_key_that_could_do_nothing_is_not_made(admin: User, given: dict[str, Any], why: str) -> None:
    with pytest.raises(KeyNotMade, match=why):
        made(admin, **given)

    assert told() == []


def test_nobody_gets_a_key_to_a_project_of_others(admin: User) -> None:
    lab = Project.objects.create(slug="lab", name="Lab", created_at=NOW)

    with pytest.raises(KeyNotMade, match="does not belong to Lab"):
        made(admin, project=lab)


def test_a_key_of_an_auditor_reads_and_does_no_more(admin: User) -> None:
    admin.memberships.update(role="auditor")

    with pytest.raises(KeyNotMade, match="only “read”"):
        made(admin)

    assert made(admin, scopes=["read"])[0].scopes == ["read"]


# --- pages and command ---------------------------------------------------------------------------------------------


def test_the_page_shows_the_secret_once_and_nowhere_else(browser: Client, admin: User) -> None:
    given = {
        "name": "nightly",
        "person": admin.pk,
        "project": Project.objects.get().pk,
        "scopes": ["read"],
        "lifetime": "30",
    }

    answer = browser.post("/admin/accounts/apikey/add/", given)

    [secret] = re.findall(r"sk-studio-[A-Za-z0-9_-]{43}", answer.content.decode())
    key = ApiKey.objects.get()
    assert find_by_secret(secret=secret, now=timezone.now()) == key
    assert "no-store" in answer["Cache-Control"]
    paths = ("", f"{key.pk}/change/", f"{key.pk}/history/", f"{key.pk}/revoke/", f"{key.pk}/delete/")
    pages = "".join(browser.get(f"/admin/accounts/apikey/{path}").content.decode() for path in paths)
    assert key.prefix in pages
    assert secret not in pages + str(list(LogEntry.objects.values()))


def test_the_page_says_at_the_field_that_the_person_is_not_in_the_project(browser: Client, admin: User) -> None:
    lab = Project.objects.create(slug="lab", name="Lab", created_at=NOW)

    answer = browser.post(
        "/admin/accounts/apikey/add/", {"name": "x", "person": admin.pk, "project": lab.pk, "scopes": ["read"]}
    )

    assert "does not belong to Lab" in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_revoking_asks_first(browser: Client, admin: User) -> None:
    key, secret = made(admin)
    page = f"/admin/accounts/apikey/{key.pk}/revoke/"

    asked = browser.get(page)

    assert "is refused at once" in asked.content.decode()
    assert find_by_secret(secret=secret, now=NOW) is not None
    assert browser.post(page).status_code == 302
    assert find_by_secret(secret=secret, now=NOW) is None
    assert "revoked" in browser.get("/admin/accounts/apikey/").content.decode()


def test_a_key_s_page_changes_nothing(browser: Client, admin: User) -> None:
    key, _ = made(admin)

    answer = browser.post(f"/admin/accounts/apikey/{key.pk}/change/", {"name": "other", "scopes": ["chat"]})

    assert answer.status_code == 403
    key.refresh_from_db()
    assert key.name == "nightly"


def test_the_command_prints_the_key_alone(admin: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_api_key", user="admin", scope=["chat"], days=7)

    secret = capsys.readouterr().out.strip()
    key = find_by_secret(secret=secret, now=timezone.now())
    assert key is not None
    assert (key.scopes, key.person) == (["chat"], admin)
    assert told()[0].actor.id == "create_api_key"
    assert verify(TRAIL).first_break is None


@pytest.mark.parametrize(
    ("given", "why"), [({"user": "nobody"}, "no active person"), ({"project": "x"}, "no project x")]
)
def test_the_command_refuses_what_it_cannot_make(admin: User, given: dict[str, Any], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        call_command("create_api_key", **({"user": "admin"} | given))
