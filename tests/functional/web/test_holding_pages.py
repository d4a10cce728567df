"""What waits for a person, in a real browser: a plan to approve, several to pick from, a pause, a result by hand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.runs.holding import set_breakpoints, write_result
from apps.runs.models import Run
from apps.runs.plans import plan_again
from tests.factories import NOON, Driving, chain, make_run
from tests.functional.web.browsing import (
    HOSTILE,
    Server,
    check_nobody_is_kept_out,
    check_nothing_runs,
    elsewhere,
    signed_in,
)
from tests.integration.web.given import workflow_of

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}


@dataclass
class Runs:
    """Plans that wait side by side, a run that goes on, and one that is held before its second step."""

    review: Run
    other: Run
    coming: Run
    going: Run
    paused: Run


@pytest.fixture
def runs(ada: User) -> Runs:
    review = Driving(make_run(by=ada, task=HOSTILE, review=True))
    review.plan(chain(HOSTILE, "Answer the task"), hold=True)
    written, coming = plan_again(run=review.run, times=2, by=ada, now=NOON)
    diamond = workflow_of(("s1", "", []), ("s2", "", ["s1"]), ("s3", "", ["s1"]), ("s4", "", ["s2", "s3"]))
    Driving(written).plan(diamond, hold=True)

    going = Driving(make_run(by=ada))
    going.plan(chain("Compute the growth", "Answer the task"))
    going.start("s1")

    paused = Driving(make_run(by=ada))
    paused.plan(chain("Compute the growth", "Check it", "Answer the task"))
    paused.finish("s1", HOSTILE)
    set_breakpoints(run=paused.run, keys=["s2"], by=ada, now=NOON)
    paused.write(paused.desk.hold, reason=Run.Hold.PAUSE, about={"breakpoint": "s2"}, steps=["s2"])
    write_result(run=paused.told(), key="s1", text=f"By hand: {HOSTILE}", by=ada, now=NOON, reason=HOSTILE)
    return Runs(review.told(), written, coming, going.told(), paused.told())


def pages(runs: Runs) -> Iterator[tuple[str, str]]:
    """Every kind of page, with what is there once it is ready."""
    yield f"/runs/{runs.review.code}/plans/", ".shape"
    yield f"/runs/{runs.review.code}/", ".flow-card"
    yield f"/runs/{runs.going.code}/?step=s2", ".flow-card"
    yield f"/runs/{runs.paused.code}/?step=s1", ".flow-card"
    yield f"/runs/{runs.paused.code}/?step=s1&tab=attempts", ".flow-card"
    yield f"/runs/{runs.paused.code}/?step=s2", ".flow-card"


def test_what_is_written_runs_nothing(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    check_nothing_runs(server, opened, pages(runs))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_page(
    server: Server, runs: Runs, opened: Callable[[], Any], scheme: Any, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, pages(runs), scheme=scheme, width=width)


def now(run: Run) -> Run:
    """The run as the tables have it."""
    found: Run = elsewhere(lambda: Run.objects.get(pk=run.pk))
    return found


def phone(server: Server, opened: Callable[[], Any]) -> Any:
    return signed_in(server, opened, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)


def test_a_plan_is_approved_or_rejected_from_a_phone(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with phone(server, opened) as page:
        page.goto(f"{server.url}/runs/{runs.review.code}/")
        for name in ("Approve and run", "Edit, then approve", "Reject…"):
            box = page.locator("#hold .answers").get_by_text(name, exact=True).bounding_box()
            assert box is not None
            assert box["height"] >= 44, name
            assert box["y"] + box["height"] <= PHONE["height"], f"{name} is seen without scrolling"

        page.get_by_text("Reject…", exact=True).tap()
        page.get_by_label("Why").fill("Two steps are too many.")
        page.get_by_role("button", name="Reject the plan").tap()
        expect(page.locator("#head")).to_contain_text("Rejected by ada: Two steps are too many.")
        expect(page.locator("#hold")).to_be_empty()


def test_one_of_several_plans_is_picked(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.review.code}/")
        page.get_by_role("link", name="see them side by side").click()
        assert page.locator(".plan").count() == 3
        assert page.locator(".plan[aria-busy]").count() == 1
        elsewhere(lambda: Driving(runs.coming).plan(chain("Guess it"), hold=True))
        expect(page.locator(".plan[aria-busy]")).to_have_count(0)
        expect(page.get_by_role("img", name="1 step, longest chain 1")).to_be_visible()

        page.locator(f"#plan-{runs.other.code}").get_by_role("button", name="Pick this one").click()
        page.wait_for_url(f"**/runs/{runs.other.code}/")

    cancelled, queued = Run.Status.CANCELLED, Run.Status.QUEUED
    assert [now(run).status for run in (runs.review, runs.other, runs.coming)] == [cancelled, queued, cancelled]


def test_b_sets_a_breakpoint_that_shows_in_outline_and_graph(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.going.code}/?step=s2")
        page.locator("#live[data-state='live']").wait_for()

        page.keyboard.press("b")

        expect(page.locator('.flow-card[data-key="s2"][data-breakpoint="true"]')).to_be_visible()
        expect(page.locator('#outline [data-step="s2"] .break')).to_be_visible()
        expect(page.locator("#panel [data-break]")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("b")
        expect(page.locator('.flow-card[data-breakpoint="true"]')).to_have_count(0)


def test_a_run_is_paused_and_says_so_by_itself(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.going.code}/")
        page.get_by_role("button", name="Pause").click()

        expect(page.locator("#head")).to_contain_text("The run is being paused.")
        expect(page.get_by_role("button", name="Pause")).to_have_count(0)


def write_by_hand(page: Page, text: str) -> None:
    page.get_by_text("Write this result by hand…").click()
    page.get_by_label("The result, as the steps").fill(text)
    page.get_by_role("button", name="Take this result").click()


def test_a_held_run_gets_a_result_by_hand_and_goes_on(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.paused.code}/?step=s2")
        page.locator("#live[data-state='live']").wait_for()
        write_by_hand(page, "It is right.")

        expect(page.locator("#panel")).to_contain_text("Written by ada.")
        expect(page.locator('.flow-card[data-key="s2"]')).to_have_attribute("data-state", "written")
        expect(page.locator('#outline [data-step="s2"]')).to_contain_text("written by ada")

        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#hold")).to_be_empty()
    assert now(runs.paused).status == Run.Status.QUEUED


def test_all_of_it_works_without_scripts(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/runs/{runs.paused.code}/?step=s2")
        write_by_hand(page, "It is right.")
        expect(page.locator("#panel")).to_contain_text("Written by ada.")
        page.get_by_role("button", name="Go on").click()
        assert now(runs.paused).status == Run.Status.QUEUED

        page.goto(f"{server.url}/runs/{runs.going.code}/?step=s2")
        page.get_by_role("button", name="Breakpoint").click()
        assert now(runs.going).breakpoints == ["s2"]

        page.goto(f"{server.url}/runs/{runs.review.code}/plans/")
        page.locator(f"#plan-{runs.review.code}").get_by_role("button", name="Pick this one").click()
        assert now(runs.review).status == Run.Status.QUEUED
