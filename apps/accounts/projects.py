"""Who belongs to a project, and as what: members are added, given another role and removed, and the last admin stays.

An admin of the project does it, and each change is an event of that project.
"""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from apps.accounts.api_keys import revoke_api_key
from apps.accounts.changes import changed
from apps.accounts.models import ApiKey, Membership, Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.accounts.services import TRAIL, make_sign_in_link
from apps.audit import log
from apps.audit.log import JSON, Actor, Entry
from apps.core.errors import Conflict, Denied, Invalid, NotFound


class NoSuchPerson(Invalid):
    """Nobody who could be added goes by that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is nobody called {name[:150]} here. Write the name they sign in with.", field="name")


class MemberAlready(Conflict):
    """They belong to the project."""

    def __init__(self, person: User, project: Project) -> None:
        super().__init__(f"{person.label} belongs to {project.name} already. Change the role instead.", field="name")


class NoSuchMember(NotFound):
    """The project has no such member, or not any more."""

    def __init__(self) -> None:
        super().__init__("There is no such member. Somebody may have removed them meanwhile.")


class LastAdmin(Conflict):
    """Nobody would be left to administer the project."""

    def __init__(self, project: Project) -> None:
        super().__init__(f"{project.name} would have no admin any more. Make somebody else one first.")


class NotYourLinkToMake(Denied):
    """A link signs in as somebody else, everywhere: that is for those who administer the whole studio."""

    def __init__(self) -> None:
        super().__init__("Only an administrator of the studio makes sign-in links for others.")


@transaction.atomic
def add_member(*, project: Project, name: str, role: str, by: User, now: datetime) -> Membership:
    """Let the person who signs in as `name` belong to `project` as `role`.

    :raises NotAllowed: :raises NoSuchPerson: :raises MemberAlready: :raises Invalid: there is no such role.
    """
    check_may(by, Deed.ADMINISTER, project)
    role = _role(role)
    locked = _locked(project)
    person = User.objects.filter(username=name.replace("\0", "").strip(), is_active=True).first()
    if person is None:
        raise NoSuchPerson(name.strip())
    member, is_new = Membership.objects.get_or_create(user=person, project=locked, defaults={"role": role})
    if not is_new:
        raise MemberAlready(person, locked)
    if person.home_project_id is None:
        User.objects.filter(pk=person.pk, home_project=None).update(home_project=locked)
    _leave(Entry("membership.added", _facts(member)), member, by=by, at=now)
    return member


@transaction.atomic
def change_role(*, project: Project, member: int, role: str, by: User, now: datetime) -> Membership:
    """Give a member another role; what they have already changes nothing.

    :raises NotAllowed: :raises NoSuchMember: :raises LastAdmin: :raises Invalid: there is no such role.
    """
    check_may(by, Deed.ADMINISTER, project)
    role = _role(role)
    known = _member(_locked(project), member)
    if known.role == role:
        return known
    check_admin_stays(project, but=[known.pk])
    before, known.role = known.role, role
    known.save(update_fields=["role"])
    entry = changed("membership", _facts(known), fields=["role"], before={"role": before}, after={"role": role})
    _leave(entry, known, by=by, at=now)
    return known


@transaction.atomic
def remove_member(*, project: Project, member: int, by: User, now: datetime) -> Membership:
    """End a membership. What they made stays; the keys of their programs for this project open nothing any more.

    :raises NotAllowed: :raises NoSuchMember: :raises LastAdmin:
    """
    check_may(by, Deed.ADMINISTER, project)
    known = _member(_locked(project), member)
    check_admin_stays(project, but=[known.pk])
    _leave(Entry("membership.removed", _facts(known)), known, by=by, at=now)
    end_what_it_opened(member=known, by=by.actor, now=now)
    Membership.objects.filter(pk=known.pk).delete()
    return known


def end_what_it_opened(*, member: Membership, by: Actor, now: datetime) -> None:
    """Revoke the keys of its person's programs for its project, and let them work there no longer by themselves."""
    keys = ApiKey.objects.filter(person=member.user_id, project=member.project_id, revoked_at=None)
    for key in keys.select_related("project"):
        revoke_api_key(key=key, by=by, now=now)
    User.objects.filter(pk=member.user_id, home_project=member.project_id).update(home_project=None)


def check_admin_stays(project: Project, *, but: Collection[int]) -> None:
    """Go on only if somebody administers the project without the memberships in `but`, as far as these are of admins.

    :raises LastAdmin: nobody else who can sign in does.
    """
    admins = Membership.objects.filter(project=project, role=Membership.Role.ADMIN)
    if admins.filter(pk__in=but).exists() and not admins.filter(user__is_active=True).exclude(pk__in=but).exists():
        raise LastAdmin(project)


@transaction.atomic
def choose_home(*, project: Project, by: User, now: datetime) -> User:
    """Work in `project` from now on: what they start goes there where nothing else is said.

    :raises NotAllowed: they do not belong to it.
    """
    check_may(by, Deed.SEE, project)
    person = User.objects.select_for_update().get(pk=by.pk)
    if person.home_project_id == project.pk:
        return person
    before, person.home_project = person.home_project, project
    person.save(update_fields=["home_project"])
    told = {"home_project": before.slug if before else None}, {"home_project": project.slug}
    entry = changed("person", {"person": person.pk}, fields=["home_project"], before=told[0], after=told[1])
    log.append(TRAIL, [entry], by=by.actor, at=now, subject=f"person:{person.pk}", project="")
    return person


@transaction.atomic
def invite_member(*, project: Project, member: int, by: User, now: datetime) -> str:
    """The token of a link that signs a member in once, within ten minutes: to be handed to them.

    :raises NotYourLinkToMake: of anybody but an administrator of the studio, for the link is as good as the person.
    :raises NotAllowed: they do not belong to the project. :raises NoSuchMember:
    """
    check_may(by, Deed.SEE, project)
    if not by.is_superuser:
        raise NotYourLinkToMake
    known = _member(project, member)
    return make_sign_in_link(user=known.user, by=by.actor, now=now)


def _role(given: str) -> str:
    if given not in Membership.Role.values:
        raise Invalid(f"A member is one of these: {', '.join(Membership.Role.values)}.", field="role")
    return given


def _locked(project: Project) -> Project:
    """The project, for this transaction alone: of two admins who remove each other one stays."""
    return Project.objects.select_for_update().get(pk=project.pk)


def _member(project: Project, pk: int) -> Membership:
    known = Membership.objects.select_related("user", "project").filter(project=project, pk=pk).first()
    if known is None:
        raise NoSuchMember
    return known


def _facts(member: Membership) -> dict[str, JSON]:
    """As the admin pages tell of one."""
    return {
        "membership": member.pk,
        "person": member.user_id,
        "project": member.project.slug,
        "role": member.role,
    }


def _leave(entry: Entry, member: Membership, *, by: User, at: datetime) -> None:
    subject = f"person:{member.user_id}"
    trail = log.trail_within(TRAIL, member.project.slug)
    log.append(trail, [entry], by=by.actor, at=at, subject=subject, project=member.project.slug)
