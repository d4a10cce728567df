"""Exporting trails: what a person may take along of a run, of a time or of whole projects, sealed and signed."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit.exporting.exports import Export, begin_export
from apps.audit.exporting.selected import Scope
from apps.core.errors import Denied, Invalid
from apps.runs.models import Run

STUDIO = ""
"""The slug of what belongs to no project: accounts, the pool, money. Only admins of the studio see it."""

PARTED_BY = " and "


class NotTheStudios(Denied):
    """The studio's own trails are for its admins."""

    def __init__(self) -> None:
        super().__init__("The studio's own trails, which belong to no project, are for the studio's admins.")


def export_run(*, run: Run, by: User, now: datetime, with_texts: bool = True) -> Export:
    """The trail of a run, and those of the runs nested in it.

    :raises apps.accounts.permits.NotAllowed: `by` may not audit its project.
    """
    check_may(by, Deed.AUDIT, run.project)
    return begin_export(scope=scope_of_run(run), with_texts=with_texts, by=by.actor, now=now)


def export_projects(
    *,
    projects: Sequence[str],
    by: User,
    now: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
    with_texts: bool = True,
) -> Export:
    """The trails of projects by their slugs, and of the studio (""): whole, or from `since` and before `until`.

    :raises apps.accounts.permits.NotAllowed: `by` may not audit one of them.
    :raises NotTheStudios: `by` is no admin of the studio. :raises Invalid: the time ends before it begins.
    """
    known = {project.slug: project for project in Project.objects.filter(slug__in=projects)}
    for slug in projects:
        if slug in known:
            check_may(by, Deed.AUDIT, known[slug])
        elif slug or not by.is_superuser:
            raise NotTheStudios
    scope = scope_of(projects, since=since, until=until, now=now)
    return begin_export(scope=scope, with_texts=with_texts, by=by.actor, now=now)


def exportable_by(user: User) -> list[Project]:
    """The projects whose trails a person may export."""
    return list(Project.objects.where(user, Deed.AUDIT))


# --- scopes --------------------------------------------------------------------------------------------------------


def scope_of_run(run: Run) -> Scope:
    """A run with the runs nested in it, and those nested in these."""
    return Scope("run", [run.project.slug], f"run {run.code}", trails=[each.trail for each in _with_nested(run)])


def scope_of(projects: Sequence[str], *, since: datetime | None, until: datetime | None, now: datetime) -> Scope:
    """Projects by their slugs, whole or for a time. :raises Invalid: the time ends before it begins."""
    label = PARTED_BY.join(f"project {slug}" if slug else "the studio" for slug in projects)
    if since is None and until is None:
        return Scope("all", projects, label)
    until = until or now
    if since is not None and until <= since:
        raise Invalid("The time ends before it begins: give a later end.", field="until")
    begins = f"from {since:%-d %b %Y %H:%M}" if since else "from the beginning"
    words = f"{label} {begins} to {until:%-d %b %Y %H:%M} UTC"
    return Scope("time", projects, words, since=since, until=until)


def _with_nested(run: Run) -> Iterator[Run]:
    level = [run]
    while level:
        yield from level
        level = list(Run.objects.filter(nested_in__run__in=level).order_by("pk"))
