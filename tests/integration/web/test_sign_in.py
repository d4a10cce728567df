"""The way in and out."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import SignInLink, User
from apps.accounts.services import make_sign_in_link
from apps.audit.log import STUDIO
from apps.web.people import sign_in

PASSWORD = "ada-correct-horse"
NEW = {"new_password1": "a-new-correct-horse", "new_password2": "a-new-correct-horse"}


@pytest.fixture
def ada(ada: User) -> User:
    """Ada, with a password."""
    ada.set_password(PASSWORD)
    ada.save()
    return ada


@pytest.fixture
def token(ada: User) -> str:
    return make_sign_in_link(user=ada, by=STUDIO, now=timezone.now())


def is_signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def test_a_password_signs_in_and_leads_back(ada: User, client: Client) -> None:
    response = client.post("/sign-in/?next=/runs/", {"login": "ada", "password": PASSWORD, "next": "/runs/"})

    assert response["Location"] == "/runs/"
    assert is_signed_in(client)


def test_nobody_is_led_to_another_site(ada: User, client: Client) -> None:
    elsewhere = "https://example.org/"

    response = client.post("/sign-in/", {"login": "ada", "password": PASSWORD, "next": elsewhere})

    assert response["Location"] == "/"


def test_a_wrong_password_says_so_and_keeps_the_name(ada: User, client: Client) -> None:
    page = client.post("/sign-in/", {"login": "ada", "password": "wrong"}).content.decode()

    assert "do not belong together" in page
    assert 'value="ada"' in page
    assert not is_signed_in(client)


def test_the_way_in_tells_how_to_get_a_link(db: None, client: Client) -> None:
    assert "python manage.py sign_in_link" in client.get("/sign-in/").content.decode()


def test_opening_a_link_does_not_spend_it(token: str, client: Client) -> None:
    page = client.get(f"/sign-in/{token}/").content.decode()

    assert SignInLink.objects.get().used_at is None
    assert '<form method="post">' in page
    assert not is_signed_in(client)


def test_pressing_its_button_signs_in(token: str, client: Client) -> None:
    response = client.post(f"/sign-in/{token}/")

    assert response["Location"] == "/"
    assert is_signed_in(client)


def test_a_link_signs_in_once(token: str, client: Client) -> None:
    client.post(f"/sign-in/{token}/")
    second = Client()

    response = second.post(f"/sign-in/{token}/")

    assert response.status_code == 410
    assert "python manage.py sign_in_link" in response.content.decode()
    assert not is_signed_in(second)


def test_an_expired_link_says_how_to_get_another(token: str, client: Client) -> None:
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    response = client.post(f"/sign-in/{token}/")

    assert response.status_code == 410
    assert "no longer works" in response.content.decode()


def test_a_token_of_nonsense_is_a_spent_link(db: None, client: Client) -> None:
    assert client.post("/sign-in/%F0%9F%92%A9%00/").status_code == 410


def test_signing_out_needs_a_post_and_tells_the_sockets(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str | None, str]] = []
    monkeypatch.setattr(sign_in, "tell_session", lambda *given: told.append(given))
    session_key = browser.session.session_key

    assert browser.get("/sign-out/").status_code == 405
    assert is_signed_in(browser)
    browser.post("/sign-out/")

    assert told == [(session_key, "session.ended")]
    assert not is_signed_in(browser)


def test_who_came_by_a_link_can_set_a_password(ada: User, token: str, client: Client) -> None:
    ada.set_unusable_password()
    ada.save()
    client.post(f"/sign-in/{token}/")

    page = client.get("/account/").content.decode()
    response = client.post("/account/", NEW)

    assert "old_password" not in page
    assert response["Location"] == "/account/"
    assert is_signed_in(client)
    ada.refresh_from_db()
    assert ada.check_password("a-new-correct-horse")


def test_a_new_password_needs_the_old_one_and_ends_other_sessions(ada: User, browser: Client) -> None:
    elsewhere = Client()
    elsewhere.force_login(ada)

    refused = browser.post("/account/", {"old_password": "wrong", **NEW})
    done = browser.post("/account/", {"old_password": PASSWORD, **NEW}, follow=True)

    assert refused.status_code == 422
    assert "Your old password was entered incorrectly" in refused.content.decode()
    assert "The password was changed" in done.content.decode()
    assert not is_signed_in(elsewhere)
