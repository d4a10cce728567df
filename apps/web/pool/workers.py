"""The workers one may see: a card each, and a page for one of them with its latest calls."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from apps.accounts.models import Project, User
from apps.runs import trying
from apps.runs.models import Attempt, Run
from apps.web.access import person, wants_part
from apps.web.health import is_driver_seen
from apps.web.pool.reports import Report, reports, sum_usd, visible_worker, visible_workers
from apps.web.pool.trials import trial_of
from apps.web.pool.trials import urls as trial_urls
from apps.web.pool.working import PERIODS

MANY = 8  # of more, one wants to search
LATEST = 20
SEARCHED = 1_000  # the newest calls, among which one's own are looked for
MOST_WAITING = 1_000
LONGEST_SEARCH = 100

ENDED = (Attempt.Status.SUCCEEDED, Attempt.Status.FAILED, Attempt.Status.LATE)
STATES = {"": "All", "up": "Answer", "down": "In trouble", "off": "Switched off"}
SORTS: dict[str, tuple[str, Callable[[Report], Any]]] = {
    "name": ("Name", lambda report: report.worker.name.lower()),
    "spent": ("Spent today", lambda report: -report.spent.usd),
    "failed": ("Failed most", lambda report: -report.doing.error_rate),
    "slow": ("Slowest", lambda report: -max(report.doing.durations_ms, default=0.0)),
    "busy": ("Busiest", lambda report: -(report.door.in_flight + report.door.waiting if report.door else 0)),
}


@dataclass(frozen=True)
class Filters:
    """What of the list is asked for, as the address says it; what it cannot mean is left out."""

    q: str = ""
    state: str = ""
    sort: str = "name"
    period: str = "hour"

    @classmethod
    def of(cls, request: HttpRequest) -> "Filters":
        given = request.GET
        return cls(
            q=given.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH],
            state=given["state"] if given.get("state") in STATES else "",
            sort=given["sort"] if given.get("sort") in SORTS else "name",
            period=given["period"] if given.get("period") in PERIODS else "hour",
        )

    def url(self, **changes: str) -> str:
        """The address of the list with these filters, changed."""
        given = {"q": self.q, "state": self.state, "sort": self.sort, "period": self.period} | changes
        return f"?{urlencode({name: value for name, value in given.items() if value})}"

    def narrow(self, found: list[Report]) -> list[Report]:
        """Those that are asked for, in the order that is asked for; who is switched off comes last."""
        words = self.q.lower().split()
        kept = [each for each in found if self._is_wanted(each) and all(word in _said(each) for word in words)]
        return sorted(sorted(kept, key=SORTS[self.sort][1]), key=lambda each: not each.worker.enabled)

    def _is_wanted(self, report: Report) -> bool:
        if self.state == "down":
            return report.health in ("down", "odd")
        return self.state in ("", report.health)


def _said(report: Report) -> str:
    worker = report.worker
    return " ".join([worker.slug, worker.name, worker.provider, worker.model, worker.strengths]).lower()


@require_safe
def workers(request: HttpRequest) -> HttpResponse:
    """All of them; for htmx the cards alone."""
    user, now, filters = person(request), timezone.now(), Filters.of(request)
    found = reports(visible_workers(user), user=user, period=filters.period, now=now)
    context = {
        "filters": filters,
        "reports": filters.narrow(found),
        "all": found,
        "spent_usd": sum_usd(found),
        "is_many": len(found) > MANY,
        "states": STATES.items(),
        "sorts": [(name, label) for name, (label, _) in SORTS.items()],
        "periods": [(name, words, filters.url(period=name)) for name, (words, _) in PERIODS.items()],
        **_around(user),
        "now": now,
    }
    response = render(request, "workers/_cards.html" if wants_part(request) else "workers/page.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def worker(request: HttpRequest, slug: str) -> HttpResponse:
    """One of them in full, with its latest calls; for htmx the part of it that changes."""
    user, now = person(request), timezone.now()
    [report] = reports([visible_worker(user, slug)], user=user, period=Filters.of(request).period, now=now)
    context = {
        "report": report,
        "worker": report.worker,
        "is_part": wants_part(request),
        "calls": latest_calls(report.worker.slug, user),
        "may_try": trying.may_try(worker=report.worker, by=user),
        "trial": trial_of(report.worker, code, user) if (code := request.GET.get("test")) else None,
        "submit_key": uuid4().hex,
        "period": Filters.of(request).period,
        "periods": [(name, words, f"?period={name}") for name, (words, _) in PERIODS.items()],
        **_around(user),
        "now": now,
    }
    response = render(request, "workers/_worker.html" if wants_part(request) else "workers/worker.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def latest_calls(slug: str, user: User) -> list[Attempt]:
    """The latest calls of a worker in runs that somebody may see, newest first."""
    projects = list(Project.objects.visible_to(user).values_list("pk", flat=True))
    newest = Attempt.objects.filter(worker=slug, status__in=ENDED).order_by("-finished_at").values("pk")[:SEARCHED]
    mine = Attempt.objects.filter(pk__in=newest, run__project__in=projects).select_related("run", "step")
    without = ("sent", "text", "run__workflow_body", "run__task", "run__answer", "step__result")
    return list(mine.defer(*without).order_by("-finished_at")[:LATEST])


def _around(user: User) -> dict[str, Any]:
    """Whether anybody carries runs out, and how many wait for that."""
    has_driver = is_driver_seen()
    waiting = Run.objects.visible_to(user).filter(status=Run.Status.QUEUED)[:MOST_WAITING]
    return {"has_driver": has_driver, "waiting": 0 if has_driver else waiting.count()}


urls: list[URLPattern] = [
    path("workers/", workers, name="workers"),
    path("workers/<str:slug>/", worker, name="worker"),
    *trial_urls,
]
