"""A project as its page tells of it: people, budgets, the pool it may use and the keys that open it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Q

from apps.accounts.models import ApiKey, Membership, Project, User
from apps.accounts.roles import MAY, Deed
from apps.runs.models import Run
from apps.spend import queries
from apps.web.words.figures import ago
from apps.workers.models import Conductor, Credential, Profile, Worker

MOST_MEMBERS = 200
MOST_LISTED = 100

ROLES = {
    Membership.Role.ANALYST: "starts runs, edits and stops them, keeps templates, rates results",
    Membership.Role.AUDITOR: "reads everything, verifies and exports trails, signs runs off; changes nothing",
    Membership.Role.ADMIN: "does what both do, and answers for its people, rules and retention",
}


@dataclass(frozen=True)
class Mine:
    """A project of somebody's list."""

    project: Project
    role: str
    is_home: bool
    people: int
    latest: str


def mine(user: User, *, now: datetime) -> list[Mine]:
    """The projects somebody belongs to, by name."""
    projects = list(Project.objects.visible_to(user)[:MOST_LISTED])
    roles = dict(Membership.objects.filter(user=user).values_list("project", "role"))
    return [
        Mine(
            project,
            roles[project.pk],
            project.pk == user.home_project_id,
            project.memberships.filter(user__is_active=True).count(),
            _latest(project, now=now),
        )
        for project in projects
        if project.pk in roles
    ]


def _latest(project: Project, *, now: datetime) -> str:
    """When the last run there was asked for; nothing where none was."""
    run = Run.objects.filter(project=project).order_by("-pk").only("created_at").first()
    return ago(run.created_at, now=now) if run else ""


@dataclass(frozen=True)
class Key:
    """An API key as the page lists it."""

    key: ApiKey
    now: datetime

    @property
    def state(self) -> str:
        return self.key.state(now=self.now)

    @property
    def used(self) -> str:
        return ago(self.key.last_used_at, now=self.now) if self.key.last_used_at else "never"


class Told:
    """All that the page of one project shows to `user`."""

    def __init__(self, project: Project, *, user: User, now: datetime) -> None:
        self.project = project
        self.user = user
        self.now = now

    @property
    def deeds(self) -> frozenset[Deed]:
        return self.user.deeds.get(self.project.pk, frozenset())

    @property
    def may_administer(self) -> bool:
        return Deed.ADMINISTER in self.deeds

    @property
    def may_see_keys(self) -> bool:
        return Deed.AUDIT in self.deeds or self.may_administer

    @property
    def is_home(self) -> bool:
        return self.user.home_project_id == self.project.pk

    @cached_property
    def members(self) -> Sequence[Membership]:
        found = self.project.memberships.select_related("user").order_by("user__username")
        return list(found[: MOST_MEMBERS + 1])

    @property
    def shown(self) -> Sequence[Membership]:
        return self.members[:MOST_MEMBERS]

    @property
    def has_more(self) -> bool:
        return len(self.members) > MOST_MEMBERS

    @property
    def lasting(self) -> int | None:
        """The only admin's membership, which cannot be taken away; None where there are more."""
        admins = self.project.memberships.filter(role=Membership.Role.ADMIN, user__is_active=True)
        found = list(admins.values_list("pk", flat=True)[:2])
        return found[0] if len(found) == 1 else None

    @property
    def roles(self) -> list[tuple[str, str, str]]:
        return [(role.value, role.label, ROLES[role]) for role in Membership.Role if role.value in MAY]

    @cached_property
    def budgets(self) -> list[queries.Standing]:
        """Those that calls in this project count towards; of others' own, only for those who may see them."""
        here, usable = Q(project=None) | Q(project=self.project), self.project
        theirs = Q(person=None) | Q(person=self.user)
        if self.may_see_keys:
            theirs |= Q(project=self.project)
        named = (Q(profile=None) | Q(profile__in=Profile.objects.usable_in(usable))) & (
            Q(worker=None) | Q(worker__in=Worker.objects.usable_in(usable))
        )
        return queries.budgets(now=self.now, only=Q(enabled=True) & here & theirs & named)

    @cached_property
    def profiles(self) -> list[Profile]:
        found = Profile.objects.usable_in(self.project).enabled().select_related("conductor")
        return list(found[:MOST_LISTED])

    @cached_property
    def workers(self) -> list[Worker]:
        return list(Worker.objects.usable_in(self.project).enabled().order_by("slug")[:MOST_LISTED])

    @cached_property
    def conductors(self) -> list[Conductor]:
        return list(Conductor.objects.usable_in(self.project).enabled().order_by("slug")[:MOST_LISTED])

    @cached_property
    def keys(self) -> list[Key]:
        if not self.may_see_keys:
            return []
        found = self.project.api_keys.select_related("person").order_by("revoked_at", "-pk")
        return [Key(key, self.now) for key in found[:MOST_LISTED]]

    @cached_property
    def credentials(self) -> list[tuple[Credential, str]]:
        """The project's own keys of providers: their labels, last letters and age."""
        if not self.may_see_keys:
            return []
        found = Credential.objects.filter(project=self.project).order_by("label")[:MOST_LISTED]
        return [(credential, credential.age(now=self.now)) for credential in found]
