"""Pages for when something is missing or breaks: each says what happened and what to do next.

Refusals that the studio raises carry their own words; here alone they become statuses. A part of a page gets its words
as a notice, which the page shows over what is there.
"""

import sys

import structlog
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin
from django.views.decorators.csrf import requires_csrf_token
from django_htmx.middleware import HtmxDetails

from apps.core.errors import Conflict, Denied, Invalid, NotFound, StudioError, Unavailable
from apps.web.tracing import request_name

logger = structlog.get_logger(__name__)

STATUS: dict[type[StudioError], int] = {Invalid: 400, Denied: 403, NotFound: 404, Conflict: 409, Unavailable: 503}

TITLES = {
    400: "This request cannot be read",
    403: "This is not yours to do",
    404: "There is nothing here",
    409: "Something has changed since",
    429: "Too often",
    500: "Something broke on our side",
    503: "A part of the studio does not answer",
}

DATABASE_AWAY = (
    "The database does not answer. What was committed is safe; try again in a few seconds. "
    "If it stays away, look at what the studio printed where it was started."
)


def status_of(refusal: StudioError) -> int:
    """The HTTP status of a refusal, by its kind."""
    return next((status for kind, status in STATUS.items() if isinstance(refusal, kind)), 400)


def respond(request: HttpRequest, status: int, text: str) -> HttpResponse:
    """The page for `status`, or the notice where htmx asked for a part of one. `text` is for the reader."""
    context = {"status": status, "title": TITLES.get(status, TITLES[400]), "text": text, "request_name": request_name()}
    if HtmxDetails(request):
        return HttpResponse(render_to_string("errors/notice.html", context), status=status)
    # The page of a failure knows nobody: who is signed in stands in the database, which may be what failed.
    known = None if status >= 500 else request
    return HttpResponse(render_to_string("errors/page.html", context, request=known), status=status)


class Refusals(MiddlewareMixin):
    """Turns what the studio refuses in a view into its page."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, StudioError):
            return respond(request, status_of(exception), exception.message)
        return None


# --- what Django itself calls --------------------------------------------------------------------------------------


@requires_csrf_token
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig | TooManyFieldsSent):
        return respond(
            request, 400, "This is more than the studio takes at once. Go back, shorten it and send it again."
        )
    return respond(request, 400, "The browser sent something that is no proper request. Go back and try again.")


@requires_csrf_token
def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return respond(request, 403, str(exception) if exception and str(exception) else "Ask an admin for access.")


@requires_csrf_token
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return respond(request, 404, "The address may be mistyped, or what it named is not yours to see.")


def too_many(request: HttpRequest) -> HttpResponse:
    """For whoever tries to come in too often, as allauth counts it."""
    return respond(request, 429, "There were too many tries from here. Wait a minute, then go on.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Says so without asking the database, which may be the very thing that broke."""
    try:
        if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
            return respond(request, 503, DATABASE_AWAY)
        return respond(request, 500, "This is our mistake, not yours. It was logged; what was committed is safe.")
    except Exception:  # the templates or the static files may be what broke
        logger.exception("the error page failed too")
        return HttpResponse("Something broke on our side. It was logged.", status=500, content_type="text/plain")
