"""The first person, what people see, and links that sign somebody in once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.management import CommandError, call_command
from django.db import connection

from apps.accounts.models import Membership, Project, SignInLink, User
from apps.accounts.services import (
    TRAIL,
    NoAdministrator,
    SignInLinkSpent,
    ensure_first_person,
    group_of_session,
    make_sign_in_link,
    redeem_sign_in_link,
)
from apps.audit.log import STUDIO, read, verify

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", first_name="Ada", last_name="Lovelace")


def verbs() -> list[str]:
    return [event.verb for event in read(TRAIL)]


@pytest.mark.django_db
def test_the_first_start_makes_admin_in_the_project_default() -> None:
    admin = ensure_first_person(now=NOON)

    assert (admin.username, admin.is_superuser, admin.is_staff) == ("admin", True, True)
    assert not admin.has_usable_password()
    assert admin.home_project is not None
    assert admin.home_project.slug == "default"
    assert admin.memberships.get().role == Membership.Role.ADMIN
    assert verbs() == ["person.created"]


@pytest.mark.django_db
def test_every_other_start_finds_them() -> None:
    admin = ensure_first_person(now=NOON)
    admin.username = "ada"
    admin.save()

    assert ensure_first_person(now=NOON) == admin
    assert verbs() == ["person.created"]


@pytest.mark.django_db(transaction=True)
def test_two_first_starts_make_one_person() -> None:
    def start(_: int) -> int:
        try:
            return ensure_first_person(now=NOON).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(start, range(4)))) == 1


def test_nobody_is_promoted_where_the_administrator_is_gone(ada: User) -> None:
    with pytest.raises(NoAdministrator):
        ensure_first_person(now=NOON)

    ada.refresh_from_db()
    assert not ada.is_superuser


def test_people_see_the_projects_they_belong_to_and_no_other(ada: User) -> None:
    mine = Project.objects.create(slug="mine", name="Mine", created_at=NOON)
    Project.objects.create(slug="other", name="Other", created_at=NOON)
    Membership.objects.create(user=ada, project=mine, role=Membership.Role.AUDITOR)
    root = User.objects.create_superuser("root")

    assert list(Project.objects.visible_to(ada)) == [mine]
    assert list(Project.objects.visible_to(root)) == []
    assert list(Project.objects.visible_to(AnonymousUser())) == []


@pytest.mark.parametrize(
    ("first", "last", "username", "initials"),
    [
        ("Ada", "Lovelace", "ada", "AL"),
        ("Ada", "King of Lovelace", "ada", "AL"),
        ("", "", "ada", "A"),
        ("", "", "ada.lovelace", "AL"),
        ("", "", "_", "_"),
        ("", "", "@", "@"),
    ],
)
def test_a_person_is_named_by_one_or_two_letters(first: str, last: str, username: str, initials: str) -> None:
    assert User(username=username, first_name=first, last_name=last).initials == initials


def test_a_person_acts_under_their_id_and_name(ada: User) -> None:
    assert (ada.actor.kind, ada.actor.id, ada.actor.label) == ("person", str(ada.pk), "Ada Lovelace")


def test_the_longest_name_there_can_be_leaves_an_event(ada: User) -> None:
    ada.first_name, ada.last_name = "a" * 150, "l" * 150
    ada.save()

    make_sign_in_link(user=ada, by=ada.actor, now=NOON)

    assert read(TRAIL)[0].actor == ada.actor


def test_a_link_signs_in_once_and_leaves_its_events(ada: User) -> None:
    token = make_sign_in_link(user=ada, by=STUDIO, now=NOON)

    assert redeem_sign_in_link(token=token, now=NOON + timedelta(minutes=9)) == ada
    with pytest.raises(SignInLinkSpent, match=r"manage\.py sign_in_link"):
        redeem_sign_in_link(token=token, now=NOON + timedelta(minutes=9))

    made, redeemed = read(TRAIL)
    assert (made.verb, made.actor, redeemed.verb, redeemed.actor) == (
        "sign-in-link.made",
        STUDIO,
        "sign-in-link.redeemed",
        ada.actor,
    )
    assert made.data["link"] == redeemed.data["link"]
    assert verify(TRAIL).first_break is None


@pytest.mark.parametrize("later", [timedelta(minutes=10), timedelta(days=1)])
def test_a_link_lasts_ten_minutes(ada: User, later: timedelta) -> None:
    token = make_sign_in_link(user=ada, by=STUDIO, now=NOON)

    with pytest.raises(SignInLinkSpent):
        redeem_sign_in_link(token=token, now=NOON + later)


def test_an_unknown_link_and_one_of_an_inactive_person_sign_nobody_in(ada: User) -> None:
    token = make_sign_in_link(user=ada, by=STUDIO, now=NOON)
    User.objects.update(is_active=False)

    for brought in (token, "unknown", "ä\x00\ud800"):
        with pytest.raises(SignInLinkSpent):
            redeem_sign_in_link(token=brought, now=NOON)


def test_the_token_itself_is_kept_nowhere(ada: User) -> None:
    token = make_sign_in_link(user=ada, by=STUDIO, now=NOON)

    assert token not in str(list(SignInLink.objects.values()))
    assert token not in str(read(TRAIL))


@pytest.mark.django_db(transaction=True)
def test_of_two_who_bring_the_same_link_at_once_one_gets_in() -> None:
    ada = User.objects.create_user("ada")
    token = make_sign_in_link(user=ada, by=STUDIO, now=NOON)

    def redeem(_: int) -> bool:
        try:
            return bool(redeem_sign_in_link(token=token, now=NOON))
        except SignInLinkSpent:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(redeem, range(4))) == [False, False, False, True]


def token_printed(*arguments: str) -> str:
    out = StringIO()
    call_command("sign_in_link", *arguments, stdout=out)
    [line] = out.getvalue().splitlines()
    start, token, end = line.rsplit("/", 2)
    assert (start, end) == (f"{settings.PUBLIC_URL}/sign-in", "")
    return token


@pytest.mark.django_db
def test_the_command_prints_a_link_for_the_first_administrator_alone() -> None:
    token = token_printed()

    assert redeem_sign_in_link(token=token, now=datetime.now(UTC)).username == "admin"


def test_the_command_signs_in_whom_it_is_told_to(ada: User) -> None:
    assert redeem_sign_in_link(token=token_printed("--user", "ada"), now=datetime.now(UTC)) == ada


def test_the_command_says_whom_it_does_not_know(ada: User) -> None:
    with pytest.raises(CommandError, match="no active person named bob"):
        call_command("sign_in_link", "--user", "bob")
    with pytest.raises(CommandError, match="Name a person"):
        call_command("sign_in_link")


def test_a_group_of_sockets_gives_no_session_away() -> None:
    group = group_of_session("abcdef0123456789")

    assert group == group_of_session("abcdef0123456789") != group_of_session("other")
    assert "abcdef" not in group
    assert len(group) < 100
    assert group.replace(".", "").isalnum()
