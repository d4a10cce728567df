"""The list of runs: newest first, narrowed by a filter that stands in the address, in pages that end at a run.

What is being read stays where it is: a page that is fetched again shows the same runs as they are by then, and says how
many others have come. However many runs there are, a page reads a bounded number of rows in a fixed number of queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from apps.accounts.models import Project, User
from apps.runs import filters
from apps.runs.filters import Filter, parse
from apps.runs.finding import STATES, find
from apps.runs.lineage import apart_from_experiments
from apps.runs.models import TRIAL, Run, RunQuerySet, SavedView
from apps.web.access import person, wants_part
from apps.web.runs.lines import Line, lines_of
from apps.web.runs.suggestions import suggestions_for

PAGE = 50
COUNTED = 99  # "99+" says enough, and every viewer has it counted again whenever something happens
NEWS = 99
LONGEST_TYPED = 500

# What the list is narrowed to with one press. One word for all that is not over: few people care whether it is queued.
TABS = {
    "": "All",
    "live": "Live",
    "held": "Held",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "stopped": "Stopped",
}
TESTS = "test"  # runs that only try a worker: left out unless they are asked for,
EXPERIMENTS = "experiment"  # and so are the forks that an experiment on edges made


@dataclass(frozen=True)
class Asked:
    """What of the list is asked for, as the address says it; what it cannot mean is left out.

    A page that is fetched again names the runs it shows (`keep`) and the run it ended at, where it did (`end`).
    """

    text: str = ""
    before: int | None = None
    keep: tuple[str, ...] = ()
    end: int | None = None

    @classmethod
    def of(cls, request: HttpRequest) -> "Asked":
        given = request.GET
        text = given.get("q", "").replace("\0", "").strip()[: filters.LONGEST]
        return cls(
            text=_with_state(given.get("state", ""), text),
            before=_number(given.get("before", "")),
            keep=tuple(given.get("keep", "").replace("\0", "").split(","))[:PAGE] if given.get("keep") else (),
            end=_number(given.get("end", "")),
        )

    @cached_property
    def filter(self) -> Filter:
        return parse(self.text)

    @cached_property
    def understood(self) -> str:
        return filters.render(self.filter)

    @property
    def is_of_tests(self) -> bool:
        return self.filter.asks("is", TESTS)

    def narrowed_to(self, state: str) -> str:
        """The address of the first page with this state, or kind, in place of the one that is asked for."""
        return url_of(filters.render(self.filter.but("is" if state == TESTS else "status", state)))


def _with_state(state: str, text: str) -> str:
    """The text with a state that an older address names by itself."""
    said = {"tests": "is:test"}.get(state, f"status:{state}")
    return f"{said} {text}".strip() if state and parse(said).terms else text


def _number(given: str) -> int | None:
    return int(given) if given.isascii() and given.isdigit() and len(given) < 19 else None


def url_of(text: str, **more: Any) -> str:
    """The address of the list narrowed by `text`."""
    query = urlencode({name: value for name, value in {"q": text, **more}.items() if value}, safe=':<>="')
    return f"/runs/?{query}" if query else "/runs/"


@dataclass(frozen=True)
class Tab:
    """Something the list can be narrowed to with one press, and how many runs there are."""

    label: str
    url: str
    count: str
    current: bool


@dataclass(frozen=True)
class Page:
    """A page of the list, where it goes on, and what a page that is fetched again does not show: how many new ones."""

    lines: Sequence[Line]
    older: int | None = None
    news: int = 0
    gone: frozenset[str] = frozenset()  # shown, though the filter does not ask for them any more

    @property
    def keep(self) -> str:
        return ",".join(line.run.code for line in self.lines)

    @property
    def has_more_news(self) -> bool:
        return self.news > NEWS


def page_of(user: User, asked: Asked, *, now: datetime) -> Page:
    """The page that is asked for."""
    found = find(_visible(user, asked), asked.filter, by=user, now=now)
    if asked.keep:
        return _again(found, user, asked, now=now)
    if asked.before is not None:
        found = found.filter(pk__lt=asked.before)
    lines = lines_of(found, limit=PAGE + 1, now=now)
    shown = lines[:PAGE]
    return Page(shown, older=shown[-1].run.pk if len(lines) > PAGE else None)


def _visible(user: User, asked: Asked) -> RunQuerySet:
    """Those the filter chooses from: what stands on pages of its own only where it is asked for."""
    if asked.filter.asks("is", EXPERIMENTS):
        return Run.objects.visible_to(user)
    return visible_tests(user) if asked.is_of_tests else visible_runs(user)


def _again(found: RunQuerySet, user: User, asked: Asked, *, now: datetime) -> Page:
    """The same runs once more, in their places; what would stand among them now is counted."""
    lines = lines_of(Run.objects.visible_to(user).filter(code__in=asked.keep), limit=PAGE, now=now)
    others = found.exclude(code__in=asked.keep)
    if asked.end is not None:
        others = others.filter(pk__gt=asked.end)
    news = 0 if asked.before is not None else others.order_by()[: NEWS + 1].count()
    fits = set(found.filter(code__in=asked.keep).values_list("code", flat=True)) if asked.filter.terms else asked.keep
    return Page(lines, older=asked.end, news=news, gone=frozenset(asked.keep) - frozenset(fits))


def tabs_of(user: User, asked: Asked) -> list[Tab]:
    """The states, each with how many runs are in it, counted as far as it matters; and the tests, if there are any."""
    visible, tests = visible_runs(user), _counted(visible_tests(user))
    states = asked.filter.states
    tabs = [
        Tab(
            label=label,
            url=asked.narrowed_to(state),
            count=_counted(visible.filter(status__in=STATES[state])) if state else "",
            current=not asked.is_of_tests and states == ((state,) if state else ()),
        )
        for state, label in TABS.items()
    ]
    if tests != "0" or asked.is_of_tests:
        tabs.append(Tab("Tests", asked.narrowed_to(TESTS), tests, asked.is_of_tests))
    return tabs


def _counted(runs: RunQuerySet) -> str:
    found = runs.order_by()[: COUNTED + 1].count()
    return f"{COUNTED}+" if found > COUNTED else str(found)


def visible_runs(user: User) -> RunQuerySet:
    """The runs that were asked for in the person's projects, the projects named one by one: so the indexes serve.

    Without the tests of workers, and the forks that an experiment made.
    """
    projects = list(Project.objects.visible_to(user).values_list("pk", flat=True))
    return apart_from_experiments(Run.objects.asked_for().filter(project__in=projects).exclude(profile=TRIAL))


def visible_tests(user: User) -> RunQuerySet:
    """The tests of workers in the person's projects."""
    return Run.objects.visible_to(user).filter(profile=TRIAL)


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """The list; for htmx that part of it which changes."""
    user, asked, is_part = person(request), Asked.of(request), wants_part(request)
    context = list_context(user, asked, now=timezone.now())
    if not is_part:
        context |= {"suggestions": suggestions_for(user), "fields": filters.FIELDS.values()}
    response = render(request, "runs/_list.html" if is_part else "runs/page.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def list_context(user: User, asked: Asked, **more: Any) -> dict[str, Any]:
    """What the list is drawn from."""
    page = page_of(user, asked, now=more.pop("now"))
    views = list(SavedView.objects.filter(person=user))
    return {
        "asked": asked,
        "page": page,
        "tabs": tabs_of(user, asked),
        "views": [(view, url_of(view.text), view.text == asked.understood) for view in views],
        "view": next((view for view in views if view.text == asked.understood), None),
        "older_url": url_of(asked.text, before=page.older),
        "newest_url": url_of(asked.text),
        "longest": LONGEST_TYPED,
        **more,
    }
