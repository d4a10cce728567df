"""Workers, ledgers and limits in a real browser: what is written runs nothing, all can use them, they stay fresh."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from apps.accounts.models import Membership, User
from apps.runs import trying
from apps.runs.models import Attempt, Run
from apps.workers.models import Credential, Worker
from tests.factories import Driving, chain, failure, make_pool, make_run
from tests.functional.web.browsing import HOSTILE, Server, Watched, judged, signed_in
from tests.integration.web.given import hold_at, let_stand_in, stood_in, wait_at

pytestmark = pytest.mark.browser

TITLE = HOSTILE[:90]


@dataclass
class Runs:
    """A run that a limit holds, one in which somebody stood in and somebody waits, and a test; all of hostile texts."""

    held: Run
    doors: Run
    trial: Run


@pytest.fixture
def runs(ada: User) -> Runs:
    make_pool()
    Membership.objects.filter(user=ada).update(role=Membership.Role.ADMIN)
    let_stand_in("sim-birch", "sim-cedar")
    doors = Driving(make_run(by=ada, task=HOSTILE))
    doors.plan(chain(HOSTILE, HOSTILE, HOSTILE))
    doors.fail("s1", failure(HOSTILE, status=500), retry_in_s=1.0)
    stood_in(doors, "s1", "sim-cedar", HOSTILE, why=HOSTILE)
    wait_at(doors, "s2", f"waiting for a place at {HOSTILE[:60]} (3 ahead)")
    held = Driving(make_run(by=ada, task=HOSTILE, limit_usd=Decimal("0.0001")))
    held.plan(chain("Compute it", HOSTILE))
    hold_at(held, "s1")
    trial = Driving(trying.try_worker(worker=Worker.objects.get(slug="sim-birch"), by=ada, now=timezone.now()))
    trial.write(trial.desk.adopt, workflow=chain("Answer"), by="planner", planner="direct", warnings=(), hold=False)
    trial.fail("s1", failure(HOSTILE, kind="auth", status=401, retryable=False))
    trial.give_up(HOSTILE, step="s1", code="auth")
    Attempt.objects.update(finished_at=timezone.now() - timedelta(minutes=5))
    credential = Credential(label=TITLE)
    credential.keep("canary-1234567890-wxyz")
    credential.save()
    Worker.objects.filter(slug="sim-birch").update(
        name=TITLE, model=TITLE, provider=HOSTILE[:50], strengths=HOSTILE, price_from=TITLE, credential=credential
    )
    return Runs(held.told(), doors.told(), trial.told())


def pages(runs: Runs) -> Iterator[tuple[str, str]]:
    """Every kind of page, with what is there once it is ready."""
    yield "/workers/", ".worker"
    yield "/workers/?period=day", ".worker"
    yield f"/workers/sim-birch/?test={runs.trial.code}", ".test .said"
    yield "/workers/sim-embed/", ".state"
    yield f"/runs/{runs.doors.code}/ledger/", "tbody tr"
    yield f"/runs/{runs.held.code}/ledger/", ".empty, tbody tr"
    yield f"/runs/{runs.held.code}/", "#hold form"
    yield f"/runs/{runs.held.code}/?step=s1", "#hold form"
    yield f"/runs/{runs.doors.code}/?step=s1", '.flow-card[data-stand-in="true"]'
    yield f"/runs/{runs.doors.code}/?step=s1&tab=attempts", ".call"
    yield f"/runs/{runs.doors.code}/?step=s2", ".flow-card"
    yield f"/runs/{runs.doors.code}/?view=events", ".trail"
    yield "/runs/?state=tests", "table.runs"


def test_what_is_written_runs_nothing_on_these_pages(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with opened() as browser:
        context = browser.new_context()
        server.sign_in(context)
        watched = Watched(context.new_page())
        for path, ready in pages(runs):
            watched.open(server.url + path, ready=ready)

            assert watched.page.evaluate("window.pwned") is None, path
            assert "canary" not in watched.page.content(), path
        assert watched.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_by_how_these_pages_are_made(
    server: Server, runs: Runs, opened: Callable[[], Any], scheme: Any
) -> None:
    found: list[str] = []
    with opened() as browser:
        context = browser.new_context(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
        server.sign_in(context)
        page = context.new_page()
        for path, ready in pages(runs):
            found += judged(page, server.url + path, ready)
        page.set_viewport_size({"width": 390, "height": 844})
        for path, ready in (("/workers/", ".worker"), (f"/runs/{runs.held.code}/", "#hold form")):
            found += judged(page, server.url + path, ready)
    assert not found, "\n\n".join(sorted(set(found)))


@pytest.mark.parametrize("path", ["/workers/", "/workers/sim-birch/", "ledger", "held"])
def test_a_phone_need_not_scroll_sideways(server: Server, runs: Runs, opened: Callable[[], Any], path: str) -> None:
    held = f"/runs/{runs.held.code}/"
    at = {"ledger": f"/runs/{runs.doors.code}/ledger/", "held": held}.get(path, path)
    with signed_in(server, opened, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as page:
        page.goto(server.url + at)

        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_cards_stay_fresh_and_whoever_reads_by_keys_keeps_their_place(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/workers/")
        page.locator("#worker-sim-cedar").focus()
        before = page.locator(".foot-note").text_content()

        page.wait_for_function("text => document.querySelector('.foot-note').textContent !== text", arg=before)

        assert page.evaluate("document.activeElement.id") == "worker-sim-cedar"


def test_a_limit_is_raised_on_the_page_and_its_errors_stand_at_the_field(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{runs.held.code}/")
        page.locator("#hold-limit").fill("0,5")
        page.locator("#hold-reason").fill("worth it")
        page.locator("#hold button").click()
        page.locator("#hold-limit-error", has_text="Give a sum in USD").wait_for()
        assert page.locator("#hold-limit").input_value() == "0,5"
        assert page.locator("#hold-reason").input_value() == "worth it"

        page.locator("#hold-limit").fill("0.5")
        page.keyboard.press("Enter")
        page.locator("#hold form").wait_for(state="detached")
        page.locator(".pill", has_text="Queued").wait_for()  # the head is fetched when the bell rings
        assert page.locator(".facts", has_text="/ $0.500").count() == 1


def test_a_limit_is_raised_without_scripts(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/runs/{runs.held.code}/")
        page.locator("#hold-limit").fill("nothing")
        page.locator("#hold button").click()
        assert "Give a sum in USD" in (page.locator("#hold-limit-error").text_content() or "")

        page.locator("#hold-limit").fill("0.5")
        page.locator("#hold button").click()
        assert page.url == f"{server.url}/runs/{runs.held.code}/"
        assert page.locator("#hold form").count() == 0
        assert "Queued" in (page.locator(".pill").text_content() or "")


def test_a_test_is_begun_and_told_on_the_workers_page(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    """The driver writes in a thread of its own: Playwright's loop keeps Django from the database in this one."""
    answered = ThreadPoolExecutor(1)

    def answer() -> None:
        run = Run.objects.filter(profile=runs.trial.profile).latest("pk")
        driving = Driving(run)
        plan = {"by": "planner", "planner": "direct", "warnings": (), "hold": False}
        driving.write(driving.desk.adopt, workflow=chain("Answer", worker="sim-cedar"), **plan)
        driving.finish("s1", "I do work.")
        driving.succeed("I do work.", step="s1")

    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/workers/sim-cedar/")
        page.locator("#test-button").click()
        page.locator("#test", has_text="Waiting for a driver.").wait_for()

        answered.submit(answer).result()

        page.locator("#test .reply", has_text="I do work.").wait_for()
        page.locator("#test-button", has_text="Test again").wait_for()
        page.locator("#announce", has_text="The worker answered.").wait_for(state="attached")
        assert page.locator("#test dl", has_text="0.41 s").count() == 1
    answered.submit(connections.close_all).result()
    answered.shutdown()


def test_a_price_that_is_unknown_is_asked_about_where_one_is_and_what_was_typed_stays(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    asked = ThreadPoolExecutor(1)
    asked.submit(Worker.objects.filter(slug="sim-delta").update, output_price_usd=None).result()
    with signed_in(server, opened) as page:
        page.goto(server.url)
        page.locator("#task").fill("What is 6 times 7?")
        page.get_by_text("Limits and workers").click()
        page.locator('[name="limit_usd"]').fill("0.25")
        page.locator("form.composer button.primary").click()
        page.locator("#price-error", has_text="Delta").wait_for()
        assert page.evaluate("document.activeElement.name") == "unknown_price"
        assert page.locator('[name="limit_usd"]').input_value() == "0.25"

        page.keyboard.press("Space")
        page.locator("form.composer button.primary").click()
        page.locator(".facts", has_text="/ $0.250").wait_for()
    asked.submit(connections.close_all).result()
    asked.shutdown()
