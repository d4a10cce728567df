"""The page of two runs in a real browser: it runs nothing that is written in them, all can use it, and keys lead on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.runs.models import Run
from tests.factories import Driving, chain, make_run
from tests.functional.web.browsing import HOSTILE, Server, check_nobody_is_kept_out, check_nothing_runs, signed_in
from tests.integration.web.given import workflow_of

pytestmark = pytest.mark.browser


@dataclass
class Runs:
    """Two runs whose every text wants to be a script, and two with a step that only one of them has."""

    a: Run
    b: Run
    short: Run
    long: Run

    @property
    def hostile(self) -> str:
        return f"/compare/?a={self.a.code}&b={self.b.code}"

    @property
    def grown(self) -> str:
        return f"/compare/?a={self.short.code}&b={self.long.code}"


@pytest.fixture
def runs(ada: User) -> Runs:
    def carried(*texts: str) -> Run:
        driving = Driving(make_run(by=ada, task=HOSTILE))
        driving.plan(chain(HOSTILE, f"Read it: {texts[0]}"))
        return driving.carry({"s1": texts[0], "s2": texts[1]})

    def planned(*steps: tuple[str, str, list[str]], result: str) -> Run:
        driving = Driving(make_run(by=ada))
        driving.plan(workflow_of(*steps))
        return driving.carry({key: result if key in ("s2", "s4") else "South" for key, _, _ in steps})

    first: tuple[tuple[str, str, list[str]], ...] = (("s1", "", []), ("s2", "", ["s1"]), ("s3", "", []))
    return Runs(
        a=carried(HOSTILE, HOSTILE),
        b=carried(f"{HOSTILE} <b>more</b>", f"before {HOSTILE}"),
        short=planned(*first, result="53 %"),
        long=planned(*first, ("s4", "", ["s2", "s3"]), result="54 %"),
    )


def pages(runs: Runs) -> Iterator[tuple[str, str]]:
    """Every kind of page, with what is there once it is ready."""
    yield runs.hostile, ".flow-card"
    yield f"{runs.hostile}&show=changed", ".flow-card"
    yield f"{runs.hostile}&show=unlike", ".flow-card"
    yield f"{runs.hostile}&only=s1:s1", ".alone .words"
    yield f"{runs.hostile}&only=answer", ".alone .words"
    yield runs.grown, ".flow-card"
    yield "/compare/", ".candidates"
    yield f"/compare/?b={runs.a.code}", ".candidates"
    yield f"/compare/?a={runs.a.code}&b={runs.a.code}", ".notice"
    yield f"/runs/{runs.a.code}/", '[popovertarget="compare-with"]'


def focused(page: Page) -> str:
    """The step of the list that has the focus."""
    found: str = page.evaluate("document.activeElement.closest('[data-difference][id]')?.id ?? ''")
    return found


def test_what_is_written_runs_nothing(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    check_nothing_runs(server, opened, pages(runs))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_page(
    server: Server, runs: Runs, opened: Callable[[], Any], scheme: Any, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, pages(runs), scheme=scheme, width=width)


def test_n_and_p_lead_from_difference_to_difference(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(server.url + runs.grown)
        page.locator('.flow-card[data-difference="only-b"]').wait_for()

        page.keyboard.press("n")
        assert focused(page) == "pair-2"
        page.keyboard.press("n")
        assert focused(page) == "pair-4"
        assert page.url.endswith("#pair-4")
        assert page.locator('.flow-card[aria-pressed="true"]').get_attribute("data-key") == "pair:4"
        page.keyboard.press("n")
        assert focused(page) == "answer"
        page.keyboard.press("p")
        page.keyboard.press("p")
        assert focused(page) == "pair-2"


def test_a_card_of_the_graph_leads_to_its_step_also_where_that_is_filtered_out(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}{runs.grown}&show=changed")
        page.locator('[data-key="pair:2"]').click()
        assert focused(page) == "pair-2"
        assert page.locator("#pair-2").get_attribute("open") is not None

        page.locator('[data-key="pair:1"]').focus()
        page.keyboard.press("Enter")
        page.locator(".alone h1", has_text="Step 1").wait_for()
        page.get_by_role("link", name="Back to all of run").click()
        page.locator(".flow-card").first.wait_for()


def test_everything_but_the_graph_is_there_without_scripts(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/compare/?a={runs.short.code}")
        page.get_by_label("B Code or address").fill(runs.long.code)
        page.get_by_role("button", name="Compare").click()

        assert page.locator("details.pair").count() == 4
        assert page.locator("#pair-2 del").first.inner_text() == "53"
        assert page.locator("#pair-2 ins").first.inner_text() == "54"
        page.locator("#pair-1 summary").first.click()
        assert page.locator("#pair-1 h4").first.is_visible()
        page.get_by_role("link", name="Differences only").click()
        assert page.locator("details.pair").count() == 2
        page.get_by_role("link", name="Swap").click()
        assert page.locator("#pair-2 del").first.inner_text() == "54"


def test_a_run_leads_to_the_comparison_with_another(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{runs.short.code}/")
        page.get_by_role("button", name="Compare…").click()
        page.get_by_label("Code of the other run").fill(runs.long.code)
        page.keyboard.press("Enter")
        page.locator(".flow-card").first.wait_for()

        assert page.url.endswith(f"/compare/?a={runs.short.code}&b={runs.long.code}")
