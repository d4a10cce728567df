"""Pages for when something is missing or breaks: each says what happened and what to do next."""

from django.http import HttpRequest, HttpResponse


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return HttpResponse("bad request", status=400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return HttpResponse("forbidden", status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return HttpResponse("not found", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    return HttpResponse("server error", status=500)
