"""Every sign-in, failure and sign-out is told; nothing tells a stranger which names there are; too many tries wait."""

import re
import time
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services import TRAIL
from apps.audit.log import verify
from apps.audit.models import Event, Payload
from tests.integration.people.conftest import PASSWORD
from tests.integration.people.given import code_of, is_signed_in, last, set_up_app, sign_in, told

WRONG = "The user name and the password do not belong together."


def said(response: Any) -> str:
    """The page without what differs from one to the next: tokens, and the name that was typed."""
    page = response.content.decode()
    return re.sub(r'value="[^"]*"|X-CSRFToken": "[^"]*"', "", page)


def test_coming_in_and_going_out_are_told(ada: User, client: Client) -> None:
    sign_in(client, headers={"User-Agent": "Firefox/140"})
    client.post("/sign-out/")

    came, went = last("sign-in.done"), last("sign-out.done")
    assert came.data["methods"] == ["password"]
    assert came.texts == {"address": "127.0.0.1", "agent": "Firefox/140"}
    assert came.actor.id == str(ada.pk)
    assert came.data["session"] == went.data["session"]
    assert verify(TRAIL).first_break is None
    assert not is_signed_in(client)


def test_no_key_of_a_session_reaches_the_trail(ada: User, client: Client) -> None:
    sign_in(client)

    key = client.session.session_key
    assert key is not None
    assert key not in str([*Event.objects.values(), *Payload.objects.values()])


def test_a_wrong_password_is_told_by_the_studio_about_the_person(ada: User, client: Client) -> None:
    page = sign_in(client, password="wrong").content.decode()

    assert WRONG in page
    failed = last("sign-in.failed")
    assert (failed.data["person"], failed.data["reason"], failed.actor.id) == (ada.pk, "password", "studio")
    assert not is_signed_in(client)


def test_what_is_typed_where_a_name_belongs_is_kept_nowhere(ada: User, client: Client) -> None:
    sign_in(client, name="my-secret-horse", password="x")

    assert last("sign-in.failed").data["person"] is None
    assert "my-secret-horse" not in str([*Event.objects.values(), *Payload.objects.values()])


def test_a_name_that_nobody_has_a_wrong_password_and_one_switched_off_get_the_same_answer(
    ada: User, bob: User, client: Client
) -> None:
    bob.set_password(PASSWORD)
    bob.is_active = False
    bob.save()

    answers = [sign_in(Client(), name=name) for name in ("nobody", "bob")] + [sign_in(Client(), password="wrong")]

    assert len({said(answer) for answer in answers}) == 1
    assert {answer.status_code for answer in answers} == {200}
    assert WRONG in said(answers[0])


def test_they_take_as_long_as_each_other(ada: User, settings) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login": None, "login_failed": None}
    took: dict[str, list[float]] = {"ada": [], "nobody": []}

    for _ in range(5):
        for name in took:
            client, began = Client(), time.perf_counter()
            sign_in(client, name=name, password="wrong")
            took[name].append(time.perf_counter() - began)

    known, unknown = (min(each) for each in took.values())
    assert known / unknown == pytest.approx(1, abs=0.5)  # hashing is most of it: without it there is a factor of ten


def test_five_wrong_passwords_shut_a_name_for_a_while_and_are_told_once(ada: User, client: Client) -> None:
    for _ in range(5):
        sign_in(client, password="wrong")

    pages = [sign_in(Client(), password=PASSWORD).content.decode() for _ in range(3)]

    assert all("too many tries" in page for page in pages)
    assert len(told("sign-in.failed")) == 5
    assert [event.data["person"] for event in told("sign-in.throttled")] == [ada.pk]


def test_another_address_of_the_studio_opens_no_new_count(ada: User, client: Client) -> None:
    hosts = ["127.0.0.1", "127.0.0.1:1", "localhost", "localhost:2", "[::1]:3"]
    for host in hosts:
        sign_in(client, password="wrong", headers={"Host": host})

    page = sign_in(Client(), headers={"Host": "127.0.0.1:4"}).content.decode()

    assert "too many tries" in page
    assert len(told("sign-in.failed")) == 5


@pytest.mark.parametrize(
    ("shut", "typed"), [("ada", "ADA"), ("ada", " Ada "), ("nobody", "NOBODY"), ("nobody", "\uff4eobody")]
)
def test_other_letters_for_a_name_open_no_new_count(ada: User, client: Client, shut: str, typed: str) -> None:
    for _ in range(5):
        sign_in(client, name=shut, password="wrong")

    page = sign_in(Client(), name=typed).content.decode()

    assert "too many tries" in page


def test_a_name_that_is_only_like_somebody_s_is_nobody_s(ada: User, client: Client) -> None:
    """PostgreSQL makes the same capital of both; the password of the one is not looked at for the other."""
    ada.username = "sam"
    ada.save()
    for _ in range(5):
        sign_in(client, name="\u017fam", password=PASSWORD)

    sign_in(client, name="sam")

    assert {event.data["person"] for event in told("sign-in.failed")} == {None}
    assert is_signed_in(client)


def test_others_come_in_while_a_name_is_shut(ada: User, bob: User, client: Client) -> None:
    bob.set_password(PASSWORD)
    bob.save()
    for _ in range(6):
        sign_in(client, password="wrong")

    sign_in(client, name="bob")

    assert is_signed_in(client)


def test_whoever_tries_all_day_is_shut_out_by_address(ada: User, client: Client) -> None:
    answers = [sign_in(client, name=f"nobody-{number}").status_code for number in range(31)]

    assert answers[-1] == 429
    assert len(told("sign-in.failed")) == 20


def test_no_password_is_looked_at_while_tries_cannot_be_counted(ada: User, client: Client, settings) -> None:
    settings.CACHES = {
        "default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:9/0"},
    }

    answer = sign_in(client)

    assert answer.status_code == 503
    assert "Redis does not answer" in answer.content.decode()
    assert not told("sign-in.done")


@pytest.mark.parametrize("path", ["/sign-up/", "/accounts/signup/", "/signup/", "/account/email/", "/password/reset/"])
def test_nobody_signs_up_and_no_password_is_sent_anywhere(db: None, client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_admin_pages_have_no_way_in_of_their_own(ada: User, client: Client) -> None:
    ada.is_staff = ada.is_superuser = True
    ada.save()

    asked = client.get("/admin/login/?next=/admin/accounts/")
    sign_in(client)
    inside = client.get("/admin/")
    client.post("/admin/logout/")

    assert asked["Location"] == "/sign-in/?next=%2Fadmin%2Faccounts%2F"
    assert inside.status_code == 200
    assert last("sign-out.done").data["person"] == ada.pk
    assert not is_signed_in(client)


def test_the_admin_pages_do_not_change_what_allauth_keeps(ada: User, client: Client) -> None:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    sign_in(client)

    index = client.get("/admin/").content.decode()

    for app in ("mfa", "usersessions", "socialaccount", "account"):
        assert f"/admin/{app}/" not in index


NEW = {"new_password1": "a-new-correct-horse", "new_password2": "a-new-correct-horse"}


def test_guessing_the_old_password_is_told_and_shut_off_like_any_guessing(ada: User, client: Client) -> None:
    sign_in(client)
    for _ in range(5):
        client.post("/account/", {"old_password": "wrong", **NEW})

    refused = client.post("/account/", {"old_password": PASSWORD, **NEW})

    assert refused.status_code == 422
    assert "too many tries" in refused.content.decode()
    assert [event.data["person"] for event in told("sign-in.failed")] == [ada.pk] * 5
    assert last("sign-in.throttled").data["person"] == ada.pk
    assert not told("password.changed")


def test_no_old_password_is_looked_at_while_tries_cannot_be_counted(ada: User, client: Client, settings) -> None:
    sign_in(client)
    settings.CACHES = {
        "default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:9/0"},
    }

    answer = client.post("/account/", {"old_password": PASSWORD, **NEW})

    assert answer.status_code == 503
    assert not told("password.changed")


def test_a_first_password_is_set_after_the_second_factor_was_shown_again(ada: User, client: Client) -> None:
    sign_in(client)
    secret, _ = set_up_app(client, ada)
    User.objects.filter(pk=ada.pk).update(password=make_password(None))
    stolen = Client()
    stolen.force_login(User.objects.get())

    page = stolen.get("/account/").content.decode()
    refused = stolen.post("/account/", NEW)
    kept = str([*stolen.session.items()])
    stolen.post(refused["Location"], {"code": code_of(secret), "next": "/account/"})
    offered = stolen.get("/account/").content.decode()
    stolen.post("/account/", NEW)

    assert refused["Location"] == "/account/again/code/?next=%2Faccount%2F"
    assert refused["Location"] in page
    assert "new_password1" not in page
    assert NEW["new_password1"] not in kept
    assert "new_password1" in offered
    assert [event.data["person"] for event in told("password.changed")] == [ada.pk]


@pytest.mark.parametrize("other_name_for_it", ["{}", "0{}", "%20{}"], ids=["plain", "with a zero", "with a space"])
def test_the_admin_pages_take_no_password_of_one_s_own(ada: User, client: Client, other_name_for_it: str) -> None:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    sign_in(client)
    at = f"/admin/accounts/user/{other_name_for_it.format(ada.pk)}/password/"

    answers = [
        client.get(at),
        client.post(at, {"usable_password": "true", "password1": "x" * 20, "password2": "x" * 20}),
    ]

    assert [answer["Location"] for answer in answers] == ["/account/"] * 2
    assert not told("password.changed")


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.7", "127.0.0.1"),
        (1, "198.51.100.1, 203.0.113.7", "203.0.113.7"),
        (2, "198.51.100.1, 203.0.113.7", "198.51.100.1"),
        (2, "203.0.113.7", "127.0.0.1"),
        (1, "nonsense", "0.0.0.0"),
    ],
    ids=["none is trusted", "the nearest", "the one before", "round them", "nonsense"],
)
def test_an_address_is_believed_as_far_as_the_proxies_are_ours(
    ada: User, client: Client, settings, proxies: int, forwarded: str, address: str
) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = proxies

    sign_in(client, headers={"X-Forwarded-For": forwarded})

    assert last("sign-in.done").texts["address"] == address
    assert is_signed_in(client)
