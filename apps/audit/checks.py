"""Checks: verifying all trails of a project, or of the studio, and keeping what was found until the next one.

A check is a row from the moment somebody asks for it, so that its progress is seen; a driver carries it out in a
process of its own (`tasks.py`). A finding is an event, too. An alarm stays until a later check of the same trails finds
that they hold.
"""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from apps.audit import log
from apps.audit.log import Actor
from apps.audit.models import Check, Trail
from apps.audit.rows import Scope
from apps.audit.verification import Found, Tally, verify_trails

TRAIL = "checks"
BREAKS_TOLD = 5
LEFT_BEHIND_AFTER = timedelta(minutes=2)  # one that got nowhere for so long has lost its driver


# --- what was found ------------------------------------------------------------------------------------------------


def latest_check(project: str | None) -> Check | None:
    """The last check of a project, by its slug, that came to a finding; for None, of all trails of the studio."""
    return _of(project).filter(status__in=Check.FOUND).order_by("-started_at", "-pk").first()


def open_check(project: str | None) -> Check | None:
    """The check of a project, or of all trails, that waits or is under way."""
    return _of(project).filter(status__in=Check.OPEN).first()


def alarm(project: str | None) -> Check | None:
    """The last finding about a project, or about all trails, where it is that something does not hold."""
    last = latest_check(project)
    return last if last and last.status == Check.Status.BROKEN else None


def alarms() -> list[Check]:
    """Every alarm there is, of all trails first, then by project."""
    later = Check.objects.filter(project=OuterRef("project"), status__in=Check.FOUND).filter(
        Q(started_at__gt=OuterRef("started_at")) | Q(started_at=OuterRef("started_at"), pk__gt=OuterRef("pk"))
    )
    return list(Check.objects.filter(~Exists(later), status=Check.Status.BROKEN).order_by("project"))


def _of(project: str | None) -> QuerySet[Check]:
    return Check.objects.filter(project=project or "")


# --- asking for one, and carrying it out ---------------------------------------------------------------------------


@transaction.atomic
def start_check(*, project: str | None, by: Actor, now: datetime) -> Check:
    """Ask for a check of a project's trails, or of all; the one that is open already, where there is one."""
    asked = {"by_kind": by.kind, "by_id": by.id, "by_label": by.label, "started_at": now, "seen_at": now}
    check, is_new = Check.objects.get_or_create(project=project or "", status__in=Check.OPEN, defaults=asked)
    if is_new:
        _tell(check, log.Entry("check.started", {"check": check.pk}), by=by, at=now)
        transaction.on_commit(partial(_ring, check.pk))
    return check


def _ring(check_id: int) -> None:
    from apps.audit.tasks import ring_for_check  # which carries checks out

    ring_for_check(check_id)


def _tell(check: Check, entry: log.Entry, *, by: Actor, at: datetime) -> None:
    """Seal an event of a check of everything, or of a project, in that one's trail of checks."""
    trail = log.trail_within(TRAIL, check.project)
    log.append(trail, [entry], by=by, at=at, subject=_subject(check), project=check.project)


def _subject(check: Check) -> str:
    return f"check:{check.pk}"


def carry_out(check_id: int, *, now: Callable[[], datetime]) -> Check | None:
    """Verify what a check was asked for, and keep what was found; None where it is carried out already, or over."""
    taken = Check.objects.filter(pk=check_id, status=Check.Status.QUEUED)
    if not taken.update(status=Check.Status.RUNNING, seen_at=now(), events_expected=_expected(check_id)):
        return None
    check = Check.objects.get(pk=check_id)
    found = verify_trails(Scope(project=check.project or None), progress=lambda found: _get_on(check, found, now()))
    return finish(check, found, now=now())


def _expected(check_id: int) -> int:
    project = Check.objects.values_list("project", flat=True).get(pk=check_id)
    trails = Trail.objects.filter(project=project) if project else Trail.objects.all()
    return int(trails.aggregate(events=Sum("head_seq"))["events"] or 0)


def _get_on(check: Check, found: Found, now: datetime) -> None:
    events = sum(tally.events for tally in found.by_project.values())
    Check.objects.filter(pk=check.pk).update(events=events, seen_at=now)


def keep(project: str | None, found: Found, *, by: Actor, started_at: datetime, now: datetime) -> Check:
    """Keep what somebody found who verified on the spot."""
    check = Check(project=project or "", by_kind=by.kind, by_id=by.id, by_label=by.label, started_at=started_at)
    return finish(check, found, now=now)


@transaction.atomic
def finish(check: Check, found: Found, *, now: datetime) -> Check:
    """Keep what was found; of a check of all trails also what was found of each project, as a check of its own."""
    asked = {name: getattr(check, name) for name in ("by_kind", "by_id", "by_label", "started_at")}
    if not check.project:
        for project in filter(None, found.by_project):
            _keep(Check(project=project, **asked), found.by_project[project], found, now=now)
    _keep(check, found.whole, found, now=now)
    summary: dict[str, log.JSON] = {"check": check.pk, "status": check.status, "trails": check.trails}
    summary |= {"events": check.events, "broken": check.broken, "breaks": check.breaks[:BREAKS_TOLD]}
    verb = "check.failed" if check.broken else "check.finished"
    _tell(check, log.Entry(verb, summary | {"anchor": check.anchor}), by=_actor(check), at=now)
    return check


def _actor(check: Check) -> Actor:
    return Actor(kind=cast(Any, check.by_kind), id=check.by_id, label=check.by_label)


def _keep(check: Check, tally: Tally, found: Found, *, now: datetime) -> None:
    check.status = Check.Status.BROKEN if tally.broken else Check.Status.HOLDS
    check.trails, check.events, check.broken = tally.trails, tally.events, tally.broken
    check.events_expected = max(check.events_expected, tally.events)
    check.breaks = [asdict(each) for each in tally.breaks]
    check.anchor, check.head = (found.anchor.seq, found.anchor.hash) if found.anchor else (0, "")
    check.seen_at = check.finished_at = now
    check.save()


# --- checks nobody carries out -------------------------------------------------------------------------------------


def left_behind(*, now: datetime) -> list[int]:
    """Checks whose message was lost, to be rung for again; those whose process died are given up on the way."""
    stale = Check.objects.filter(seen_at__lt=now - LEFT_BEHIND_AFTER)
    for pk in stale.filter(status=Check.Status.RUNNING).values_list("pk", flat=True):
        give_up(pk, error="the process that carried it out was ended", now=now)
    return list(stale.filter(status=Check.Status.QUEUED).values_list("pk", flat=True))


@transaction.atomic
def give_up(check_id: int, *, error: str, now: datetime) -> None:
    """Say of a check that it will not come to a finding; what was found last stays what is known."""
    given_up = {"status": Check.Status.GIVEN_UP, "finished_at": now, "error": error}
    if Check.objects.filter(pk=check_id, status__in=Check.OPEN).update(**given_up):
        check = Check.objects.get(pk=check_id)
        _tell(check, log.Entry("check.given_up", {"check": check.pk}, {"error": error}), by=log.STUDIO, at=now)
