"""Lets the studio's own pages alone open sockets: a browser sends its cookies along, whoever's page asks for one."""

from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from django.utils.http import is_same_domain

Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]


class OwnPagesAlone:
    """Asks of a socket what Django asks of a form: whether its origin, with scheme and port, is one of the studio's.

    That is the origin that the request itself came to, as `SECURE_PROXY_SSL_HEADER` tells it behind a proxy, and those
    of `CSRF_TRUSTED_ORIGINS`. Whoever names none is no page.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if is_ours(scope):
            return await self.application(scope, receive, send)
        await receive()  # that somebody asks to connect
        await send({"type": "websocket.close"})  # before it was accepted: a server answers 403


def is_ours(scope: Scope) -> bool:
    scheme = "https" if scope.get("scheme") == "wss" else "http"
    asked = ASGIRequest({**scope, "method": "GET", "scheme": scheme, "query_string": b""}, BytesIO())
    origin = asked.META.get("HTTP_ORIGIN")
    return origin is not None and (origin == _came_to(asked) or _is_trusted(origin))


def _came_to(asked: HttpRequest) -> str | None:
    """None where the studio does not answer to that host."""
    try:
        return f"{asked.scheme}://{asked.get_host()}"
    except DisallowedHost:
        return None


def _is_trusted(origin: str) -> bool:
    scheme, _, host = origin.partition("://")
    trusted = [each.partition("://") for each in settings.CSRF_TRUSTED_ORIGINS]
    return any(its == scheme and is_same_domain(host, pattern.lstrip("*")) for its, _, pattern in trusted)
