"""Legal holds: while one is in force, nothing of the project or of the run is erased, whoever wants it."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit import log as audit
from apps.audit.log import Entry
from apps.core.errors import Conflict, Invalid, NotFound
from apps.runs import log
from apps.runs.erased import check_not_erased, lock
from apps.runs.models import LegalHold, Run
from apps.workers.calls import clean

LONGEST_REASON = 2_000


class OnHold(Conflict):
    """Somebody has seen to it that this is not erased."""

    def __init__(self, hold: LegalHold) -> None:
        super().__init__(
            f"A legal hold is on {hold.what}, since {hold.placed_at:%-d %b %Y}: nothing of it is erased until an admin "
            "lifts the hold."
        )


class NoSuchHold(NotFound):
    """It was lifted, or never was."""

    def __init__(self) -> None:
        super().__init__("This legal hold is not in force: it was lifted, or there never was one.")


@transaction.atomic
def place_hold(*, project: Project, run: Run | None = None, reason: str, by: User, now: datetime) -> LegalHold:
    """See to it that nothing of `run`, or of the whole project, is erased until the hold is lifted.

    :raises NotAllowed: `by` is no admin there. :raises Invalid: no reason is given, or the run is part of another.
    :raises RunErased: it is too late.
    """
    check_may(by, Deed.ADMINISTER, project)
    said = clean_reason(reason)
    lock(project)
    if run is not None:
        _check_can_be_held(run)
    hold = LegalHold.objects.create(project=project, run=run, reason=said, placed_by=by, placed_at=now)
    _leave(hold, Entry("hold.placed", hold.facts, {"reason": said}), by=by, at=now)
    return hold


@transaction.atomic
def lift_hold(*, hold: LegalHold, reason: str, by: User, now: datetime) -> LegalHold:
    """Let what was held be erased again, by hand or when its time comes.

    :raises NotAllowed: `by` is no admin of the project. :raises NoSuchHold: somebody was faster. :raises Invalid: no
        reason is given.
    """
    check_may(by, Deed.ADMINISTER, hold.project)
    said = clean_reason(reason)
    lock(hold.project)
    if not LegalHold.objects.filter(pk=hold.pk, lifted_at=None).update(lifted_by=by, lifted_at=now):
        raise NoSuchHold
    hold.lifted_by, hold.lifted_at = by, now
    _leave(hold, Entry("hold.lifted", hold.facts, {"reason": said}), by=by, at=now)
    return hold


def in_force(project: Project, runs: Iterable[Run] = ()) -> "QuerySet[LegalHold]":
    """The holds on the whole project or on one of `runs`."""
    concerned = Q(run=None) | Q(run__in=[run.pk for run in runs])
    return LegalHold.objects.filter(concerned, project=project, lifted_at=None).select_related("run", "project")


def check_not_held(project: Project, runs: Iterable[Run]) -> None:
    """:raises OnHold: a hold is in force on one of `runs`, all of which belong to `project`."""
    if hold := in_force(project, runs).first():
        raise OnHold(hold)


def clean_reason(reason: str) -> str:
    """:raises Invalid: it is empty or too long."""
    said = clean(reason).replace("\r\n", "\n").strip()
    if not said or len(said) > LONGEST_REASON:
        message = (
            f"A reason has at most {LONGEST_REASON:,} characters." if said else "Say why: it is kept in the trail."
        )
        raise Invalid(message, field="reason")
    return said


def _check_can_be_held(run: Run) -> None:
    check_not_erased(Run.objects.select_for_update().get(pk=run.pk))
    if run.nested_in_id is not None:
        raise Invalid("This run is part of another one: the hold is placed on the run around it.")


def _leave(hold: LegalHold, entry: Entry, *, by: User, at: datetime) -> None:
    """In the trail of the run, where it is one run's; else in that of the project's keeping."""
    if hold.run is not None:
        log.append(hold.run, [entry], by=by.actor, at=at)
        return
    slug = hold.project.slug
    audit.append(f"retention:{slug}", [entry], by=by.actor, at=at, subject=f"project:{slug}", project=slug)
