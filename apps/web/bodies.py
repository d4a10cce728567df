"""Refuses forms whose body is no UTF-8: Django would read wrong letters, and nobody would be told."""

from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from apps.web.errors import respond

NOT_UTF8 = (
    "The text that was sent is not UTF-8, so its letters cannot be told for certain. Nothing was done. "
    "Browsers send UTF-8 by themselves; a program must encode the form's fields as UTF-8."
)


def is_utf8(request: HttpRequest) -> bool:
    """Whether a posted form's text is UTF-8. Files may be anything."""
    if request.content_type == "application/x-www-form-urlencoded":
        return _decodes(unquote_to_bytes(request.body.replace(b"+", b" ")))
    if request.content_type == "multipart/form-data":
        return b"filename=" in request.body or _decodes(request.body)
    return True


def _decodes(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


class Utf8Forms(MiddlewareMixin):
    """Refuses a form that is not UTF-8 before anybody reads it."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: object, kwargs: object
    ) -> HttpResponse | None:
        if request.method != "POST" or is_utf8(request):
            return None
        return respond(request, 400, NOT_UTF8)
