"""API keys on the account page, and how often one is let in."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.admission import Admission, admit
from apps.accounts.api_keys import KeyNotMade, find_by_secret, make_api_key
from apps.accounts.models import ApiKey, User
from apps.accounts.services import make_sign_in_link
from apps.audit.log import STUDIO
from tests import factories
from tests.integration.people.conftest import PASSWORD
from tests.integration.people.given import confirm, last

NOW = timezone.now().replace(microsecond=0)


def posted(user: User, **changes: object) -> dict[str, object]:
    assert user.home_project is not None
    given = {"name": "nightly", "project": user.home_project.pk, "scopes": ["run", "read"], "lifetime": "30"}
    return given | {"rate_per_minute": 120} | changes


def a_key(user: User, rate: int) -> ApiKey:
    assert user.home_project is not None
    home = user.home_project
    key, _ = make_api_key(
        person=user, project=home, name="n", scopes=["run"], rate_per_minute=rate, by=user.actor, now=NOW
    )
    return key


@pytest.fixture
def browser(browser: Client) -> Client:
    """Ada's, who has just shown once more who she is."""
    confirm(browser)
    return browser


def test_whoever_finds_a_browser_open_makes_no_key(ada: User, client: Client) -> None:
    client.force_login(ada)

    asked = [client.get("/account/keys/new/"), client.post("/account/keys/new/", posted(ada))]
    led = client.post(asked[1]["Location"], {"password": PASSWORD, "next": "/account/keys/new/"})

    assert {answer["Location"] for answer in asked} == {"/account/again/?next=%2Faccount%2Fkeys%2Fnew%2F"}
    assert led["Location"] == "/account/keys/new/"
    assert not ApiKey.objects.exists()
    assert "Make the key" in client.get("/account/keys/new/").content.decode()


def test_nor_do_they_in_the_admin_pages(ada: User, client: Client) -> None:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    client.force_login(ada)
    at, given = "/admin/accounts/apikey/add/", posted(ada, person=ada.pk)

    asked = client.get(at), client.post(at, given)
    before = ApiKey.objects.exists()
    shown = client.post(asked[1]["Location"], {"password": PASSWORD, "next": at}).content.decode()

    assert {answer["Location"] for answer in asked} == {"/account/again/?next=%2Fadmin%2Faccounts%2Fapikey%2Fadd%2F"}
    assert not before
    assert "sk-studio-" in shown
    assert ApiKey.objects.get().person == ada


def test_whoever_came_by_a_link_and_has_nothing_to_show_makes_one_at_once(bob: User, client: Client) -> None:
    bob.set_unusable_password()
    bob.save()
    client.post(f"/sign-in/{make_sign_in_link(user=bob, by=STUDIO, now=NOW)}/")

    page = client.post("/account/keys/new/", posted(bob)).content.decode()

    assert "sk-studio-" in page
    assert ApiKey.objects.get().person == bob


def test_a_key_is_made_shown_once_and_listed(ada: User, browser: Client) -> None:
    page = browser.post("/account/keys/new/", posted(ada)).content.decode()
    listed = browser.get("/account/").content.decode()

    [secret] = set(re.findall(r"sk-studio-[\w-]{43}", page))
    key = find_by_secret(secret=secret, now=timezone.now())
    assert key is not None
    assert (key.person, key.scopes, key.rate_per_minute) == (ada, ["read", "run"], 120)
    assert secret not in listed
    assert key.prefix in listed
    assert "120 a minute" in listed
    assert last("api-key.made").data["rate"] == 120


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": " "}, "This field is required"),
        ({"scopes": []}, "This field is required"),
        ({"scopes": ["everything"]}, "is not one of the available choices"),
        ({"rate_per_minute": 0}, "greater than or equal to 1"),
        ({"lifetime": "9999"}, "is not one of the available choices"),
    ],
)
def test_what_is_wrong_with_a_key_is_said_where_it_is(ada: User, browser: Client, changes, words: str) -> None:
    response = browser.post("/account/keys/new/", posted(ada, **changes))

    assert response.status_code == 422
    assert words in response.content.decode()
    assert not ApiKey.objects.exists()


def test_no_key_opens_a_project_of_others(ada: User, browser: Client) -> None:
    others = factories.make_project("others")

    response = browser.post("/account/keys/new/", posted(ada, project=others.pk))

    assert response.status_code == 422
    assert not ApiKey.objects.exists()


def test_one_revokes_ones_own_keys_and_no_others(ada: User, browser: Client, other_browser: Client) -> None:
    key = a_key(ada, 60)

    refused = other_browser.post(f"/account/keys/{key.pk}/revoke/")
    before = ApiKey.objects.get().revoked_at
    browser.post(f"/account/keys/{key.pk}/revoke/")

    assert refused.status_code == 404
    assert before is None
    assert ApiKey.objects.get().revoked_at is not None
    assert last("api-key.revoked").data["key"] == key.pk


def test_a_key_spends_its_minute_and_then_goes_on_at_its_rate(ada: User) -> None:
    key = a_key(ada, 6)

    at_once = [admit(key=key, now=NOW) for _ in range(8)]
    later = [admit(key=key, now=NOW + timedelta(seconds=seconds)).is_in for seconds in (9, 10, 11, 20, 21)]

    assert [each.is_in for each in at_once] == [True] * 6 + [False] * 2
    assert [each.left for each in at_once] == [5, 4, 3, 2, 1, 0, 0, 0]
    assert at_once[-1].retry_after_s == pytest.approx(10, abs=0.01)
    assert later == [False, True, False, True, False]


def test_no_minute_holds_more_than_twice_what_a_key_may(ada: User) -> None:
    """A key may bring its minute at once, and meanwhile earns the next: that is the most there can be."""
    key = a_key(ada, 30)

    came = [admit(key=key, now=NOW + timedelta(seconds=tenth / 10)).is_in for tenth in range(600)]

    assert 30 <= sum(came) <= 60


def test_a_refused_request_costs_nothing(ada: User) -> None:
    key = a_key(ada, 1)
    admit(key=key, now=NOW)
    for _ in range(50):
        admit(key=key, now=NOW)

    assert admit(key=key, now=NOW + timedelta(seconds=60)).is_in


def test_keys_are_counted_each_for_itself(ada: User) -> None:
    one, other = a_key(ada, 1), a_key(ada, 1)

    assert [admit(key=each, now=NOW).is_in for each in (one, other, one)] == [True, True, False]


def test_without_redis_nobody_is_kept_out(ada: User, settings) -> None:
    key = a_key(ada, 1)
    settings.REDIS_URL = "redis://127.0.0.1:9/0"

    assert [admit(key=key, now=NOW) for _ in range(2)] == [Admission(is_in=True, left=1)] * 2


@pytest.mark.parametrize("rate", [0, -1, 6_001])
def test_a_rate_has_bounds(ada: User, rate: int) -> None:
    with pytest.raises(KeyNotMade, match="requests a minute"):
        a_key(ada, rate)
