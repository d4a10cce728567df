"""The list of reviews: what one has to review, what nobody has looked at, what was decided; newest runs first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.models import Project, User
from apps.accounts.roles import Deed
from apps.runs.models import Review, Run, RunQuerySet
from apps.web.access import person
from apps.web.runs.page import visible_runs
from apps.web.words.figures import ago

PAGE = 50
COUNTED = 99

SHOWS = {
    "mine": "For me to review",
    "unreviewed": "Not signed off",
    "open": "Assigned",
    "accepted": "Accepted",
    "rejected": "Rejected",
}
EMPTY = {
    "mine": "Nobody has asked you to review a run.",
    "unreviewed": "Every run that has ended is signed off, or none has ended yet.",
    "open": "No review is given to anybody at the moment.",
    "accepted": "No run was accepted yet.",
    "rejected": "No run was rejected.",
}
SHOWN = ("code", "title", "status", "created_at", "finished_at", "erased_at")
PEOPLE = ("username", "first_name", "last_name")


@dataclass(frozen=True)
class Tab:
    """One of the lists, and how many runs are in it."""

    label: str
    url: str
    count: str
    is_current: bool


@dataclass(frozen=True)
class Line:
    """One run, and how its review stands."""

    run: Run
    review: Review | None
    now: datetime

    @property
    def ended(self) -> str:
        return ago(self.run.finished_at, now=self.now) if self.run.finished_at else ""

    @property
    def decided(self) -> str:
        at = self.review.decided_at if self.review else None
        return ago(at, now=self.now) if at else ""


@require_safe
def reviews(request: HttpRequest) -> HttpResponse:
    """`?show=` names the list; without it what one has to review oneself, where there is anything."""
    user, now = person(request), timezone.now()
    show = request.GET.get("show", "")
    if show not in SHOWS:
        show = "mine" if RUNS["mine"](user).exists() else "unreviewed"
    before = request.GET.get("before", "")
    found = RUNS[show](user)
    if before.isascii() and before.isdigit() and len(before) < 19:
        found = found.filter(pk__lt=int(before))
    lines = _lines(found, now=now)
    context = {
        "show": show,
        "label": SHOWS[show],
        "tabs": [Tab(SHOWS[each], url_of(each), _counted(RUNS[each](user)), each == show) for each in SHOWS],
        "lines": lines[:PAGE],
        "older_url": url_of(show, before=lines[PAGE - 1].run.pk) if len(lines) > PAGE else "",
        "newest_url": url_of(show) if before else "",
        "empty": EMPTY[show],
        "may_audit": Project.objects.where(user, Deed.AUDIT).exists(),
    }
    return render(request, "review/list.html", context)


def url_of(show: str, **more: object) -> str:
    """The address of one of the lists."""
    return f"{reverse('reviews')}?{urlencode({'show': show, **more})}"


def _lines(runs: RunQuerySet, *, now: datetime) -> Sequence[Line]:
    """A page of them and one more, with people and reviews, in two queries."""
    people = (f"owner__{name}" for name in PEOPLE)
    rows = list(runs.select_related("owner").only(*SHOWN, *people).order_by("-pk")[: PAGE + 1])
    found = Review.objects.filter(run__in=rows).select_related("assigned_to", "decided_by")
    by_run = {review.run_id: review for review in found}
    return [Line(run, by_run.get(run.pk), now) for run in rows]


def _counted(runs: RunQuerySet) -> str:
    found = runs.order_by()[: COUNTED + 1].count()
    return f"{COUNTED}+" if found > COUNTED else str(found)


def _mine(user: User) -> RunQuerySet:
    return _in_state(user, Review.State.OPEN).filter(review__assigned_to=user)


def _in_state(user: User, state: str) -> RunQuerySet:
    projects = list(Project.objects.visible_to(user).values_list("pk", flat=True))
    return Run.objects.filter(project__in=projects, reviewed=state)


def _unreviewed(user: User) -> RunQuerySet:
    """In the words of the index that has them in order."""
    return visible_runs(user).filter(reviewed__in=["", Review.State.OPEN], finished_at__isnull=False)


RUNS: Mapping[str, Callable[[User], RunQuerySet]] = {
    "mine": _mine,
    "unreviewed": _unreviewed,
    "open": partial(_in_state, state=Review.State.OPEN),
    "accepted": partial(_in_state, state=Review.State.ACCEPTED),
    "rejected": partial(_in_state, state=Review.State.REJECTED),
}

urls: list[URLPattern] = [path("reviews/", reviews, name="reviews")]
