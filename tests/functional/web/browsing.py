"""What tests in a real browser share: the server they look at, a watched page, and what must hold on every page.

Rows are made before a browser opens: Playwright's loop keeps Django from the database in the same thread. What happens
while one is open is done `elsewhere`.
"""

import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import connections
from django.test import Client
from playwright.sync_api import BrowserContext, Dialog, Page

from tests.services import ROOT, running

T = TypeVar("T")

HOSTILE = (
    "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    '"><svg onload=window.pwned=1></textarea></script><script>window.pwned=1</script>'
    " [a](javascript:window.pwned=1) ![b](javascript:window.pwned=1) <javascript:window.pwned=1>\n\n"
    "[c]: javascript:window.pwned=1\n\n[c] `</code><script>window.pwned=1</script>` {{ 7*7 }}"
)
AXE = ROOT / "static" / "canvas" / "node_modules" / "axe-core" / "axe.min.js"


@dataclass
class Server:
    """The studio's web server, and the cookie of somebody who is signed in."""

    url: str
    cookie: str

    @classmethod
    def of(cls, url: str, client: Client) -> "Server":
        return cls(url, client.cookies[settings.SESSION_COOKIE_NAME].value)

    def sign_in(self, context: BrowserContext) -> None:
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": self.cookie, "url": self.url}])


@dataclass
class Watched:
    """A page, and whatever it complained of."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.complaints.append(f"{self.page.url}: {error}"))
        self.page.on("console", lambda said: self._hear(said.type, said.text))
        self.page.on("dialog", self._refuse)

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(f"{self.page.url}: a dialog, {dialog.message}")
        dialog.dismiss()

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(f"{self.page.url}: {text}")

    def open(self, url: str, *, ready: str) -> None:
        self.page.goto(url)
        self.page.locator(ready).first.wait_for()


@contextmanager
def serving() -> Iterator[str]:
    """The address of the studio's web server, over the database of the tests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def answers() -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", port)) == 0

    with running("web", [sys.executable, "-m", "studio.up.web", "--port", str(port)], ready=answers):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def signed_in(server: Server, opened: Callable[[], Any], **settings: Any) -> Iterator[Page]:
    """A page of Ada's browser, which asked for no motion."""
    with opened() as browser:
        context = browser.new_context(reduced_motion="reduce", **settings)
        server.sign_in(context)
        yield context.new_page()


def elsewhere(job: Callable[..., T], *given: Any, **more: Any) -> T:
    """Do it in another thread, and leave no connection there."""

    def and_leave() -> T:
        try:
            return job(*given, **more)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as other:
        return other.submit(and_leave).result()


def judged(page: Page, url: str, ready: str) -> list[str]:
    """What axe finds to be serious or critical, once `ready` is there."""
    page.goto(url)
    page.locator(ready).first.wait_for()
    page.add_script_tag(path=Path(AXE))
    report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    where = url.partition("//")[2].partition("/")[2]
    return [
        f"{finding['id']} on /{where}: {node['target']} {node['failureSummary']}"
        for finding in report["violations"]
        if finding["impact"] in ("serious", "critical")
        for node in finding["nodes"]
    ]


Pages = Iterable[tuple[str, str]]
"""Paths, each with what is there once it is ready."""


def check_nothing_runs(server: Server, opened: Callable[[], Any], pages: Pages, *, expected: str = "\0") -> None:
    """No page runs what is written in it, and none complains; what the browser says of `expected` is let pass."""
    with opened() as browser:
        context = browser.new_context()
        server.sign_in(context)
        watched = Watched(context.new_page())
        for path, ready in pages:
            watched.open(server.url + path, ready=ready)
            assert watched.page.evaluate("window.pwned") is None, path
        assert [said for said in watched.complaints if expected not in said] == []


def check_nobody_is_kept_out(
    server: Server, opened: Callable[[], Any], pages: Pages, *, scheme: Any, width: int = 1440
) -> None:
    """Axe finds nothing serious, and no page is wider than the window. Axe's script needs the policy set aside."""
    found: list[str] = []
    with opened() as browser:
        context = browser.new_context(
            bypass_csp=True, color_scheme=scheme, reduced_motion="reduce", viewport={"width": width, "height": 900}
        )
        server.sign_in(context)
        page = context.new_page()
        for path, ready in pages:
            found += judged(page, server.url + path, ready)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert not found, "\n\n".join(sorted(set(found)))
