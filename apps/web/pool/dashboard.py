"""The first page of the admin panel: money, runs, queue and drivers, and how conductors and workers do.

All of it from what happened: rows of runs and calls, the queue itself. What is not known is said to be unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import redis
from django.conf import settings
from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.utils import timezone
from redis.exceptions import RedisError

from apps.runs.models import Attempt, Driver, Run
from apps.web.health import SEEN_WITHIN
from apps.web.pool.conductors import Standing, standing_of
from apps.web.pool.spending import spending
from apps.web.pool.trails import trails
from apps.web.words.figures import plural, spaced
from apps.workers import found
from apps.workers.models import Conductor, Worker

MOST_ROWS = 50
PATIENCE_S = 1.0
LAST_HOUR = timedelta(hours=1)
LAST_DAY = timedelta(days=1)
OUR_DOING = (
    Attempt.Status.REUSED,
    Attempt.Status.WRITTEN,
    Attempt.Status.CUT,
    Attempt.Status.LOST,
    Attempt.Status.RUNNING,
)


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the page shows to whoever asks, as far as they may see it."""
    now = timezone.now()
    may = request.user.has_perm
    shown: dict[str, Any] = {"runs": runs_by_state(now=now), "work": work(now=now)}
    if may("workers.view_worker"):
        shown |= {"spending": spending(now=now), "workers": workers(now=now)}
    if may("workers.view_conductor"):
        shown["conductors"] = conductors()
    if may("workers.add_worker") and may("workers.add_credential"):
        shown["found"] = found.keys_not_taken(today=now.date())
    if request.user.is_superuser:  # they alone see every project's trails
        shown["trails"] = trails(now=now)
    return context | shown | {"title": "Dashboard"}


# --- runs, queue and drivers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """How many runs are in a state."""

    label: str
    state: str
    number: int


@dataclass(frozen=True)
class Work:
    """The queue and who consumes it. `queued` is None where Redis does not say."""

    queued: int | None
    waiting: int
    drivers: Sequence[tuple[Driver, bool]]

    @property
    def alive(self) -> list[Driver]:
        return [driver for driver, is_alive in self.drivers if is_alive]

    @property
    def state(self) -> str:
        if not self.alive or self.queued is None:
            return "down"
        return "odd" if all(driver.holding >= driver.threads for driver in self.alive) else "up"

    @property
    def told(self) -> str:
        if not self.alive:
            waiting = f"{plural(self.waiting, 'run')} wait" if self.waiting != 1 else "1 run waits"
            return f"No driver consumes the queue: {waiting if self.waiting else 'what is submitted will wait'}."
        if self.queued is None:
            return "Redis does not answer: nothing new reaches the drivers until it does."
        holding, threads = sum(each.holding for each in self.alive), sum(each.threads for each in self.alive)
        full = " Every place is taken: what comes now waits." if self.state == "odd" else ""
        return f"{plural(len(self.alive), 'driver')} with {holding} of {threads} places taken.{full}"


def runs_by_state(*, now: datetime) -> list[Counted]:
    """Runs that are not over, and those that ended in the last day."""
    unfinished = Q(finished_at=None)
    counted = Run.objects.asked_for().filter(unfinished | Q(finished_at__gte=now - LAST_DAY))
    numbers = dict(counted.values_list("status").annotate(number=Count("pk")))
    return [Counted(status.label, status.value, numbers.get(status.value, 0)) for status in Run.Status]


def work(*, now: datetime) -> Work:
    seen = Driver.objects.filter(seen_at__gte=now - LAST_DAY).order_by("-seen_at")[:MOST_ROWS]
    drivers = [(driver, driver.seen_at >= now - SEEN_WITHIN) for driver in seen]
    return Work(messages_waiting(), Run.objects.filter(status=Run.Status.QUEUED).count(), drivers)


def messages_waiting() -> int | None:
    """How many messages no driver has taken yet; None where Redis does not answer."""
    limits = {"socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S}
    try:
        with redis.Redis.from_url(settings.REDIS_URL, **limits) as client:
            return int(client.llen(settings.CELERY_TASK_DEFAULT_QUEUE))
    except (RedisError, OSError):
        return None


# --- models --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Called:
    """How a worker's real calls went: nothing is known where there were none."""

    worker: Worker
    last_at: datetime | None
    calls: int
    failed: int
    why: str

    @property
    def state(self) -> str:
        if not self.worker.enabled:
            return "off"
        if not self.calls:
            return "unknown"
        return "up" if not self.failed else "down" if self.failed == self.calls else "odd"

    @property
    def told(self) -> str:
        if self.state == "off":
            return "switched off"
        if not self.calls:
            return "not called in the last hour"
        share = f"{self.failed / self.calls:.0%} of {plural(self.calls, 'call')} failed"
        return f"{share}, mostly {self.why}" if self.failed and self.why else share


def workers(*, now: datetime) -> list[Called]:
    """All workers with their calls of the last hour, and the last one of the last day."""
    ended = Attempt.objects.filter(nested=None, finished_at__gte=now - LAST_DAY).exclude(status__in=OUR_DOING)
    lately = Q(finished_at__gte=now - LAST_HOUR)
    failed = lately & Q(status=Attempt.Status.FAILED)
    counted = ended.values("worker").annotate(
        last=Max("finished_at"), calls=Count("pk", filter=lately), failed=Count("pk", filter=failed)
    )
    by_slug = {row["worker"]: row for row in counted}
    reasons = _reasons(now=now)
    told = []
    for worker in Worker.objects.order_by("-enabled", "slug")[:MOST_ROWS]:
        row: dict[str, Any] = dict(by_slug.get(worker.slug, {"last": None, "calls": 0, "failed": 0}))
        told.append(Called(worker, row["last"], row["calls"], row["failed"], reasons.get(worker.slug, "")))
    return told


def _reasons(*, now: datetime) -> dict[str, str]:
    """The most frequent kind of failure of each worker in the last hour."""
    failed = Attempt.objects.filter(status=Attempt.Status.FAILED, finished_at__gte=now - LAST_HOUR)
    kinds = failed.values_list("worker", "error_kind").annotate(number=Count("pk")).order_by("number")
    return {worker: spaced(kind) for worker, kind, _ in kinds}  # the last one stays


def conductors() -> list[Standing]:
    found = Conductor.objects.select_related("health").order_by("-enabled", "slug")[:MOST_ROWS]
    return [standing_of(conductor, Run.objects.all()) for conductor in found]
