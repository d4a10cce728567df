"""The audit page: every event one may read, newest first, narrowed by a filter that stands in the address.

What is being read stays where it is: that more has happened is said beside it, and how much of it fits. However many
events there are, a page reads a bounded number of rows; where the log is long and little fits, it says how far it
looked, and goes on from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.audit import checks, filters, finding, searching
from apps.audit.conditions import Asked as Conditions
from apps.audit.conditions import conditions_of
from apps.audit.lines import lines
from apps.audit.places import Place
from apps.web.access import person, wants_part
from apps.web.audit.asked import LONGEST_TYPED, Asked, from_form, url_of
from apps.web.audit.opened import Opened
from apps.web.audit.rows import TEXT_CHARS, Row, rows_of
from apps.web.audit.scope import NobodysAuditor, Scope, names_in, scope_of, visible_line
from apps.web.audit.standing import standings_of
from apps.web.audit.suggestions import suggestions_for
from apps.web.words.events import TOLD

PAGE = 50
NEWS = 99


@dataclass(frozen=True)
class Page:
    """A page of the list, where it goes on, and how far the log was looked through for it."""

    rows: Sequence[Row]
    next: Place | None
    looked_until: datetime | None
    since: int  # the first transaction whose events it does not show


def page_of(user: User, scope: Scope, asked: Asked, *, now: datetime) -> Page:
    """The page that is asked for."""
    since = finding.frontier()
    found = finding.find(_conditions(scope, asked, now=now), limit=PAGE, after=asked.place)
    return Page(rows_of(lines(found.ids, chars=TEXT_CHARS, names=TOLD), {}), found.next, found.looked_until, since)


def _conditions(scope: Scope, asked: Asked, *, now: datetime) -> Conditions:
    return conditions_of(asked.filter, projects=scope.slugs, names=names_in(asked.filter), now=now)


@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """The list; for htmx that part of it which changes."""
    if "form" in request.GET:
        return redirect(url_of(from_form(request.GET)))
    user, asked, is_part = person(request), Asked.of(request.GET), wants_part(request)
    scope, now = scope_of(user), timezone.now()
    context = list_context(user, scope, asked, now=now)
    if not is_part:
        context |= {"suggestions": suggestions_for(user, scope), "fields": filters.FIELDS.values()}
        context |= {"standings": standings_of(scope, project=asked.project), "outcomes": filters.OUTCOMES}
        context |= {"actors": filters.ACTORS, "longest": LONGEST_TYPED}
    response = render(request, "audit/_list.html" if is_part else "audit/page.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def list_context(user: User, scope: Scope, asked: Asked, *, now: datetime) -> dict[str, Any]:
    """What the list is drawn from."""
    page = page_of(user, scope, asked, now=now)
    return {
        "asked": asked,
        "scope": scope,
        "page": page,
        "next_url": url_of(asked.text, **{"from": page.next}),
        "newest_url": url_of(asked.text),
        "is_behind": asked.has_words and searching.is_behind(),
    }


@require_safe
def news(request: HttpRequest) -> HttpResponse:
    """How many events have come that fit, for a list that was read up to `since`."""
    asked, given = Asked.of(request.GET), request.GET.get("since", "")
    scope = scope_of(person(request))
    since = int(given) if given.isascii() and given.isdigit() and len(given) < 19 else finding.frontier()
    count = finding.news(_conditions(scope, asked, now=timezone.now()), since=since, most=NEWS + 1)
    return render(request, "audit/_news.html", {"count": min(count, NEWS), "has_more": count > NEWS, "asked": asked})


@require_safe
def event(request: HttpRequest, pk: int) -> HttpResponse:
    """One event: a page of its own; for htmx its row in the list, opened, or with `?closed` as it was."""
    line, in_run, is_part = visible_line(person(request), pk), "in_run" in request.GET, wants_part(request)
    opened = Opened(line, is_whole="whole" in request.GET, in_run=in_run)
    context = {
        "opened": opened,
        "row": opened.row,
        "is_open": "closed" not in request.GET,
        "in_run": in_run,
        "standing_alone": not is_part,
    }
    response = render(request, "audit/_event.html" if is_part else "audit/event.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def standing(request: HttpRequest) -> HttpResponse:
    """The banner alone, while a check is under way."""
    scope, asked = scope_of(person(request)), Asked.of(request.GET)
    return render(
        request, "audit/_standing.html", {"standings": standings_of(scope, project=asked.project), "asked": asked}
    )


@require_POST
def verify(request: HttpRequest) -> HttpResponseRedirect:
    """Ask for a check of a project's trails, or of all trails of the studio."""
    user, project = person(request), request.POST.get("project", "")
    if not scope_of(user).holds(project):
        raise NobodysAuditor
    checks.start_check(project=project or None, by=user.actor, now=timezone.now())
    messages.info(request, "The trails are being checked. What is found stands here.")
    return redirect(url_of(request.POST.get("q", "")[:LONGEST_TYPED]))


def event_url(pk: int) -> str:
    """The address of one event."""
    return reverse("audit-event", args=[pk])


urls: list[URLPattern] = [
    path("audit/", audit, name="audit"),
    path("audit/news/", news, name="audit-news"),
    path("audit/standing/", standing, name="audit-standing"),
    path("audit/verify/", verify, name="audit-verify"),
    path("audit/events/<int:pk>/", event, name="audit-event"),
]
