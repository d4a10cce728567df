"""Whose run it is: claiming, hearts and the sweep. Whoever changes the row owns it; truth is rows, never messages."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.audit.log import STUDIO, Actor, Entry
from apps.audit.statements import together
from apps.runs import log, rows
from apps.runs.calls import close_lost, close_over
from apps.runs.models import HEART_STOPPED_AFTER, Attempt, Driver, Proposal, Run
from apps.spend.models import Line

UNCLAIMED_FOR = timedelta(seconds=5)
# A driver cuts the calls of a run that was stopped within a second, or within half a minute of the database's absence.
CUT_WITHIN = timedelta(minutes=2)
# Older ones were looked at already, unless no driver was there for so long.
LOOKED_BACK = timedelta(days=2)
ABANDONED_AT_ONCE = 50


def claim(run_id: int, *, driver: str, now: datetime) -> Run | None:
    """Make the run this driver's, if nobody holds it. None where somebody does, or where there is nothing to drive."""
    run = Run.objects.select_related("project", "owner").asked_for().filter(pk=run_id).order_by().first()
    return _take(run, driver=driver, now=now) if run is not None and _is_free(run, now) else None


def claim_nested(run_id: int, *, driver: str, now: datetime) -> Run | None:
    """Make a nested run its outer run's driver's, whoever held it: who claimed the outer run owns it too.

    None where it has ended.
    """
    run = Run.objects.select_related("project", "owner").get(pk=run_id)
    return None if run.is_ended else _take(run, driver=driver, now=now)


def _take(run: Run, *, driver: str, now: datetime) -> Run | None:
    lost_by, was, last_heard = run.driver, run.status, run.heart_at
    run.driver, run.heart_at = driver, now
    run.started_at = run.started_at or now
    run.status = Run.Status.PLANNING if run.workflow_body is None else Run.Status.RUNNING
    with transaction.atomic():
        # Whoever changes the row owns it: of two drivers that saw it free, the second changes nothing.
        [taken] = together([rows.take_run(run, was=was, last_heard=last_heard)])
        if not taken:
            return None
        run.claim += 1
        if was == Run.Status.QUEUED:
            entries = [Entry("run.claimed", {"driver": driver, "claim": run.claim})]
        else:
            told = Entry("run.takenover", {"driver": driver, "claim": run.claim, "lost": lost_by or None})
            entries = [told, *close_lost(run, at=now)]
        log.append(run, entries, by=driver_actor(driver), at=now)
    return run


def _is_free(run: Run, now: datetime) -> bool:
    if run.status == Run.Status.QUEUED:
        return True
    return run.status in Run.LIVE and has_no_heart(run, now)


def has_no_heart(run: Run, now: datetime) -> bool:
    """Whether nobody has been heard to drive it for a while."""
    return run.heart_at is None or run.heart_at < now - HEART_STOPPED_AFTER


def driver_actor(driver: str) -> Actor:
    return Actor(kind="driver", id=driver, label=driver)


def beat(*, driver: str, pid: int, threads: int, started_at: datetime, held: Collection[int], now: datetime) -> None:
    """Say that this driver lives, and with it the runs it holds."""
    if held:
        Run.objects.filter(pk__in=held, driver=driver).live().update(heart_at=now)
    if not Driver.objects.filter(name=driver).update(holding=len(held), seen_at=now):
        Driver.objects.create(
            name=driver, pid=pid, threads=threads, holding=len(held), started_at=started_at, seen_at=now
        )


@dataclass(frozen=True)
class Wishes:
    """What people ask of a run while it is driven."""

    pause: bool = False
    breakpoints: frozenset[str] = frozenset()

    @classmethod
    def of(cls, run: Run) -> "Wishes":
        return cls(run.pause_asked, frozenset(run.breakpoints))


def look(held: dict[int, int]) -> tuple[set[int], dict[int, Wishes]]:
    """Which of the held runs (id: claim) were stopped by a person or taken over by another driver; and what is asked
    of the others."""
    if not held:
        return set(), {}
    rows = Run.objects.filter(pk__in=held).live().values_list("pk", "claim", "pause_asked", "breakpoints")
    still = {pk: Wishes(pause, frozenset(at)) for pk, claim, pause, at in rows if held[pk] == claim}
    return set(held) - still.keys(), still


def waiting(*, now: datetime) -> "QuerySet[Run]":
    """Runs for which the bell must be rung again: queued and unclaimed, or live and without a heart."""
    unclaimed = Q(status=Run.Status.QUEUED, created_at__lt=now - UNCLAIMED_FOR)
    orphaned = Q(status__in=Run.LIVE) & (Q(heart_at=None) | Q(heart_at__lt=now - HEART_STOPPED_AFTER))
    return Run.objects.asked_for().filter(unclaimed | orphaned, finished_at=None).order_by("pk")


def close_abandoned(*, now: datetime) -> None:
    """Close what is open of runs that ended: their drivers died after somebody had stopped them, before they had cut
    their calls. What was set aside for those would stay set aside for ever."""
    attempts = Attempt.objects.filter(run=OuterRef("pk"), status=Attempt.Status.RUNNING)
    proposals = Proposal.objects.filter(run=OuterRef("pk"), status=Proposal.Status.WRITING)
    lines = Line.objects.filter(run=OuterRef("code"), state=Line.State.RESERVED)
    over = Run.objects.ended().filter(finished_at__range=(now - LOOKED_BACK, now - CUT_WITHIN))
    left = over.filter(Exists(attempts) | Exists(proposals) | Exists(lines))
    for pk in left.order_by("-pk").values_list("pk", flat=True)[:ABANDONED_AT_ONCE]:
        with transaction.atomic():
            run = Run.objects.select_related("project", "owner").select_for_update(of=("self",)).get(pk=pk)
            entries = close_over(run, at=now)
            log.append(run, entries, by=STUDIO, at=now)
