"""Where somebody is signed in is listed, and ended: by themselves, by a new password, by an admin."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.sessions import sessions_of
from apps.web.people import account
from tests.integration.people.given import is_signed_in, last, sign_in, told

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


def test_use_is_noted_to_the_minute_and_no_oftener(ada: User) -> None:
    here, _ = two_of(ada)
    row = row_of(here)
    long_ago = timezone.now() - timedelta(hours=1)
    UserSession.objects.filter(pk=row.pk).update(last_seen_at=long_ago)

    here.get("/account/")
    seen = row_of(here).last_seen_at
    UserSession.objects.filter(pk=row.pk).update(last_seen_at=long_ago)
    here.get("/account/")

    assert seen > long_ago or row_of(here).last_seen_at == long_ago


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
    from django.contrib.auth.models import Permission

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
