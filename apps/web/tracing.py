"""A name for every request, so that what a person saw and what was logged can be brought together."""

import re
import secrets
from collections.abc import Awaitable, Callable
from typing import cast

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

HEADER = "X-Request-ID"
GIVEN = re.compile(r"[A-Za-z0-9._-]{8,64}")  # by a proxy in front of us

Answer = HttpResponseBase | Awaitable[HttpResponseBase]


class RequestId:
    """Binds `request` to whatever is logged while one is answered, and says it in the response."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        if self.is_async:
            return self._later(request)
        name = _begin(request)
        response = cast(HttpResponseBase, self.get_response(request))
        response[HEADER] = name
        return response

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        name = _begin(request)
        response = await cast(Awaitable[HttpResponseBase], self.get_response(request))
        response[HEADER] = name
        return response


def _begin(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "")
    name = given if GIVEN.fullmatch(given) else secrets.token_hex(6)
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request=name)
    return name


def request_name() -> str:
    """The name of the request being answered, for the person to quote; empty where there is none."""
    return str(structlog.contextvars.get_contextvars().get("request", ""))
