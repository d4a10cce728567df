"""The page of a run's edges in a real browser: all can use it, it runs nothing that is written, it stays abreast."""

import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.runs.models import Experiment, Run
from tests.factories import Driving, chain, make_run
from tests.functional.web.test_browser import HOSTILE, Server, Watched, judged, opened, signed_in
from tests.integration.web.given import workflow_of
from tests.integration.web.test_edges import answered, tried
from tests.services import running

__all__ = ["opened"]

pytestmark = pytest.mark.browser

T = TypeVar("T")

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


def aside(work: Callable[[], T]) -> T:
    """`work` in a thread of its own: a browser's loop runs in this one."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(work).result()


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


@pytest.fixture
def server(browser: Client, runs: Runs) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def answers() -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", port)) == 0

    with running("web", [sys.executable, "-m", "studio.up.web", "--port", str(port)], ready=answers):
        yield Server(f"http://127.0.0.1:{port}", browser.cookies[settings.SESSION_COOKIE_NAME].value)


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
    with opened() as browser:
        context = browser.new_context()
        server.sign_in(context)
        watched = Watched(context.new_page())
        for path, ready in pages(runs):
            watched.open(server.url + path, ready=ready)
            assert watched.page.evaluate("window.pwned") is None, path
        assert [said for said in watched.complaints if "409" not in said] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_page(
    server: Server, runs: Runs, opened: Callable[[], Any], scheme: Any, width: int
) -> None:
    with opened() as browser:
        context = browser.new_context(
            bypass_csp=True, color_scheme=scheme, reduced_motion="reduce", viewport={"width": width, "height": 900}
        )
        server.sign_in(context)
        page = context.new_page()
        found: list[str] = []
        for path, ready in pages(runs):
            found += judged(page, server.url + path, ready)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert not found, "\n\n".join(sorted(set(found)))


def test_the_page_follows_an_experiment_to_its_end(
    server: Server, runs: Runs, ada: User, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{runs.going.code}/edges/")
        expect(page.locator("#results")).to_contain_text("1 of 2 forks")
        page.locator("#graph-s1-s3").focus()

        aside(lambda: answered(Experiment.objects.get(run=runs.going), "s3", "s4", {"s4": "Answer: North"}))

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
