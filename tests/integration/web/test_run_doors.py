"""Workers' doors on the run page: who waits there and why, and who stood in for whom."""

import html
import re

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run
from tests.factories import Driving, chain, failure, make_pool, make_run
from tests.integration.web.given import let_stand_in, stood_in, wait_at

PLACE = "waiting for a place at Birch (3 ahead)"


@pytest.fixture
def driving(ada: User) -> Driving:
    make_pool()
    let_stand_in("sim-birch", "sim-cedar")
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer the task"))
    return driving


def page(client: Client, run: Run, part: str = "") -> str:
    answer = client.get(f"/runs/{run.code}/{part}")
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())).split())


# --- waiting -------------------------------------------------------------------------------------------------------


def test_a_step_that_waits_at_a_door_says_so_wherever_it_stands(browser: Client, driving: Driving) -> None:
    wait_at(driving, "s1", PLACE)

    assert PLACE in page(browser, driving.run, "outline/")
    assert f"Not run yet: {PLACE}." in page(browser, driving.run, "steps/s1/")
    assert f"No worker was asked yet: {PLACE}." in page(browser, driving.run, "steps/s1/?tab=attempts")
    assert "Arrives with step 2, which waits for 1." in page(browser, driving.run, "answer/")
    assert f"Step waits for its worker s1 {PLACE}" in page(browser, driving.run, "?view=events")


def test_an_answer_that_waits_for_a_place_says_so(browser: Client, driving: Driving) -> None:
    driving.finish("s1", "53 %")
    wait_at(driving, "s2", PLACE)

    assert f"Arrives with step 2: {PLACE}." in page(browser, driving.run, "answer/")


def test_it_says_so_no_more_once_the_call_starts(browser: Client, driving: Driving) -> None:
    wait_at(driving, "s1", PLACE)

    driving.start("s1")

    assert PLACE not in page(browser, driving.run, "outline/")
    assert PLACE not in page(browser, driving.run, "steps/s1/")


def test_who_waits_to_be_asked_again_says_so_beside_what_failed(browser: Client, driving: Driving) -> None:
    driving.fail("s1", failure("slow down", kind="rate_limited"), retry_in_s=2.0)
    wait_at(driving, "s1", "waiting: Birch asked for a pause")

    assert "waiting: Birch asked for a pause" in page(browser, driving.run, "outline/")
    assert "To be asked again: waiting: Birch asked for a pause." in page(browser, driving.run, "steps/s1/")


def test_a_planner_that_waits_says_so(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    told = {"conductor": "sim-conductor", "words": "waiting for a place at Sim", "why": "place", "ahead": 1}
    driving.write(driving.desk.wait_planning, told=told)

    assert "Waiting for a place at Sim. It has not been asked yet." in page(browser, driving.run, "panel/")
    driving.ask()
    assert "aiting for a place at Sim" not in page(browser, driving.run, "panel/")


# --- standing in ---------------------------------------------------------------------------------------------------


def test_who_stood_in_is_named_with_the_reason(browser: Client, driving: Driving) -> None:
    driving.fail("s1", failure("it broke", status=500), retry_in_s=0.5)
    stood_in(driving, "s1", "sim-cedar", "South: 53 %", why="it <broke>")

    panel = page(browser, driving.run, "steps/s1/")
    attempts = page(browser, driving.run, "steps/s1/?tab=attempts")

    assert "Cedar stood in for Birch. Server: it <broke>" in panel
    assert "Cedar simulated done, attempt 2 of 2" in panel
    assert "Cedar stood in for Birch." in attempts
    assert "sim-cedar in the place of Birch" in attempts
    assert "Cedar stood in · 2.3 s" in page(browser, driving.run, "outline/")
    assert "Another worker stood in s1 Cedar stands in for Birch · server it <broke>" in page(
        browser, driving.run, "?view=events"
    )


def test_the_prompt_of_who_stood_in_is_held_against_what_they_were_sent(browser: Client, driving: Driving) -> None:
    stood_in(driving, "s1", "sim-cedar", "South: 53 %")

    assert "Rendered again = as sent." in page(browser, driving.run, "steps/s1/?tab=prompt")
    assert '"model": "sim-cedar"' in page(browser, driving.run, "steps/s1/?tab=request")


def test_one_who_is_asked_and_has_not_answered_is_named_too(browser: Client, driving: Driving) -> None:
    stood_in(driving, "s1", "sim-cedar")

    assert "Cedar stood in · running" in page(browser, driving.run, "outline/")


def test_a_step_that_failed_in_another_hands_names_who_failed_last(browser: Client, driving: Driving) -> None:
    stood_in(driving, "s1", "sim-cedar")
    attempt = driving.step("s1").attempts.get()
    frozen = driving.run.pool["sim-birch"]["fallbacks"][0]
    error = failure("no such key", kind="auth", retryable=False, status=401)
    driving.write(
        driving.desk.fail_attempt,
        step=driving.step("s1"),
        attempt=attempt,
        frozen=frozen,
        failure=error,
        cost_usd=None,
        retry_in_s=None,
        is_last=True,
        duration_ms=12.0,
    )
    driving.give_up("Step 1 failed: no such key", step="s1", code="auth")

    assert "Cedar, auth, HTTP 401" in page(browser, driving.run)
