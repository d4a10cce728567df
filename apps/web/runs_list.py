"""The list of runs: newest first, live, filtered by state and text, in pages that end at a run and not at a number.

However many runs there are, a page reads a bounded number of rows in a fixed number of queries.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from apps.accounts.models import Project, User
from apps.runs.models import TRIAL, Run, RunQuerySet, Step
from apps.web.access import person, wants_part
from apps.web.figures import ago, seconds, usd
from apps.web.looks import Look, look_of
from apps.web.planners import label_of

PAGE = 50
SEARCHED = 5_000  # a text is looked for in so many runs at once: there is no index for it
COUNTED = 999  # "999+" says enough
LONGEST_SEARCH = 200
CHIPS = 6
STRIP = 12  # steps drawn one by one; of more only the number is told

# What the list can be narrowed to. One word for all that is not over: few people care whether it is queued.
STATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "": ("All", ()),
    "live": ("Live", (Run.Status.QUEUED, *Run.LIVE)),
    "held": ("Held", (Run.Status.HELD,)),
    "succeeded": ("Succeeded", (Run.Status.SUCCEEDED,)),
    "failed": ("Failed", (Run.Status.FAILED,)),
    "cancelled": ("Stopped", (Run.Status.CANCELLED,)),
}
TESTS = "tests"  # of workers: left out unless they are asked for


@dataclass(frozen=True)
class Filters:
    """What of the list is asked for, as the address says it; what it cannot mean is left out."""

    state: str = ""
    q: str = ""
    before: int | None = None

    @classmethod
    def of(cls, request: HttpRequest) -> "Filters":
        state, before = request.GET.get("state", ""), request.GET.get("before", "")
        return cls(
            state=state if state in STATES or state == TESTS else "",
            q=request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH],
            before=int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None,
        )

    def url(self, **changes: Any) -> str:
        """The address of the list with these filters, changed."""
        given = {"state": self.state, "q": self.q, "before": self.before} | changes
        query = urlencode({name: value for name, value in given.items() if value})
        return f"/runs/?{query}" if query else "/runs/"

    def narrow(self, runs: RunQuerySet) -> RunQuerySet:
        """The runs in the state that is asked for, from the place that is asked for on."""
        if self.state in STATES and self.state:
            runs = runs.filter(status__in=STATES[self.state][1])
        return runs if self.before is None else runs.filter(pk__lt=self.before)

    def match(self) -> Q:
        """Every word is in the task, or is the run's code, profile or person."""
        wanted = Q()
        for word in self.q.split():
            wanted &= Q(task__icontains=word) | Q(code=word) | Q(profile=word) | Q(owner__username__iexact=word)
        return wanted


@dataclass(frozen=True)
class Tab:
    """One state the list can be narrowed to, and how many there are."""

    label: str
    url: str
    count: str
    current: bool


@dataclass(frozen=True)
class Line:
    """One run as the list shows it."""

    run: Run
    steps: Sequence[Step]
    forks: int
    now: datetime

    @property
    def done(self) -> int:
        return sum(step.status in Step.DONE for step in self.steps)

    @property
    def strip(self) -> Sequence[Step]:
        return self.steps if len(self.steps) <= STRIP else ()

    @cached_property
    def workers(self) -> list[Look]:
        """The workers its steps use, in their order; before there are steps, those it could use."""
        pool = self.run.pool
        slugs = dict.fromkeys(step.worker for step in self.steps) or pool
        return [look_of(slug, pool.get(slug)) for slug in slugs]

    @property
    def chips(self) -> list[Look]:
        return self.workers[:CHIPS]

    @property
    def more(self) -> int:
        return max(0, len(self.workers) - CHIPS)

    @property
    def planner(self) -> str:
        """Who planned it, where the profile's name does not say."""
        planner = self.run.planned_by or str(self.run.setup["planner"])
        if planner == "saved" and self.run.parent_id:
            return "edited"
        return "" if planner == "conductor" else label_of(planner)

    @property
    def is_simulated(self) -> bool:
        return any(worker.simulated for worker in self.workers)

    @property
    def took(self) -> str:
        """How long it took, or has been taking; nothing for one that waits for a person."""
        if self.run.status == Run.Status.HELD:
            return ""
        return seconds(((self.run.finished_at or self.now) - self.run.created_at).total_seconds() * 1000)

    @property
    def when(self) -> str:
        """How long ago it was begun."""
        return ago(self.run.created_at, now=self.now)

    @property
    def cost(self) -> str:
        """What is known of its cost. An unknown price is said, never taken for nothing."""
        run = self.run
        if run.cost_unknown:
            return f"≥ {usd(run.cost_usd)}" if run.cost_usd else "unknown"
        if run.cost_usd or run.input_tokens or run.output_tokens:
            return usd(run.cost_usd)
        return "–"


@dataclass(frozen=True)
class Page:
    """A page of the list, and where it goes on."""

    lines: list[Line]
    older: int | None = None
    searched_to_here: bool = False  # older runs were not searched yet


def lines_of(runs: RunQuerySet, *, limit: int, now: datetime) -> list[Line]:
    """The newest `limit` of `runs`, with their steps, forks and people, in three queries."""
    shown = runs.select_related("owner", "parent").only(
        *(
            "code",
            "title",
            "profile",
            "setup",
            "status",
            "hold",
            "planned_by",
            "error_step",
            "created_at",
            "finished_at",
        ),
        *("input_tokens", "output_tokens", "cost_usd", "cost_unknown"),
        *("owner__username", "owner__first_name", "owner__last_name", "parent__code"),
    )
    rows = list(shown.order_by("-pk")[:limit])
    ids = [run.pk for run in rows]
    steps: dict[int, list[Step]] = defaultdict(list)
    for step in Step.objects.filter(run__in=ids).only("run_id", "key", "position", "worker", "status"):
        steps[step.run_id].append(step)
    forks = dict(
        Run.objects.filter(parent__in=ids)
        .values_list("parent_id")
        .annotate(Count("pk"))
        .values_list("parent_id", "pk__count")
    )
    return [Line(run, steps[run.pk], forks.get(run.pk, 0), now) for run in rows]


def page_of(visible: RunQuerySet, filters: Filters, *, now: datetime) -> Page:
    """The page that `filters` ask for."""
    runs = filters.narrow(visible)
    if not filters.q:
        lines = lines_of(runs, limit=PAGE + 1, now=now)
        return _cut(lines)
    searched = runs.order_by("-pk").values("pk")[:SEARCHED]
    lines = lines_of(visible.filter(filters.match(), pk__in=searched), limit=PAGE + 1, now=now)
    if len(lines) > PAGE:
        return _cut(lines)
    last = runs.order_by("-pk").values_list("pk", flat=True)[SEARCHED - 1 : SEARCHED].first()
    return Page(lines, older=last, searched_to_here=last is not None)


def _cut(lines: list[Line]) -> Page:
    shown = lines[:PAGE]
    return Page(shown, older=shown[-1].run.pk if len(lines) > PAGE else None)


def tabs_of(visible: RunQuerySet, tests: RunQuerySet, filters: Filters) -> list[Tab]:
    """The states, each with how many runs are in it, counted as far as it matters; and the tests, if there are any."""
    counts = {state: visible.filter(status__in=statuses) for state, (_, statuses) in STATES.items() if statuses}
    tabs = [
        Tab(
            label=label,
            url=filters.url(state=state, before=None),
            count=_counted(counts[state]) if state in counts else "",
            current=state == filters.state,
        )
        for state, (label, _) in STATES.items()
    ]
    number = _counted(tests)
    if number != "0" or filters.state == TESTS:
        tabs.append(Tab("Tests", filters.url(state=TESTS, before=None), number, filters.state == TESTS))
    return tabs


def _counted(runs: RunQuerySet) -> str:
    found = runs.order_by()[: COUNTED + 1].count()
    return f"{COUNTED}+" if found > COUNTED else str(found)


def visible_runs(user: User) -> RunQuerySet:
    """The runs that were asked for in the person's projects, the projects named one by one: so the indexes serve.

    Without the tests of workers.
    """
    projects = list(Project.objects.visible_to(user).values_list("pk", flat=True))
    return Run.objects.asked_for().filter(project__in=projects).exclude(profile=TRIAL)


def visible_tests(user: User) -> RunQuerySet:
    """The tests of workers in the person's projects."""
    return Run.objects.visible_to(user).filter(profile=TRIAL)


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """The list; for htmx that part of it which changes."""
    filters = Filters.of(request)
    user = person(request)
    visible, tests = visible_runs(user), visible_tests(user)
    page = page_of(tests if filters.state == TESTS else visible, filters, now=timezone.now())
    context = {
        "filters": filters,
        "page": page,
        "tabs": tabs_of(visible, tests, filters),
        "older_url": filters.url(before=page.older),
        "newest_url": filters.url(before=None),
        "is_filtered": bool(filters.state or filters.q),
    }
    template = "runs/_list.html" if wants_part(request) else "runs/page.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response
