"""What opens an account at the provider of single sign-on is seen, and taken away: by its person, or by an admin."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from apps.accounts.models import User
from apps.web.people import identities
from tests.integration.people.given import is_signed_in, last, sign_in, told
from tests.integration.people.provider import Provider, come


@pytest.fixture
def came(known: User, provider: Provider) -> Client:
    """The browser in which ada came in by single sign-on."""
    client = Client()
    come(client, provider)
    return client


@pytest.fixture
def admin(bob: User) -> Client:
    bob.is_staff = bob.is_superuser = True
    bob.save()
    client = Client()
    client.force_login(bob)
    return client


def take_away(client: Client, pk: int | None = None) -> Any:
    pk = pk or SocialAccount.objects.latest("pk").pk
    return client.post(f"/account/identities/{pk}/remove/", follow=True)


def test_one_sees_what_opens_ones_account(came: Client) -> None:
    page = came.get("/account/").content.decode()

    assert "<b>Example ID</b> Ada@example.org" in page
    assert "<code>u-1</code>" in page
    assert "Take it away" in page


def test_nothing_of_it_is_shown_where_there_is_none(known: User, client: Client) -> None:
    sign_in(client)

    assert "Single sign-on" not in client.get("/account/").content.decode()


def test_what_was_taken_away_opens_nothing_and_what_it_had_opened_is_over(
    known: User, came: Client, client: Client, monkeypatch
) -> None:
    sign_in(client)
    key = came.session.session_key
    ended: list[str] = []
    monkeypatch.setattr(identities, "tell_ended", ended.extend)

    take_away(client)

    assert not SocialAccount.objects.exists()
    assert ended == [key]
    assert not is_signed_in(came)
    assert is_signed_in(client)
    event = last("sign-in.disconnected")
    assert (event.actor, event.data["person"], event.texts) == (known.actor, known.pk, {"uid": "u-1"})


def test_who_is_here_by_it_stays_here(came: Client) -> None:
    take_away(came)

    assert is_signed_in(came)
    assert not SocialAccount.objects.exists()


def test_it_does_not_come_back_to_an_account_with_another_address(
    known: User, came: Client, provider: Provider, client: Client
) -> None:
    take_away(came)
    User.objects.filter(pk=known.pk).update(email="ada@elsewhere.example")

    response = come(client, provider)

    assert response.status_code == 403
    assert not SocialAccount.objects.exists()


def test_nobody_takes_away_what_opens_the_account_of_somebody_else(came: Client, other_browser: Client) -> None:
    response = take_away(other_browser)

    assert response.status_code == 404
    assert SocialAccount.objects.exists()
    assert not told("sign-in.disconnected")


def test_nobody_shuts_themselves_out(known: User, came: Client) -> None:
    known.set_unusable_password()
    known.save()
    came.force_login(known)

    response = take_away(came)

    assert "Nothing else opens this account" in response.content.decode()
    assert SocialAccount.objects.exists()
    assert not told("sign-in.disconnected")


@pytest.mark.parametrize("way", ["a passkey", "another identity"])
def test_another_way_in_is_enough(known: User, came: Client, way: str) -> None:
    first = SocialAccount.objects.get()
    known.set_unusable_password()
    known.save()
    if way == "a passkey":
        Authenticator.objects.create(user=known, type="webauthn", data={"name": "laptop"})
    else:
        SocialAccount.objects.create(user=known, provider="oidc", uid="u-2")
    came.force_login(known)

    take_away(came, first.pk)

    assert not SocialAccount.objects.filter(pk=first.pk).exists()


def test_an_admin_sees_it_and_takes_it_away(known: User, came: Client, admin: Client, bob: User) -> None:
    known.set_unusable_password()
    known.save(update_fields=["password"])
    url, identity = f"/admin/accounts/user/{known.pk}/ways-in/", SocialAccount.objects.get()
    shown = admin.get(url).content.decode()

    page = admin.post(url, {"do": "take-identity-away", "identity": identity.pk}, follow=True).content.decode()

    assert "<code>u-1</code>" in shown
    assert "<code>u-1</code>" not in page
    assert not is_signed_in(came)
    assert last("sign-in.disconnected").actor.id == str(bob.pk)


@pytest.mark.parametrize("given", ["", "0", "x", "theirs"])
def test_an_admin_takes_away_what_is_of_that_person_alone(
    known: User, came: Client, admin: Client, bob: User, given: str
) -> None:
    pk = SocialAccount.objects.get().pk if given == "theirs" else given

    response = admin.post(f"/admin/accounts/user/{bob.pk}/ways-in/", {"do": "take-identity-away", "identity": pk})

    assert response.status_code == 404
    assert SocialAccount.objects.exists()
