"""The pages in a real browser, served by the real server: what is written in them runs nothing, and all can use them.

Rows are made before the browser opens: Playwright's loop keeps Django from the database in the same thread.
"""

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

from apps.accounts.models import User
from apps.runs.models import Run
from apps.workers.models import Profile, Worker
from tests.factories import Driving, chain, failure, make_pool, make_run
from tests.services import ROOT, running

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    '"><svg onload=window.pwned=1></textarea></script><script>window.pwned=1</script>'
    " [a](javascript:window.pwned=1) ![b](javascript:window.pwned=1) <javascript:window.pwned=1>\n\n"
    "[c]: javascript:window.pwned=1\n\n[c] `</code><script>window.pwned=1</script>` {{ 7*7 }}"
)
TABS = ("result", "prompt", "context", "attempts", "request")
AXE = ROOT / "static" / "canvas" / "node_modules" / "axe-core" / "axe.min.js"


@dataclass
class Server:
    url: str
    cookie: str

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


@pytest.fixture
def hostile(ada: User) -> Run:
    """A run that failed, whose every text, by people and by models, wants to be a script."""
    profile = make_pool()
    Worker.objects.update(name=HOSTILE[:100])
    Profile.objects.filter(pk=profile.pk).update(name=HOSTILE[:100], description=HOSTILE[:200])
    driving = Driving(make_run(by=ada, task=HOSTILE, profile=profile))
    driving.misplan(HOSTILE, problems=[HOSTILE], repairs=[HOSTILE])
    driving.plan(chain(HOSTILE, f"Read it: {HOSTILE}", HOSTILE), raw=HOSTILE, repairs=[HOSTILE])
    driving.finish("s1", HOSTILE)
    driving.finish("s2", f"# {HOSTILE}\n\n| a | b |\n|---|---|\n| {HOSTILE.replace(chr(10), ' ')} | 1 |")
    driving.fail("s3", failure(HOSTILE, retryable=False))
    return driving.give_up(HOSTILE, step="s3", code="step-failed")


@pytest.fixture
def answered(ada: User, hostile: Run) -> Run:
    """A run that succeeded with such an answer."""
    driving = Driving(make_run(by=ada, task=f"Say it.\n{HOSTILE}"))
    driving.plan(chain("Say it", HOSTILE))
    return driving.carry({"s1": HOSTILE, "s2": HOSTILE})


@pytest.fixture
def server(browser: Client, answered: Run) -> Iterator[Server]:
    """The web server of the studio, over the database of the tests, and Ada's cookie."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def answers() -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", port)) == 0

    with running("web", [sys.executable, "-m", "studio.up.web", "--port", str(port)], ready=answers):
        yield Server(f"http://127.0.0.1:{port}", browser.cookies[settings.SESSION_COOKIE_NAME].value)


@pytest.fixture
def opened(chromium: str) -> Callable[[], Any]:
    @contextmanager
    def to_open() -> Iterator[Browser]:
        with sync_playwright() as playwright:
            launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            try:
                yield launched
            finally:
                launched.close()

    return to_open


def pages_of(*runs: Run) -> Iterator[tuple[str, str]]:
    """Every page, with what is there once it is ready."""
    yield "/", "#task"
    yield "/runs/", "table.runs"
    yield "/account/", "main h1"
    for run in runs:
        page = f"/runs/{run.code}/"
        yield page, ".flow-card"
        yield f"{page}?raw=1&all=1", ".flow-card"
        yield f"{page}?view=events", ".trail"
        yield f"{page}?edge=s1:s2", ".panel [data-source]"
        for tab in TABS:
            yield f"{page}?step=s2&tab={tab}", f'.panel [data-tab="{tab}"][aria-current]'
        yield f"{page}edit/?step=s2", ".flow-card"


def test_what_is_written_runs_nothing_on_any_page(
    server: Server, hostile: Run, answered: Run, opened: Callable[[], Any]
) -> None:
    with opened() as browser:
        context = browser.new_context()
        watched = Watched(context.new_page())
        watched.open(f"{server.url}/sign-in/", ready="main h1")
        server.sign_in(context)
        for path, ready in pages_of(hostile, answered):
            watched.open(server.url + path, ready=ready)

            assert watched.page.evaluate("window.pwned") is None, path
            links = watched.page.eval_on_selector_all("a[href], [src]", "all => all.map((one) => one.href || one.src)")
            assert not [link for link in links if str(link).lower().startswith("javascript:")], path
        watched.page.goto(f"{server.url}/runs/{answered.code}/edit/")
        watched.page.locator("#s1-duplicate").click()
        watched.page.locator('[data-step-form="s3"]').wait_for(state="attached")
        assert watched.page.evaluate("window.pwned") is None
        assert watched.complaints == []

        lost = Watched(context.new_page())
        lost.open(f"{server.url}/nowhere/{HOSTILE[:40].replace('/', '')}", ready="main h1")
        assert lost.page.evaluate("window.pwned") is None
        assert [said for said in lost.complaints if "404" not in said] == []  # the browser says so of the page itself


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_by_how_a_page_is_made(
    server: Server, hostile: Run, answered: Run, opened: Callable[[], Any], scheme: Any
) -> None:
    """What axe finds to be serious or critical. The policy that forbids its script is set aside here, and only here."""
    with opened() as browser:
        context = browser.new_context(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
        page = context.new_page()
        found = judged(page, f"{server.url}/sign-in/", "main h1")
        server.sign_in(context)
        for path, ready in pages_of(hostile, answered):
            found += judged(page, server.url + path, ready)
    assert not found, "\n\n".join(sorted(set(found)))


def judged(page: Page, url: str, ready: str) -> list[str]:
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
