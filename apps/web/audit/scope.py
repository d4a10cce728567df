"""Whose events somebody may read: those of the projects they audit; who runs the studio, those of no project too."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from apps.accounts.models import Project, User
from apps.accounts.roles import Deed
from apps.audit.conditions import Names
from apps.audit.lines import Line, lines
from apps.core.errors import Denied, NotFound
from apps.core.filtering import Filter, Match
from apps.runs.models import Run

MOST_CHARS = 2**31 - 2
MOST_PK = 2**63
NAMESAKES = 50


class NobodysAuditor(Denied):
    """There is no project whose trails the person may read."""

    def __init__(self) -> None:
        super().__init__("Trails are read by auditors and admins of a project. An admin of yours can make you one.")


class NoSuchEvent(NotFound):
    """There is no such event, or it is not theirs to read."""

    def __init__(self) -> None:
        super().__init__("There is no such event, or it is not yours to see.")


@dataclass(frozen=True)
class Scope:
    """The projects whose events somebody reads, and whether they run the studio."""

    projects: Sequence[Project]
    is_studio: bool

    @property
    def slugs(self) -> list[str]:
        """What events call these projects; those of none have an empty one."""
        return [*([""] if self.is_studio else []), *(project.slug for project in self.projects)]

    def holds(self, slug: str) -> bool:
        """Whether a project's trails, by its slug, or for an empty one those of the studio, are theirs to check."""
        return slug in self.slugs


def scope_of(user: User) -> Scope:
    """What `user` may audit.

    :raises NobodysAuditor: nothing.
    """
    scope = Scope(list(Project.objects.where(user, Deed.AUDIT)), user.is_active and user.is_superuser)
    if not scope.slugs:
        raise NobodysAuditor
    return scope


def names_in(asked: Filter) -> Names:
    """The labels of people whose user names have what is asked for of an actor: events know labels alone."""
    conditions = [term.condition for term in asked.terms]
    named = [each for each in conditions if isinstance(each, Match) and each.field == "actor"]
    return {each.value.lower(): _labels(each.value) for each in named}


def _labels(part: str) -> Collection[str]:
    return {person.label for person in User.objects.filter(username__icontains=part)[:NAMESAKES]}


def visible_line(user: User, pk: int) -> Line:
    """An event with its texts: of a trail they audit, or of a run that they see.

    :raises NoSuchEvent: there is none, or it is in neither.
    """
    found = lines([pk], chars=MOST_CHARS) if pk < MOST_PK else []
    if not found or not (_audits(user, found[0]) or _sees(user, found[0])):
        raise NoSuchEvent
    return found[0]


def _audits(user: User, line: Line) -> bool:
    if not line.project:
        return user.is_active and user.is_superuser
    return Project.objects.where(user, Deed.AUDIT).filter(slug=line.project).exists()


def _sees(user: User, line: Line) -> bool:
    kind, _, code = line.trail.partition(":")
    return kind == "run" and Run.objects.visible_to(user).filter(code=code).exists()
