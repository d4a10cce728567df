"""Passkeys in a real browser with a virtual authenticator; and one's account, looked at by axe."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page

from apps.accounts.models import User
from apps.accounts.services import TRAIL
from apps.audit.log import Read, read
from tests.functional.web.browsing import Server, Watched, check_nobody_is_kept_out, elsewhere

pytestmark = [pytest.mark.browser]

PASSWORD = "ada-correct-horse"
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def device(server: Server, ada: User, opened: Callable[[], Any]) -> Iterator[tuple[Watched, str]]:
    """A page in a browser that can keep passkeys, and the studio's address by its name: a number will not do."""
    ada.set_password(PASSWORD)
    ada.save()
    with opened() as browser:
        page = with_authenticator(browser)
        yield Watched(page), server.url.replace("127.0.0.1", "localhost")


def with_authenticator(browser: Browser) -> Page:
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def sign_in(page: Page, url: str) -> None:
    page.goto(f"{url}/sign-in/")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Sign in")


def add_passkey(page: Page, url: str) -> None:
    """As somebody signed in, who shows again who they are."""
    page.goto(f"{url}/account/second-factors/passkeys/new/")
    page.get_by_label("Your password").fill(PASSWORD)
    press(page, "Go on")
    page.get_by_label("Name").fill("laptop")
    press(page, "Add the passkey")
    page.locator("#codes").wait_for()


def sign_out(page: Page) -> None:
    page.locator(".avatar").click()
    press(page, "Sign out")
    page.get_by_role("heading", name="Sign in", exact=True).wait_for()


def told(verb: str) -> list[Read]:
    return elsewhere(lambda: [event for event in read(TRAIL) if event.verb == verb])


def test_a_passkey_signs_in_alone(device: tuple[Watched, str]) -> None:
    watched, url = device
    page = watched.page
    sign_in(page, url)
    page.wait_for_url(f"{url}/")
    add_passkey(page, url)
    sign_out(page)

    page.goto(f"{url}/sign-in/?next=/runs/")
    press(page, "Sign in with a passkey")
    page.wait_for_url(f"{url}/runs/")

    assert told("sign-in.done")[-1].data["methods"] == ["webauthn"]
    assert told("second-factor.added")[0].texts == {"name": "laptop"}
    assert watched.complaints == []


def test_a_passkey_is_asked_for_beside_a_password(device: tuple[Watched, str]) -> None:
    watched, url = device
    page = watched.page
    sign_in(page, url)
    page.wait_for_url(f"{url}/")
    add_passkey(page, url)
    sign_out(page)

    sign_in(page, url)
    page.get_by_role("heading", name="One more step").wait_for()
    press(page, "Use a passkey")
    page.wait_for_url(f"{url}/")

    assert told("sign-in.done")[-1].data["methods"] == ["password", "webauthn"]
    assert watched.complaints == []


def test_one_is_renamed_and_taken_away_after_it_was_shown(device: tuple[Watched, str]) -> None:
    watched, url = device
    page = watched.page
    sign_in(page, url)
    page.wait_for_url(f"{url}/")
    add_passkey(page, url)

    page.goto(f"{url}/account/second-factors/")
    page.get_by_role("link", name="Rename laptop").click()
    page.get_by_label("Name").fill("old laptop")
    press(page, "Rename")
    page.get_by_role("link", name="Take away old laptop").click()
    press(page, "Take it away")
    page.get_by_text("Nothing that could be stolen leaves it").wait_for()

    assert told("second-factor.renamed")[0].texts == {"name": "old laptop"}
    assert [event.data["kind"] for event in told("second-factor.removed")] == ["webauthn", "recovery_codes"]


def test_without_one_the_browser_says_so_and_a_password_is_still_there(device: tuple[Watched, str]) -> None:
    watched, url = device
    page = watched.page
    page.goto(f"{url}/sign-in/")

    press(page, "Sign in with a passkey")
    page.get_by_text("this device has no passkey for the studio").wait_for()
    sign_in(page, url)

    page.wait_for_url(f"{url}/")


PAGES = [
    ("/account/", "#keys"),
    ("/account/second-factors/", "#codes, #passkeys"),
    ("/account/keys/new/", "main fieldset"),
    ("/account/again/", "main form"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_of_their_account(server: Server, ada: User, opened: Callable[[], Any], scheme: Any) -> None:
    ada.set_password(PASSWORD)
    ada.save()
    server.cookie = elsewhere(cookie_of, ada)

    check_nobody_is_kept_out(server, opened, PAGES, scheme=scheme, width=390)


def cookie_of(user: User) -> str:
    """The cookie of a new session, in which its pages are shown: a new password ended the one there was."""
    client = Client()
    client.force_login(user)
    client.post("/account/again/", {"password": PASSWORD})
    return client.cookies[settings.SESSION_COOKIE_NAME].value
