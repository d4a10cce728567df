"""Who belongs to a project is changed by its admins alone, leaves an event of it, and never leaves it without one."""

from collections.abc import Callable

import pytest

from apps.accounts.api_keys import find_by_secret, make_api_key
from apps.accounts.models import Membership, Project, User
from apps.accounts.permits import NotAllowed
from apps.accounts.projects import (
    LastAdmin,
    MemberAlready,
    NoSuchMember,
    NoSuchPerson,
    NotYourLinkToMake,
    add_member,
    change_role,
    choose_home,
    invite_member,
    remove_member,
)
from apps.accounts.services import redeem_sign_in_link
from apps.core.errors import Invalid
from apps.runs.services import project_of, submit_run
from tests.factories import NOON, make_person, make_pool, make_project, told_in

pytestmark = pytest.mark.django_db

Role = Membership.Role


@pytest.fixture
def lab() -> Project:
    return make_project("lab")


@pytest.fixture
def boss(lab: Project) -> User:
    return member(lab, Role.ADMIN, "boss")


def member(project: Project, role: str, name: str = "") -> User:
    person = make_person(name, project=project)
    Membership.objects.filter(user=person).update(role=role)
    return person


def of(person: User, project: Project) -> int:
    return Membership.objects.get(user=person, project=project).pk


def told() -> list[tuple[str, dict[str, object]]]:
    return [(event.verb, event.data) for event in told_in("accounts")]


def test_an_admin_adds_somebody_by_the_name_they_sign_in_with(lab: Project, boss: User) -> None:
    eve = make_person("eve", project=make_project("elsewhere"))

    made = add_member(project=lab, name=" eve ", role="auditor", by=boss, now=NOON)

    assert (made.user, made.role) == (eve, Role.AUDITOR)
    [(verb, data)] = told()
    assert verb == "membership.added"
    assert data == {"membership": made.pk, "person": eve.pk, "project": "lab", "role": "auditor"}
    assert User.objects.get(pk=eve.pk).home_project != lab, "they work where they worked"


def test_whoever_had_no_project_works_in_the_one_they_are_added_to(lab: Project, boss: User) -> None:
    User.objects.create_user("new")

    add_member(project=lab, name="new", role="analyst", by=boss, now=NOON)

    assert User.objects.get(username="new").home_project == lab


def test_nobody_is_added_who_is_not_there_or_cannot_sign_in_or_twice(lab: Project, boss: User) -> None:
    make_person("gone", project=make_project("elsewhere"))
    User.objects.filter(username="gone").update(is_active=False)

    for name in ("nobody", "gone", "", "a\0b"):
        with pytest.raises(NoSuchPerson):
            add_member(project=lab, name=name, role="analyst", by=boss, now=NOON)
    with pytest.raises(MemberAlready):
        add_member(project=lab, name="boss", role="analyst", by=boss, now=NOON)
    with pytest.raises(Invalid):
        add_member(project=lab, name="boss", role="owner", by=boss, now=NOON)
    assert told() == []


def test_a_role_is_changed_and_what_it_was_is_told(lab: Project, boss: User) -> None:
    ada = member(lab, Role.ANALYST)

    change_role(project=lab, member=of(ada, lab), role="auditor", by=boss, now=NOON)
    change_role(project=lab, member=of(ada, lab), role="auditor", by=boss, now=NOON)

    [event] = told_in("accounts")
    assert event.verb == "membership.changed"
    assert event.texts == {"before": '{"role": "analyst"}', "after": '{"role": "auditor"}'}


@pytest.mark.parametrize("role", [Role.ANALYST, Role.AUDITOR])
def test_only_admins_of_the_project_change_its_members(lab: Project, boss: User, role: str) -> None:
    somebody, stranger = member(lab, role), member(make_project("elsewhere"), Role.ADMIN)
    ours = of(boss, lab)

    deeds: list[Callable[[User], object]] = [
        lambda by: add_member(project=lab, name=stranger.username, role="admin", by=by, now=NOON),
        lambda by: change_role(project=lab, member=ours, role="analyst", by=by, now=NOON),
        lambda by: remove_member(project=lab, member=ours, by=by, now=NOON),
    ]

    for do in deeds:
        for by in (somebody, stranger):
            with pytest.raises(NotAllowed):
                do(by)
    assert told() == []


def test_the_last_admin_stays_one(lab: Project, boss: User) -> None:
    resting = member(lab, Role.ADMIN, "resting")
    User.objects.filter(pk=resting.pk).update(is_active=False)

    with pytest.raises(LastAdmin):
        change_role(project=lab, member=of(boss, lab), role="analyst", by=boss, now=NOON)
    with pytest.raises(LastAdmin):
        remove_member(project=lab, member=of(boss, lab), by=boss, now=NOON)

    User.objects.filter(pk=resting.pk).update(is_active=True)
    remove_member(project=lab, member=of(boss, lab), by=boss, now=NOON)
    assert [each.user for each in lab.memberships.all()] == [resting]


def test_who_is_removed_can_do_nothing_there_any_more_nor_can_their_programs(lab: Project, boss: User) -> None:
    ada = member(lab, Role.ANALYST, "ada")
    _, secret = make_api_key(person=ada, project=lab, name="cron", scopes=["run"], by=ada.actor, now=NOON)
    profile = make_pool()

    remove_member(project=lab, member=of(ada, lab), by=boss, now=NOON)

    ada = User.objects.get(pk=ada.pk)
    assert find_by_secret(secret=secret, now=NOON) is None
    assert ada.home_project is None
    with pytest.raises(NotAllowed):
        submit_run(task="Add 1 and 1.", profile=profile, project=lab, by=ada, now=NOON)
    assert [verb for verb, _ in told()][-2:] == ["membership.removed", "api-key.revoked"]


def test_a_member_of_another_project_is_not_there(lab: Project, boss: User) -> None:
    stranger = member(make_project("elsewhere"), Role.ANALYST)

    with pytest.raises(NoSuchMember):
        remove_member(project=lab, member=stranger.memberships.get().pk, by=boss, now=NOON)


def test_what_one_starts_goes_to_the_project_one_works_in(lab: Project) -> None:
    ada, other = member(lab, Role.ANALYST), make_project("another")
    Membership.objects.create(user=ada, project=other, role=Role.ANALYST)

    chosen = choose_home(project=other, by=ada, now=NOON)
    choose_home(project=other, by=ada, now=NOON)

    assert project_of(chosen) == other
    assert [verb for verb, _ in told()] == ["person.changed"]


def test_nobody_works_in_a_project_of_others(lab: Project, boss: User) -> None:
    with pytest.raises(NotAllowed):
        choose_home(project=make_project("elsewhere"), by=boss, now=NOON)


def test_an_auditor_who_is_an_analyst_elsewhere_starts_things_there(lab: Project) -> None:
    ada, other = member(lab, Role.AUDITOR), make_project("another")
    with pytest.raises(NotAllowed):
        project_of(ada)

    Membership.objects.create(user=ada, project=other, role=Role.ANALYST)

    assert project_of(ada) == other


def test_only_an_administrator_of_the_studio_signs_in_as_others(lab: Project, boss: User) -> None:
    ada, root = member(lab, Role.ANALYST), member(lab, Role.ANALYST, "root")
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    root.refresh_from_db()

    with pytest.raises(NotYourLinkToMake):
        invite_member(project=lab, member=of(ada, lab), by=boss, now=NOON)
    token = invite_member(project=lab, member=of(ada, lab), by=root, now=NOON)

    assert redeem_sign_in_link(token=token, now=NOON) == ada
