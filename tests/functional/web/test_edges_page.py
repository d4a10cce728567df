"""The page of a run's edges in a real browser: all can use it, it runs nothing that is written, it stays abreast."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.runs.models import Experiment, Run
from tests.factories import Driving, chain, make_run
from tests.functional.web.browsing import (
    HOSTILE,
    Server,
    check_nobody_is_kept_out,
    check_nothing_runs,
    elsewhere,
    signed_in,
)
from tests.integration.web.given import workflow_of
from tests.integration.web.test_edges import answered, tried

pytestmark = pytest.mark.browser

SAID = "I looked at both results beside each other.\n\nAnswer: South"
FLOW = workflow_of(("s1", "", []), ("s2", "", []), ("s3", "", ["s1"]), ("s4", "", ["s2", "s3"]))


@dataclass
class Runs:
    """One run without any experiment, one whose edges were tried, one in the midst of it, and a hostile one."""

    new: Run
    known: Run
    going: Run
    hostile: Run
    unanswered: Run


def carried(by: User) -> Run:
    driving = Driving(make_run(by=by))
    driving.plan(FLOW)
    return driving.carry({"s1": "South", "s2": "North", "s3": "South: 53 %", "s4": SAID})


@pytest.fixture
def runs(ada: User) -> Runs:
    known, going = carried(ada), carried(ada)
    over = tried(known, ada, ("s1", "s3"), ("s2", "s4"), ("s3", "s4"), baseline=True)
    everything = {"s1": "South", "s2": "North", "s3": "South: 53 %", "s4": SAID.replace("both results", "both")}
    answered(over, "", "", everything)
    answered(over, "s1", "s3", {"s3": "North", "s4": "Answer: North"})
    answered(over, "s2", "s4", {"s4": SAID})
    answered(over, "s3", "s4", {"s4": SAID.replace("I looked", "Somebody looked")})
    answered(tried(going, ada, ("s1", "s3"), ("s3", "s4")), "s1", "s3", {"s3": "South: 53 %"})
    driving = Driving(make_run(by=ada, task=HOSTILE))
    driving.plan(chain(HOSTILE, HOSTILE))
    hostile = driving.carry({"s1": HOSTILE, "s2": HOSTILE})
    answered(tried(hostile, ada, ("s1", "s2")), "s1", "s2", {"s2": f"{HOSTILE} more"})
    return Runs(new=carried(ada), known=known, going=going, hostile=hostile, unanswered=make_run(by=ada))


def pages(runs: Runs) -> Iterator[tuple[str, str]]:
    """Every kind of page, with what is there once it is ready."""
    yield f"/runs/{runs.new.code}/edges/", ".every"
    yield f"/runs/{runs.new.code}/edges/?edge=s1:s3", ".alone"
    yield f"/runs/{runs.known.code}/edges/", ".bars"
    yield f"/runs/{runs.known.code}/edges/?by=cost", ".bars"
    yield f"/runs/{runs.going.code}/edges/", "progress"
    yield f"/runs/{runs.hostile.code}/edges/", ".bars"
    yield f"/runs/{runs.unanswered.code}/edges/", ".empty"


def test_what_is_written_runs_nothing(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    check_nothing_runs(server, opened, pages(runs), expected="409")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_page(
    server: Server, runs: Runs, opened: Callable[[], Any], scheme: Any, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, pages(runs), scheme=scheme, width=width)


def test_the_page_follows_an_experiment_to_its_end(
    server: Server, runs: Runs, ada: User, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{runs.going.code}/edges/")
        expect(page.locator("#results")).to_contain_text("1 of 2 forks")
        page.locator("#graph-s1-s3").focus()

        elsewhere(lambda: answered(Experiment.objects.get(run=runs.going), "s3", "s4", {"s4": "Answer: North"}))

        expect(page.locator("#results")).to_contain_text("2 of 2 forks", timeout=8_000)
        expect(page.locator("#said")).to_contain_text("the experiment is over")
        assert page.evaluate("document.activeElement.id") == "graph-s1-s3"
        page.get_by_role("link", name="Try more…").click()
        page.locator(".every").wait_for()


def test_from_the_text_that_passed_to_the_run_without_it(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{runs.new.code}/?edge=s1:s3")
        page.get_by_role("link", name="Without this edge…").first.click()
        page.get_by_role("button", name="Run 2 steps without this edge").click()
        page.wait_for_url(lambda url: "/edges/" not in url)

        address = page.url

    fork = runs.new.children.get()
    assert address.endswith(f"/runs/{fork.code}/")
    assert fork.workflow is not None
    assert fork.workflow.step("s3").access == ()


def test_it_works_without_scripts_and_from_the_keyboard(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/runs/{runs.new.code}/edges/")
        page.locator('input[name="edges"]').first.focus()
        page.keyboard.press("Space")
        page.get_by_label("At most, in USD, in all").fill("3")
        page.keyboard.press("Enter")
        page.locator("progress").wait_for()

        page.get_by_role("button", name="Stop").click()
        page.locator(".every").wait_for()

    experiment = Experiment.objects.get(run=runs.new)
    assert (experiment.limit_usd, experiment.status) == (Decimal(3), Experiment.Status.STOPPED)
    chosen = [(each.source, each.reader) for each in experiment.variants.all()]
    assert chosen == [("", ""), ("s2", "s4"), ("s3", "s4")]


def test_a_bar_leads_to_its_row(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{runs.known.code}/edges/")
        page.locator("#bar-s3-s4").click()

        assert page.url.endswith("#edge-s3-s4")
        expect(page.locator("#edge-s3-s4")).to_be_in_viewport()
