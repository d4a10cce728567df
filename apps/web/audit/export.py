"""Exporting trails: the page that asks which, and the download, which is read from the database while it is sent."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.audit.exporting.exports import Export
from apps.core.errors import Denied, Invalid
from apps.web.access import person
from apps.web.audit.export_form import Form


class NobodysAuditor(Denied):
    """There is no project whose trails the person may read."""

    def __init__(self) -> None:
        super().__init__("Trails are exported by auditors and admins of a project. An admin of yours can make you one.")


@require_http_methods(["GET", "HEAD", "POST"])
def export(request: HttpRequest) -> HttpResponseBase:
    """The form; a POST answers with the zip, or with the form and what is wrong with it."""
    is_sent = request.method == "POST"
    form = Form(request.POST if is_sent else request.GET, person(request), is_sent=is_sent)
    if not form.offers:
        raise NobodysAuditor
    if not is_sent:
        return _page(request, form)
    try:
        return _download(form.begin(now=timezone.now()))
    except Invalid as refusal:
        form.errors[refusal.field or "scope"] = refusal.message
        return _page(request, form, status=422)


def _page(request: HttpRequest, form: Form, *, status: int = 200) -> HttpResponse:
    return render(request, "audit/export.html", {"form": form}, status=status)


def _download(made: Export) -> StreamingHttpResponse:
    """The zip, of which the browser saves the beginning while the rest is read."""
    response = StreamingHttpResponse(_handed_on(made.pieces()), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{made.name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response


async def _handed_on(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Each piece is made in the request's own thread, once the one before it is on its way."""
    while piece := await sync_to_async(_next)(pieces):
        yield piece


def _next(pieces: Iterator[bytes]) -> bytes:
    return next(pieces, b"")


urls: list[URLPattern] = [path("audit/export/", export, name="audit-export")]
