"""A sign-in link that is open can be made void, and its token reaches no log."""

import logging
from typing import Any

import pytest
import structlog
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import SignInLink, User
from apps.accounts.services import (
    TRAIL,
    SignInLinkSpent,
    change_password,
    ensure_first_person,
    make_sign_in_link,
    redeem_sign_in_link,
)
from apps.audit.log import STUDIO, read
from tests.factories import make_person
from tests.integration.accounts.test_admin import PASSWORD

pytestmark = pytest.mark.django_db

SET = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def ada() -> User:
    return make_person("ada")


@pytest.fixture
def token(ada: User) -> str:
    return make_sign_in_link(user=ada, by=STUDIO, now=timezone.now())


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(ensure_first_person(now=timezone.now()))
    return client


def opens(token: str) -> bool:
    try:
        redeem_sign_in_link(token=token, now=timezone.now())
    except SignInLinkSpent:
        return False
    return True


def test_a_newer_link_makes_the_one_before_it_void(ada: User, token: str) -> None:
    newer = make_sign_in_link(user=ada, by=STUDIO, now=timezone.now())

    assert not opens(token)
    assert opens(newer)
    made, voided, *_ = read(TRAIL)
    assert (made.verb, voided.verb) == ("sign-in-link.made", "sign-in-link.voided")
    assert voided.data == {"person": ada.pk, "links": [made.data["link"]]}


def test_a_link_of_somebody_else_stays(token: str) -> None:
    make_sign_in_link(user=make_person("bob"), by=STUDIO, now=timezone.now())

    assert opens(token)


def test_a_password_of_their_own_makes_it_void(ada: User, token: str) -> None:
    change_password(user=ada, password=PASSWORD, by=ada.actor, now=timezone.now())

    assert not opens(token)


@pytest.mark.parametrize(
    ("page", "given"),
    [
        ("password", SET),
        ("password", {"usable_password": "false", "unset-password": "1"}),
        ("ways-in", {"do": "end-sessions"}),
        ("ways-in", {"do": "void-link"}),
        ("ways-in", {"do": "link"}),
    ],
)
def test_an_admin_makes_it_void(browser: Client, ada: User, token: str, page: str, given: dict[str, Any]) -> None:
    ada.set_password("a password before")
    ada.save()

    browser.post(f"/admin/accounts/user/{ada.pk}/{page}/", given)

    assert not opens(token)
    assert [event.verb for event in read(TRAIL)].count("sign-in-link.voided") == 1


def test_a_password_set_by_command_makes_it_void(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda **given: PASSWORD)

    call_command("changepassword", "ada")

    assert not opens(token)


def test_the_page_tells_of_a_link_while_it_is_open(browser: Client, ada: User, token: str) -> None:
    page = f"/admin/accounts/user/{ada.pk}/ways-in/"

    told = browser.get(page).content.decode()
    SignInLink.objects.update(used_at=timezone.now())

    assert "Make it void" in told
    assert "Make it void" not in browser.get(page).content.decode()


@pytest.mark.parametrize("begins", ["/sign-in/", "/shared/"])
def test_a_token_reaches_no_log(token: str, begins: str, caplog: pytest.LogCaptureFixture) -> None:
    Client(enforce_csrf_checks=True).post(f"{begins}{token}/")

    logs: Any = settings.LOGGING
    known = {name: each for name, each in logs["formatters"]["json"].items() if name != "()"}
    formatter = structlog.stdlib.ProcessorFormatter(**known)
    written = [formatter.format(record) for record in caplog.records]
    assert any(f"{begins}***/" in line for line in written)
    assert token not in "".join(written)


def test_nothing_of_django_s_is_written_past_the_studio_s_own_format() -> None:
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "django"]

    assert "django" in names
    assert [name for name in names if logging.getLogger(name).handlers] == []
