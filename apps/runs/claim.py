"""Whose run it is: claiming, hearts and the sweep. Whoever changes the row owns it; truth is rows, never messages."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from apps.audit.log import Actor, Entry
from apps.runs import log
from apps.runs.models import HEART_STOPPED_AFTER, Driver, Run

UNCLAIMED_FOR = timedelta(seconds=5)


def _orphaned(now: datetime) -> Q:
    """A run that a driver should hold and none does."""
    return Q(status__in=Run.LIVE) & (Q(heart_at=None) | Q(heart_at__lt=now - HEART_STOPPED_AFTER))


def claim(run_id: int, *, driver: str, now: datetime) -> Run | None:
    """Make the run this driver's, if nobody holds it. None where somebody does, or where there is nothing to drive."""
    with transaction.atomic():
        before = Run.objects.filter(pk=run_id).values_list("driver", "status").first()
        free = Run.objects.filter(Q(status=Run.Status.QUEUED) | _orphaned(now), pk=run_id)
        claimed = free.update(
            driver=driver,
            claim=F("claim") + 1,
            heart_at=now,
            started_at=Coalesce("started_at", Value(now)),
            status=Case(
                When(workflow_body__isnull=True, then=Value(Run.Status.PLANNING)), default=Value(Run.Status.RUNNING)
            ),
        )
        if not claimed or before is None:
            return None
        run = Run.objects.select_related("project", "owner").get(pk=run_id)
        by = driver_actor(driver)
        lost_by, status = before
        if status == Run.Status.QUEUED:
            entries = [Entry("run.claimed", {"driver": driver, "claim": run.claim})]
        else:
            taken = Entry("run.takenover", {"driver": driver, "claim": run.claim, "lost": lost_by or None})
            entries = [taken, *log.lose_calls(run, at=now)]
        log.append(run, entries, by=by, at=now)
    return run


def driver_actor(driver: str) -> Actor:
    return Actor(kind="driver", id=driver, label=driver)


def beat(*, driver: str, pid: int, threads: int, started_at: datetime, held: Collection[int], now: datetime) -> None:
    """Say that this driver lives, and with it the runs it holds."""
    if held:
        Run.objects.filter(pk__in=held, driver=driver).live().update(heart_at=now)
    Driver.objects.update_or_create(
        name=driver,
        defaults={"pid": pid, "threads": threads, "holding": len(held), "started_at": started_at, "seen_at": now},
    )


def no_longer(held: dict[int, int]) -> set[int]:
    """Which of the held runs (id: claim) were stopped by a person or taken over by another driver."""
    if not held:
        return set()
    rows = Run.objects.filter(pk__in=held).live().values_list("pk", "claim")
    still = {pk for pk, claim in rows if held[pk] == claim}
    return set(held) - still


def waiting(*, now: datetime) -> "QuerySet[Run]":
    """Runs for which the bell must be rung again: queued and unclaimed, or live and without a heart."""
    unclaimed = Q(status=Run.Status.QUEUED, created_at__lt=now - UNCLAIMED_FOR)
    return Run.objects.filter(unclaimed | _orphaned(now), finished_at=None).order_by("pk")
