"""Where somebody is signed in is listed, and ended: by themselves, by a new password, by an admin."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.contrib.auth.models import Permission
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.second_factors import names_of_factors
from apps.accounts.sessions import forget_ended_sessions, sessions_of
from apps.web.people import account
from apps.web.people.presence import Presence
from tests.integration.people.given import is_signed_in, last, set_up_app, sign_in, told

FIREFOX = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}


def two_of(ada: User) -> tuple[Client, Client]:
    here, there = Client(), Client(headers=FIREFOX)
    for each in (here, there):
        sign_in(each)
    return here, there


def row_of(client: Client) -> UserSession:
    return UserSession.objects.get(session_key=client.session.session_key)


def test_sessions_are_listed_with_where_they_are(ada: User) -> None:
    here, _ = two_of(ada)

    page = here.get("/account/").content.decode()

    assert "Firefox on Linux" in page
    assert page.count("127.0.0.1 ·") == 2
    assert page.count('<span class="tag">here</span>') == 1


def test_one_is_ended_at_once_with_its_sockets(ada: User, monkeypatch) -> None:
    here, there = two_of(ada)
    key = there.session.session_key
    ended: list[str] = []
    monkeypatch.setattr(account, "tell_ended", ended.extend)

    here.post(f"/account/sessions/{row_of(there).pk}/end/")

    assert ended == [key]
    assert not is_signed_in(there)
    assert is_signed_in(here)
    revoked = last("session.revoked")
    assert revoked.data["person"] == ada.pk
    assert revoked.data["sessions"] == [told("sign-in.done")[1].data["session"]]


def test_all_others_are_ended(ada: User) -> None:
    here, there = two_of(ada)

    here.post("/account/sessions/end-others/")

    assert not is_signed_in(there)
    assert is_signed_in(here)


def test_nobody_ends_a_session_of_somebody_else(ada: User, other_browser: Client) -> None:
    here, _ = two_of(ada)

    other_browser.post(f"/account/sessions/{row_of(here).pk}/end/")

    assert is_signed_in(here)
    assert not told("session.revoked")


def test_a_new_password_ends_the_others_and_keeps_this_one(ada: User, monkeypatch) -> None:
    here, there = two_of(ada)
    key = there.session.session_key
    ended: list[str] = []
    monkeypatch.setattr(account, "tell_ended", ended.extend)
    new = {"new_password1": "a-new-correct-horse", "new_password2": "a-new-correct-horse"}

    here.post("/account/", {"old_password": "ada-correct-horse", **new})

    assert ended == [key]
    assert is_signed_in(here)
    assert not Session.objects.filter(session_key=key).exists()
    assert [event.verb for event in told()][-2:] == ["password.changed", "session.revoked"]
    assert len(sessions_of(person=ada_anew(ada), now=timezone.now())) == 1


def ada_anew(ada: User) -> User:
    return User.objects.get(pk=ada.pk)


def test_what_an_older_password_opened_is_not_listed(ada: User) -> None:
    here, _ = two_of(ada)
    ada.set_password("somebody-set-another-one")
    ada.save()

    assert sessions_of(person=ada, now=timezone.now()) == []
    assert not is_signed_in(here)


def test_a_session_that_has_run_out_is_not_listed(ada: User) -> None:
    two_of(ada)

    assert sessions_of(person=ada, now=timezone.now() + timedelta(days=15)) == []


def test_use_is_noted_and_no_oftener_than_once_a_minute(ada: User) -> None:
    here, _ = two_of(ada)
    key = here.session.session_key
    asked = RequestFactory().get("/")
    asked.user, asked.session = ada, SessionStore(session_key=key)
    presence = Presence(lambda request: HttpResponse("a page"))
    long_ago = timezone.now() - timedelta(hours=1)

    seen = []
    for _ in range(2):
        UserSession.objects.filter(session_key=key).update(last_seen_at=long_ago)
        assert asked.session["_auth_user_id"] == str(ada.pk)
        presence(asked)
        seen.append(UserSession.objects.get(session_key=key).last_seen_at)

    assert seen[0] > long_ago
    assert seen[1] == long_ago


def test_a_session_that_no_row_tells_of_gets_one(ada: User, browser: Client) -> None:
    UserSession.objects.all().delete()

    browser.get("/account/")

    assert UserSession.objects.get().session_key == browser.session.session_key


def test_rows_of_sessions_that_are_over_are_tidied_away(ada: User) -> None:
    _, there = two_of(ada)
    Session.objects.filter(session_key=there.session.session_key).delete()

    forget_ended_sessions()

    assert UserSession.objects.count() == 1


def test_an_admin_hands_out_a_link_ends_sessions_and_takes_factors_away(ada: User, bob: User) -> None:
    here, _ = two_of(ada)
    bob.is_staff = bob.is_superuser = True
    bob.save()
    admin = Client()
    admin.force_login(bob)
    url = f"/admin/accounts/user/{ada.pk}/ways-in/"

    page = admin.post(url, {"do": "link"}).content.decode()
    link = page.split('value="http')[1].split('"')[0].partition("/sign-in/")[2]
    invited = Client()
    invited.post(f"/sign-in/{link}")
    admin.post(url, {"do": "end-sessions"})
    admin.post(url, {"do": "forget-second-factors"})

    assert last("sign-in-link.made").actor.id == str(bob.pk)
    assert last("sign-in.done").data["methods"] == ["link"]
    assert not is_signed_in(here)
    assert not is_signed_in(invited)
    assert last("session.revoked").actor.id == str(bob.pk)
    assert link not in admin.get(url).content.decode()


def test_only_a_superuser_opens_the_way_to_one(ada: User, bob: User) -> None:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    bob.is_staff = True
    bob.save()
    bob.user_permissions.add(*Permission.objects.filter(codename__in=["change_user", "view_user"]))
    helper = Client()
    helper.force_login(bob)

    refused = helper.post(f"/admin/accounts/user/{ada.pk}/ways-in/", {"do": "link"})

    assert refused.status_code == 403
    assert not told("sign-in-link.made")


def test_nobody_takes_their_own_second_factors_away_without_showing_who_they_are(ada: User, client: Client) -> None:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    sign_in(client)
    set_up_app(client, ada)

    client.post(f"/admin/accounts/user/{ada.pk}/ways-in/", {"do": "forget-second-factors"})

    assert names_of_factors(ada) == ["an authenticator app"]


def test_an_admin_takes_lost_ones_away(ada: User, bob: User, client: Client) -> None:
    sign_in(client)
    set_up_app(client, ada)
    bob.is_staff = bob.is_superuser = True
    bob.save()
    admin = Client()
    admin.force_login(bob)

    admin.post(f"/admin/accounts/user/{ada.pk}/ways-in/", {"do": "forget-second-factors"})

    assert names_of_factors(ada) == []
    assert {event.actor.id for event in told("second-factor.removed")} == {str(bob.pk)}
