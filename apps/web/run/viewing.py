"""The views of a run's page: its graph, its timeline, its matrix and its events, with one selection in the address."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from apps.core.errors import NotFound
from apps.web.access import visible_run
from apps.web.live.following import written
from apps.web.run.matrix import Matrix
from apps.web.run.scrub import tracks_of
from apps.web.run.standing import Standing
from apps.web.run.timeline import Timeline
from apps.web.run.trail import events_after

VIEWS = ("graph", "timeline", "matrix", "events")
KEPT = ("step", "edge", "tab")  # of an address, when another view is chosen


@dataclass(frozen=True)
class Tab:
    """The way to one of the views."""

    name: str
    url: str
    is_open: bool


class NoSuchText(NotFound):
    """A run has no text of that name."""

    def __init__(self, code: str, stream: str) -> None:
        super().__init__(f"Run {code} has no text {stream[:20]}.")


def shown(request: HttpRequest, standing: Standing) -> dict[str, Any]:
    """What the page needs for the view that its address names, and for the ways to the others."""
    view, run = _view(request), standing.run
    at = _number(request, "at")
    context: dict[str, Any] = {"view": view, "at": at or None, "view_tabs": _tabs(request, run.code, view)}
    if view == "timeline":
        context["timeline"] = Timeline(standing, cut=request.GET.get("idle") == "cut")
    elif view == "matrix":
        context["matrix"] = Matrix(standing)
    elif view == "events":
        context["trail"] = events_after(run, _number(request, "after"), until=at or None)
        context["after"] = _number(request, "after")
    return context


@require_GET
@gzip_page
def part(request: HttpRequest, code: str) -> HttpResponse:
    """The view alone, as it is now."""
    standing = Standing(visible_run(request.user, code), now=timezone.now())
    return render(request, "run/_view.html", {"standing": standing, **shown(request, standing)})


@require_GET
@gzip_page
def tracks(request: HttpRequest, code: str) -> HttpResponse:
    """When each text of the run was how long; with `?stream=a12` that text itself."""
    run = visible_run(request.user, code)
    stream = request.GET.get("stream")
    if stream is None:
        return JsonResponse(tracks_of(run))
    found = written(run, stream)
    if found is None:
        raise NoSuchText(run.code, stream)
    return JsonResponse({"text": found.written})


def _view(request: HttpRequest) -> str:
    view = request.GET.get("view", "")
    return view if view in VIEWS else "graph"


def _tabs(request: HttpRequest, code: str, view: str) -> list[Tab]:
    kept = {name: request.GET[name] for name in KEPT if request.GET.get(name)}
    page = reverse("run", args=[code])

    def url(name: str) -> str:
        asked = ({} if name == "graph" else {"view": name}) | kept
        return f"{page}?{urlencode(asked, safe=':/')}" if asked else page

    return [Tab(name, url(name), name == view) for name in VIEWS]


def _number(request: HttpRequest, name: str) -> int:
    given = request.GET.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0


urls: list[URLPattern] = [
    path("runs/<code>/view/", part, name="run-view"),
    path("runs/<code>/tracks/", tracks, name="run-tracks"),
]
