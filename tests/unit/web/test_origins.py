"""Which pages may open a socket: the studio's own, with scheme and port, also behind a proxy that ends TLS."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from apps.web.live.origins import OwnPagesAlone

OVER_TLS = ("x-forwarded-proto", "https")


def is_let_in(origin: str | None, *headers: tuple[str, str], host: str = "127.0.0.1:8123", scheme: str = "ws") -> bool:
    """Whether a socket reaches the application behind; else it is closed before it was accepted."""
    came: list[str] = []
    sent: list[dict[str, Any]] = []

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        came.append(scope["path"])

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = [("host", host), *([("origin", origin)] if origin is not None else []), *headers]
    scope = {
        "type": "websocket",
        "scheme": scheme,
        "path": "/ws/runs/",
        "query_string": b"after=\xff",
        "headers": [(name.encode(), value.encode()) for name, value in given],
    }
    async_to_sync(OwnPagesAlone(application))(scope, receive, send)
    assert bool(came) != ([message["type"] for message in sent] == ["websocket.close"])
    return bool(came)


@pytest.fixture(autouse=True)
def nothing_trusted(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "studio.example.org"]
    settings.CSRF_TRUSTED_ORIGINS = []
    settings.SECURE_PROXY_SSL_HEADER = None


def test_the_page_that_was_served_here_is_let_in():
    assert is_let_in("http://127.0.0.1:8123")
    assert is_let_in("http://localhost:8123", host="localhost:8123")
    assert is_let_in("https://studio.example.org", host="studio.example.org", scheme="wss")


@pytest.mark.parametrize(
    "origin",
    [
        "http://127.0.0.1:3000",
        "http://127.0.0.1",
        "https://127.0.0.1:8123",
        "http://localhost:8123",
        "http://127.0.0.1:8123.example.org",
        "http://example.org",
        "null",
        "",
        None,
    ],
)
def test_a_page_from_anywhere_else_is_not(origin: str | None):
    assert not is_let_in(origin)


def test_two_origins_are_none():
    assert not is_let_in("http://127.0.0.1:8123", ("origin", "http://example.org"))


def test_a_name_that_somebody_leads_here_is_not_ours():
    """A page of another site whose name is made to mean this machine (DNS rebinding)."""
    assert not is_let_in("http://example.org:8123", host="example.org:8123")


def test_behind_a_proxy_that_ends_tls_its_word_on_the_scheme_is_taken(settings: Any):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    assert is_let_in("https://studio.example.org", OVER_TLS, host="studio.example.org")
    assert not is_let_in("http://studio.example.org", OVER_TLS, host="studio.example.org")


def test_where_no_proxy_is_named_nobody_s_word_is_taken():
    assert not is_let_in("https://studio.example.org", OVER_TLS, host="studio.example.org")


def test_a_proxy_may_ask_by_another_name_where_the_public_one_is_trusted(settings: Any):
    settings.CSRF_TRUSTED_ORIGINS = ["https://studio.example.org", "https://*.pages.example.org"]

    assert is_let_in("https://studio.example.org")
    assert is_let_in("https://one.pages.example.org")
    assert not is_let_in("https://studio.example.org:8443")
    assert not is_let_in("http://studio.example.org")
    assert not is_let_in("https://studiopages.example.org")
