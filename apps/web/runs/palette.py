"""What the command palette offers beyond the page that is open: where one can go, and runs found by text."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.models import User
from apps.runs.filters import parse
from apps.runs.finding import find
from apps.runs.models import Run, SavedView
from apps.web.access import person
from apps.web.runs.page import url_of, visible_runs
from apps.web.templatetags.roles import audits
from apps.web.words.figures import ago

RUNS = 8
LONGEST = 200


@dataclass(frozen=True)
class Place:
    """Somewhere to go: a page, or a saved view of the runs."""

    label: str
    url: str
    note: str = ""
    keys: str = ""


PLACES = (
    Place("Compose a task", "/", keys="g c"),
    Place("Runs", "/runs/", keys="g r"),
    Place("Templates", "/workflows/"),
    Place("Import a workflow", "/workflows/import/"),
    Place("Templates", "/workflows/", keys="g t"),
    Place("Workers", "/workers/", keys="g w"),
    Place("Conductors", "/conductors/", keys="g o"),
    Place("Compare two runs", "/compare/"),
    Place("Reviews", "/reviews/"),
    Place("Projects", "/projects/"),
    Place("Account and password", "/account/"),
)


@dataclass(frozen=True)
class Found:
    """A run to go to."""

    run: Run
    when: str


@require_GET
def palette(request: HttpRequest) -> HttpResponse:
    """The choices for what was typed, `?q=`: pages and views whose name has every word of it, and runs that fit."""
    user, typed = person(request), request.GET.get("q", "").replace("\0", "").strip()[:LONGEST]
    context = {
        "places": [place for place in _places(user) if _is_named(place.label, typed)],
        "found": _runs(user, typed),
        "typed": typed,
        "list_url": url_of(typed),
    }
    return render(request, "palette/_results.html", context)


def _places(user: User) -> Iterator[Place]:
    yield from PLACES
    if audits(user):
        yield Place("Audit", reverse("audit"), keys="g a")
        yield Place("Export trails", reverse("audit-export"))
    if user.is_staff:
        yield Place("Admin", reverse("admin:index"))
    for view in SavedView.objects.filter(person=user):
        yield Place(f"View: {view.name}", url_of(view.text), note=view.text)


def _is_named(label: str, typed: str) -> bool:
    return all(word in label.lower() for word in typed.lower().split())


def _runs(user: User, typed: str) -> list[Found]:
    """The newest runs that fit what was typed; of what cannot be read as a filter, none."""
    asked, now = parse(typed), timezone.now()
    if asked.faults:
        return []
    runs = find(visible_runs(user), asked, by=user, now=now)
    rows = runs.only("code", "title", "status", "created_at").order_by("-pk")[:RUNS]
    return [Found(run, ago(run.created_at, now=now)) for run in rows]


urls: list[URLPattern] = [path("palette/", palette, name="palette")]
