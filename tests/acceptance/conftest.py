"""One studio from a fresh copy and one signed-in browser, for the whole walk."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright

from tests.acceptance.fresh import FIRST_START_S, FreshStudio
from tests.acceptance.pages import WATCH_SOCKETS


@pytest.fixture(scope="session")
def studio() -> Iterator[FreshStudio]:
    started = FreshStudio()
    try:
        started.link = started.start(within_s=FIRST_START_S)
        yield started
    finally:
        started.remove()


@pytest.fixture(scope="session")
def context(studio: FreshStudio, chromium: str) -> Iterator[BrowserContext]:
    """A browser that is signed in by the printed link."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        signed_in = browser.new_context(viewport={"width": 1440, "height": 900})
        signed_in.set_default_timeout(15_000)
        signed_in.add_init_script(WATCH_SOCKETS)
        page = signed_in.new_page()
        page.goto(studio.link)
        page.locator("main button, main [type=submit]").first.click()
        page.wait_for_url(f"{studio.url}/")
        page.close()
        yield signed_in
        browser.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    opened = context.new_page()
    yield opened
    opened.close()
