"""Who may see what, in one place: everything but the way in asks who you are, and others' runs are not there."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import structlog
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.core.errors import NotFound
from apps.runs.erased import check_not_erased
from apps.runs.models import Run


class NoSuchRun(NotFound):
    """There is no such run, or it is in a project of others."""

    def __init__(self, code: str) -> None:
        super().__init__(f"There is no run {code[:20]}, or it is not yours to see.")


class NoSuchProject(NotFound):
    """There is no such project, or it is of others."""

    def __init__(self, slug: str) -> None:
        super().__init__(f"There is no project {slug[:40]}, or it is not yours to see.")


def person(request: HttpRequest) -> User:
    """Who is asking, on a page that requires sign-in."""
    assert isinstance(request.user, User), "SignInRequired lets nobody else through"
    return request.user


def visible_run(user: User | AnonymousUser, code: str) -> Run:
    """The run called `code`, for whoever may see it; what is logged from here on carries its code.

    :raises NoSuchRun: there is none, or it is in a project of others.
    """
    runs = Run.objects.visible_to(user).select_related("project", "owner", "parent")
    run = None if "\0" in code else runs.filter(code=code).first()  # PostgreSQL cannot even look for a NUL
    if run is None:
        raise NoSuchRun(code)
    structlog.contextvars.bind_contextvars(run=run.code)
    return run


def run_to_change(user: User, code: str) -> Run:
    """The run called `code`, on a page that is there to start or change something of it.

    :raises NoSuchRun: as `visible_run`. :raises NotAllowed: they may see it, and only that.
    :raises RunErased: its texts are gone.
    """
    run = visible_run(user, code)
    check_may(user, Deed.ACT, run.project)
    check_not_erased(run)
    return run


def visible_project(user: User, slug: str) -> Project:
    """The project called `slug`, for whoever belongs to it.

    :raises NoSuchProject: there is none, or it is of others.
    """
    found = None if "\0" in slug else Project.objects.visible_to(user).filter(slug=slug).first()
    if found is None:
        raise NoSuchProject(slug)
    return found


def wants_part(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of the page, rather than somebody for the page."""
    htmx = HtmxDetails(request)
    return bool(htmx) and not htmx.history_restore_request


class SignInRequired(LoginRequiredMiddleware):
    """Every view requires sign-in unless it is marked `login_not_required`."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        refused = super().process_view(request, view_func, view_args, view_kwargs)
        htmx = HtmxDetails(request)
        if refused is None or not htmx:
            return refused
        # A part of a page cannot show the way in: the whole page goes there, and comes back to where it was.
        here = urlencode({"next": htmx.current_url_abs_path or "/"})
        return HttpResponseClientRedirect(f"{reverse('account_login')}?{here}")
