"""The views of a run in a real browser: timeline, matrix and events beside the graph; and the run as it was."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.runs.models import Run
from apps.runs.services import approve_run
from tests.factories import Driving, chain, failure, make_run
from tests.functional.web.browsing import HOSTILE, Server, check_nobody_is_kept_out, check_nothing_runs, signed_in
from tests.functional.web.test_browser import Grouped, grouped
from tests.integration.web.given import workflow_of

__all__ = ["grouped"]

pytestmark = pytest.mark.browser

WROTE = f"South grew most. {HOSTILE}"
VIEWS = {"graph": ".flow-card", "timeline": ".lane", "matrix": "[data-grid]", "events": ".trail"}


@dataclass
class Runs:
    """A run that is over and can be looked at again, one that goes on, one that was held, and one of many steps."""

    over: Run
    going: Driving
    held: Run
    large: Run


@pytest.fixture
def runs(ada: User) -> Runs:
    over = Driving(make_run(by=ada, task=HOSTILE))
    over.plan(workflow_of(("s1", "thinker", []), ("s2", "", ["s1"]), ("s3", "", ["s1", "s2"])))
    first = over.start("s1")
    first.track = [[100, 6], [500, 11], [900, len(WROTE)]]
    over.answer("s1", first, WROTE)
    over.fail("s2", failure(HOSTILE), retry_in_s=2)
    over.carry({"s2": HOSTILE, "s3": "53 %"})

    going = Driving(make_run(by=ada))
    going.plan(chain("Compute", "Answer"))
    going.start("s1")

    planned = Driving(make_run(by=ada))
    planned.plan(chain("Compute"), hold=True)
    assert planned.at is not None
    later = planned.at + timedelta(hours=2)
    approve_run(run=planned.told(), by=ada, now=later)
    held = Driving(planned.told(), at=later)

    large = Driving(make_run(by=ada), pace=timedelta(milliseconds=1))
    large.plan(workflow_of(*((f"s{at}", "", [f"s{at - 1}"] if at > 1 else []) for at in range(1, 81))))
    return Runs(over.told(), going, held.carry({"s1": "South"}), large.told())


def pages(runs: Runs, grouped: Grouped) -> Iterator[tuple[str, str]]:
    """Every view of every kind of run, with what is there once it is ready."""
    for code in (runs.over.code, runs.going.run.code, grouped.outer.run.code):
        for view, ready in VIEWS.items():
            yield f"/runs/{code}/?view={view}", ready
    over = f"/runs/{runs.over.code}/"
    yield f"{over}?view=matrix&edge=s1:s3", '[data-edge="s1:s3"][aria-current]'
    yield f"{over}?view=timeline&step=s2", ".lane[aria-current]"
    yield f"{over}?view=events&at=6", ".trail .note"
    yield f"{over}?at=5&step=s1", "#then:not([hidden]) h2"
    yield f"{over}?at=1", "#then:not([hidden]) h2"
    yield f"/runs/{runs.held.code}/?view=timeline&idle=cut", ".lane"


def test_what_is_written_runs_nothing(server: Server, runs: Runs, grouped: Grouped, opened: Callable[[], Any]) -> None:
    check_nothing_runs(server, opened, pages(runs, grouped))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_page(
    server: Server, runs: Runs, grouped: Grouped, opened: Callable[[], Any], scheme: Any, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, pages(runs, grouped), scheme=scheme, width=width)


def asked(page: Page) -> str:
    found: str = page.evaluate("location.search")
    return found


def test_one_selection_goes_through_all_views(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.over.code}/?view=timeline")
        page.locator('.lane[data-step="s2"]').first.click()
        page.locator('.panel [data-tab="prompt"]').click()
        page.locator('.panel [data-tab="prompt"][aria-current]').wait_for()
        assert asked(page) == "?step=s2&tab=prompt&view=timeline"

        page.get_by_role("link", name="Matrix", exact=True).click()
        page.locator("[data-grid]").wait_for()
        assert sorted(asked(page)[1:].split("&")) == ["step=s2", "tab=prompt", "view=matrix"]
        assert page.locator('[data-grid] th [aria-current="true"]').get_attribute("data-step") == "s2"
        assert page.locator('.panel [data-tab="prompt"][aria-current]').count() == 1

        page.locator('#outline [data-step="s3"]').click()
        page.locator(".panel h2", has_text="3 ·").wait_for()
        page.get_by_role("link", name="Graph", exact=True).click()
        page.locator('.flow-card[data-key="s3"][aria-pressed="true"]').wait_for()
        page.locator(".react-flow__edge").first.wait_for(state="attached")


def test_the_matrix_is_gone_through_by_keys_and_opens_the_text_that_passed(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.over.code}/?view=matrix")
        page.locator("#m1").focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == "m3-2"
        assert page.locator('[data-grid] [tabindex="0"]').count() == 1

        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        page.locator('.panel [data-source="s1"][data-marked]').wait_for()
        assert "South grew most." in (page.locator('.panel [data-source="s1"]').text_content() or "")
        assert asked(page) == "?view=matrix&edge=s1:s3"
        assert page.evaluate("document.activeElement.id") == "m3-1"

        page.reload()
        page.locator('[data-edge="s1:s3"][aria-current]').wait_for()
        page.locator('.panel [data-source="s1"][open]').wait_for()


def test_a_timeline_grows_while_the_run_goes_on(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    going, driver = runs.going, ThreadPoolExecutor(1)

    def answer() -> None:
        going.answer("s1", going.step("s1").attempts.get(), "South")
        going.start("s2")

    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{going.run.code}/?view=timeline&step=s2")
        page.locator('.lane[data-step="s1"] .dot[data-state="running"]').wait_for()
        page.locator('.lane[data-step="s1"]').focus()

        driver.submit(answer).result()
        page.locator('.lane[data-step="s1"] .dot[data-state="succeeded"]').wait_for()  # the page heard of it, or looked
        page.locator('.lane[data-step="s2"] .dot[data-state="running"]').wait_for()
        assert page.locator('.lane[data-step="s2"][aria-current]').count() == 1, "the choice stays"


def test_idle_gaps_collapse_and_nested_runs_unfold(
    server: Server, runs: Runs, grouped: Grouped, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.held.code}/?view=timeline")
        bar = page.locator('.lane[data-step="s1"] [data-part="stream"]')
        page.locator('.lane[data-step="s1"] [data-part="mark"]').wait_for(state="attached")  # too short to be seen
        page.get_by_role("link", name="Collapse 1 idle gap").click()
        page.get_by_role("link", name="Show 1 idle gap").wait_for()
        assert bar.evaluate("bar => bar.getBoundingClientRect().width") > 20

        page.goto(f"{server.url}/runs/{grouped.outer.run.code}/?view=timeline")
        inner = page.locator('.lane[data-step="s2/s2"]')
        assert not inner.is_visible()
        page.locator('.lanes [data-fold="s2"] summary').click()
        inner.click()
        page.locator(".panel .within").wait_for()
        page.get_by_text("The same as a table").click()
        assert page.get_by_role("cell", name="2.2 Do s2").is_visible()


def wait_for_state(page: Page, **states: str) -> None:
    for key, state in states.items():
        page.locator(f'.flow-card[data-key="{key}"][data-state="{state}"]').wait_for()


def test_the_run_is_seen_as_it_was_at_any_event(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    """No model can be called: there is none."""
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.over.code}/?step=s1")
        wait_for_state(page, s3="succeeded")
        bar = page.get_by_role("slider", name="Event")
        spent = page.locator("#head .facts > div", has_text="Spent").locator("dd")
        assert "$0.013" in (spent.text_content() or "")

        bar.focus()
        page.keyboard.press("Home")
        page.locator(".flow-card").first.wait_for(state="detached")
        assert "1 of" in (bar.get_attribute("aria-valuetext") or "")
        assert spent.text_content() == "nothing yet"
        page.locator("#then", has_text="There was no such step yet").wait_for()

        while "step.started" not in (bar.get_attribute("aria-valuetext") or ""):
            page.keyboard.press("ArrowRight")
        wait_for_state(page, s1="running", s2="waiting", s3="waiting")
        assert page.locator('#outline [data-step="s2"] .dot').get_attribute("data-state") == "waiting"

        started = float(bar.input_value())
        bar.evaluate("(bar, to) => { bar.value = to; bar.dispatchEvent(new Event('input')) }", started + 0.6)
        page.locator("#then pre", has_text="South grew").wait_for()
        assert page.locator("#then pre").text_content() == "South grew "  # 600 ms after the call began
        assert page.locator('[data-key="s1"] .flow-writing').text_content() == "South grew"
        page.wait_for_timeout(400)
        assert asked(page) == f"?step=s1&at={started:.0f}"

        page.reload()
        wait_for_state(page, s1="running", s2="waiting")
        page.get_by_role("button", name="The next event").click()
        wait_for_state(page, s1="succeeded", s2="waiting")
        assert spent.text_content() == "$0.0042"

        page.get_by_role("button", name="Back to now").click()
        wait_for_state(page, s3="succeeded")
        page.locator("#head .facts a.money").wait_for()  # fetched again, with its way to the ledger
        page.locator('.panel [data-tab="result"]').wait_for()
        page.wait_for_timeout(400)
        assert asked(page) == "?step=s1"


def test_the_run_plays_to_its_end(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.over.code}/")
        wait_for_state(page, s3="succeeded")
        page.get_by_label("Speed").select_option("16")
        page.get_by_role("button", name="Play").click()
        page.locator(".flow-card").first.wait_for(state="detached")
        wait_for_state(page, s1="succeeded", s2="succeeded", s3="succeeded")
        page.get_by_role("button", name="Play").wait_for()
        assert (page.locator("#live").text_content() or "").startswith("replaying: event ")


def test_keys_lead_through_a_graph_of_which_only_a_part_is_in_the_page(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.large.code}/")
        page.locator('.flow-card[data-key="s1"]').wait_for()
        assert page.locator(".flow-card").count() < 60
        page.locator('.flow-card[data-key="s1"]').focus()
        for number in range(2, 31):
            page.keyboard.press("ArrowRight")
            page.locator(f'.flow-card[data-key="s{number}"]:focus').wait_for()


def test_without_scripts_every_view_but_the_graph_is_there(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/runs/{runs.over.code}/?at=4")
        page.get_by_role("link", name="The events up to event 4").click()
        assert page.locator(".trail tbody tr").count() == 4
        page.get_by_role("link", name="Matrix", exact=True).click()
        page.locator('[data-edge="s1:s3"]').click()
        assert "South grew most." in (page.locator('.panel [data-source="s1"]').text_content() or "")
        page.get_by_role("link", name="Timeline", exact=True).click()
        assert page.locator(".lane").count() == 5
