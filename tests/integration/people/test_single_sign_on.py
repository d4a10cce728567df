"""Single sign-on, against a provider that is asked over HTTP and signs what it says."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from apps.accounts.models import Project, User
from tests.integration.people.given import is_signed_in, last, set_up_app, sign_in, told
from tests.integration.people.provider import ADA, Provider, come


def test_the_way_in_offers_it_where_there_is_one(db: None, client: Client, provider: Provider) -> None:
    page = client.get("/sign-in/?next=/runs/").content.decode()

    assert 'href="/sign-in/with/oidc/?next=%2Fruns%2F"' in page
    assert "Sign in with Example ID" in page


def test_without_one_there_is_no_such_page(db: None, client: Client) -> None:
    assert client.get("/sign-in/with/oidc/").status_code == 404
    assert client.get("/sign-in/with/oidc/back/").status_code == 404


def test_whom_an_admin_entered_comes_in_by_a_verified_address(known: User, client: Client, provider: Provider) -> None:
    response = come(client, provider, "/runs/")

    assert response["Location"] == "/runs/"
    assert is_signed_in(client)
    assert last("sign-in.done").data["methods"] == ["oidc"]
    assert last("sign-in.connected").texts == {"uid": "u-1"}
    assert User.objects.count() == 1
    known.refresh_from_db()
    assert known.has_usable_password()


def test_from_then_on_the_providers_name_for_them_counts(known: User, client: Client, provider: Provider) -> None:
    come(Client(), provider)
    provider.claims |= {"email": "elsewhere@example.org"}

    come(client, provider)

    assert is_signed_in(client)
    assert len(told("sign-in.connected")) == 1


@pytest.mark.parametrize(
    "changes",
    [{"email": "eve@example.org"}, {"email_verified": False}, {"email": ""}],
    ids=["unknown", "not verified", "none"],
)
def test_whom_nobody_entered_stays_outside(known: User, client: Client, provider: Provider, changes) -> None:
    provider.claims |= changes

    response = come(client, provider)

    assert response.status_code == 403
    assert "Ask an admin of the studio to add you" in response.content.decode()
    assert not is_signed_in(client)
    assert last("sign-in.failed").data["reason"] == "single-sign-on"
    assert not SocialAccount.objects.exists()


@pytest.mark.parametrize("said", ["false", "False", "no", "0", 1, ["true"], {}], ids=str)
def test_only_true_says_that_an_address_is_verified(known: User, client: Client, provider: Provider, said) -> None:
    provider.claims |= {"email_verified": said}

    response = come(client, provider)

    assert response.status_code == 403
    assert not SocialAccount.objects.exists()


def test_a_provider_may_say_true_as_a_word(known: User, client: Client, provider: Provider) -> None:
    provider.claims |= {"email_verified": "true"}

    come(client, provider)

    assert is_signed_in(client)


def test_where_the_environment_says_so_new_people_are_made_without_a_project(
    known: User, client: Client, provider: Provider, settings
) -> None:
    settings.OIDC_SIGN_UP = True
    provider.claims |= {"sub": "u-2", "email": "eve@example.org", "preferred_username": "eve"}

    come(client, provider)

    eve = User.objects.get(username="eve")
    assert is_signed_in(client)
    assert not eve.has_usable_password()
    assert not Project.objects.visible_to(eve).exists()
    assert [event.verb for event in told()] == ["person.created", "sign-in.connected", "sign-in.done"]


def test_an_address_that_is_only_claimed_is_not_kept_and_leads_its_owner_nowhere(
    db: None, client: Client, provider: Provider, settings
) -> None:
    settings.OIDC_SIGN_UP = True
    provider.claims |= {"sub": "u-2", "email": "victim@example.org", "email_verified": False}
    come(Client(), provider)
    [other] = User.objects.all()
    provider.claims = ADA | {"email": "victim@example.org", "preferred_username": "victim"}

    come(client, provider)

    assert (other.username, other.email) == ("al", "")
    assert not EmailAddress.objects.exclude(user__username="victim").exists()
    assert client.get("/account/").context["user"].username == "victim"
    assert User.objects.get(username="victim").email == "victim@example.org"


def test_an_address_that_has_gone_to_somebody_else_makes_them_a_person_of_their_own(
    db: None, client: Client, provider: Provider, settings
) -> None:
    settings.OIDC_SIGN_UP = True
    come(Client(), provider)
    User.objects.update(email="ada@elsewhere.example")
    provider.claims |= {"sub": "u-2", "preferred_username": "new"}

    come(client, provider)

    assert is_signed_in(client)
    assert set(User.objects.values_list("username", "email")) == {
        ("al", "ada@elsewhere.example"),
        ("new", "ada@example.org"),
    }


def test_an_address_of_somebody_makes_no_second_person(
    known: User, client: Client, provider: Provider, settings
) -> None:
    settings.OIDC_SIGN_UP = True
    provider.claims |= {"sub": "u-2", "email_verified": False}

    response = come(client, provider)

    assert response.status_code == 403
    assert User.objects.count() == 1


def test_who_is_switched_off_stays_outside(known: User, client: Client, provider: Provider) -> None:
    known.is_active = False
    known.save()

    response = come(client, provider)

    assert "switched off" in response.content.decode()
    assert not is_signed_in(client)


@pytest.mark.parametrize(
    "wrong",
    [{"iss": "https://elsewhere.example"}, {"aud": "another-studio"}, {"exp": 1}, None],
    ids=["issuer", "audience", "too old", "signature"],
)
def test_a_token_that_is_not_for_the_studio_opens_nothing(
    known: User, client: Client, provider: Provider, wrong
) -> None:
    provider.wrong, provider.forged = wrong or {}, wrong is None

    response = come(client, provider)

    assert response.status_code == 403
    assert not is_signed_in(client)
    assert last("sign-in.failed").data["reason"] == "single-sign-on"


def test_what_the_provider_says_unsigned_does_not_decide_who_comes_in(
    known: User, client: Client, provider: Provider
) -> None:
    provider.claims |= {"sub": "u-2", "email": "eve@example.org"}
    provider.unsigned = ADA

    response = come(client, provider)

    assert response.status_code == 403
    assert not SocialAccount.objects.exists()


def test_who_brings_no_signed_token_stays_outside(known: User, client: Client, provider: Provider) -> None:
    provider.has_token = False

    response = come(client, provider)

    assert response.status_code == 403
    assert not SocialAccount.objects.exists()
    assert provider.asked == ["token"]


def test_a_token_that_names_nobody_opens_nothing(known: User, client: Client, provider: Provider) -> None:
    provider.left_out = ("sub",)

    assert come(client, provider).status_code == 403


def test_an_address_that_the_token_leaves_out_is_asked_for(known: User, client: Client, provider: Provider) -> None:
    provider.left_out = ("email", "email_verified")

    come(client, provider)

    assert is_signed_in(client)
    assert provider.asked == ["token", "userinfo"]
    assert SocialAccount.objects.get().uid == "u-1"


@pytest.mark.parametrize("unsigned", [{"sub": "u-2"}, {"sub": None}], ids=["another", "nobody"])
def test_an_address_of_somebody_else_than_the_token_names_opens_nothing(
    known: User, client: Client, provider: Provider, unsigned
) -> None:
    provider.left_out, provider.unsigned = ("email", "email_verified"), unsigned

    response = come(client, provider)

    assert response.status_code == 403
    assert not SocialAccount.objects.exists()
    assert last("sign-in.failed").data["reason"] == "single-sign-on"


def test_a_token_verifies_no_address_that_came_unsigned(known: User, client: Client, provider: Provider) -> None:
    provider.left_out, provider.unsigned = ("email",), {"email_verified": None}

    assert come(client, provider).status_code == 403
    assert not SocialAccount.objects.exists()


def test_what_another_browser_began_is_not_taken(known: User, client: Client, provider: Provider) -> None:
    sent = Client().get("/sign-in/with/oidc/")
    back = provider.authorize(dict(parse_qsl(urlsplit(sent["Location"]).query)))

    response = client.get("/sign-in/with/oidc/back/", back)

    assert response.status_code == 403
    assert provider.asked == []


def test_coming_back_from_nowhere_leaves_no_event(known: User, client: Client, provider: Provider) -> None:
    answers = [
        client.get("/sign-in/with/oidc/back/", given).status_code
        for given in ({}, {"state": "made-up"}, {"state": "made-up", "error": "server_error"})
    ]

    assert answers == [403, 403, 403]
    assert told() == []
    assert provider.looked_up == 0


def test_an_address_that_comes_too_often_is_sent_away_before_anybody_is_asked(
    known: User, client: Client, provider: Provider, settings
) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"single-sign-on": "3/m/ip"}
    sent = client.get("/sign-in/with/oidc/")
    state = dict(parse_qsl(urlsplit(sent["Location"]).query))["state"]
    for _ in range(2):
        client.get("/sign-in/with/oidc/")
    looked_up = provider.looked_up

    answers = [Client().get("/sign-in/with/oidc/")]
    answers.append(client.get("/sign-in/with/oidc/back/", {"error": "server_error", "state": state}))

    assert [answer.status_code for answer in answers] == [429, 429]
    assert provider.looked_up == looked_up
    assert told() == []


def test_nobody_is_sent_there_while_tries_cannot_be_counted(
    known: User, client: Client, provider: Provider, settings
) -> None:
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:9/0"}}

    response = client.get("/sign-in/with/oidc/")

    assert response.status_code == 503
    assert "Redis does not answer" in response.content.decode()


def test_a_mistake_on_a_way_that_was_gone_is_told(known: User, client: Client, provider: Provider) -> None:
    sent = client.get("/sign-in/with/oidc/")
    state = dict(parse_qsl(urlsplit(sent["Location"]).query))["state"]

    for _ in range(2):
        client.get("/sign-in/with/oidc/back/", {"error": "server_error", "state": state})

    assert len(told("sign-in.failed")) == 1


def test_giving_up_there_says_so_here(known: User, client: Client, provider: Provider) -> None:
    sent = client.get("/sign-in/with/oidc/")
    state = dict(parse_qsl(urlsplit(sent["Location"]).query))["state"]

    response = client.get("/sign-in/with/oidc/back/", {"error": "access_denied", "state": state})

    assert response.status_code == 403
    assert "Begin again" in response.content.decode()
    assert not told("sign-in.failed")


def test_a_provider_that_is_away_is_named(known: User, client: Client, provider: Provider, settings) -> None:
    settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]["settings"]["server_url"] = "http://127.0.0.1:9"

    response = client.get("/sign-in/with/oidc/")

    assert response.status_code == 503
    assert "Example ID does not answer" in response.content.decode()


def test_a_second_factor_is_asked_for_all_the_same(known: User, client: Client, provider: Provider) -> None:
    sign_in(client)
    set_up_app(client, known)
    second = Client()

    response = come(second, provider)

    assert response["Location"] == "/sign-in/second-factor/"
    assert not is_signed_in(second)


def test_nobody_is_led_to_another_site(known: User, client: Client, provider: Provider) -> None:
    response = come(client, provider, "https://example.org/")

    assert response["Location"] == "/"


def test_no_identity_is_tied_to_whoever_is_signed_in(known: User, client: Client, provider: Provider) -> None:
    sign_in(client)

    assert client.get("/sign-in/with/oidc/?process=connect").status_code == 404
    assert client.get("/sign-in/with/oidc/")["Location"] == "/"
