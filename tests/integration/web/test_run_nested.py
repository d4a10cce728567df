"""Runs within steps of a run: shown within it, at their own address, and nowhere among those that were asked for."""

import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.runs.models import Run
from tests.factories import Driving, failure, make_run
from tests.integration.web.given import nest, nesting_profile, workflow_of
from tests.integration.web.test_run_page import PARTS, shown, words

TABS = ("result", "prompt", "context", "attempts", "request")


@pytest.fixture
def outer(ada: User) -> Driving:
    """A run whose second step is given to the conductor itself; the first is done."""
    driving = Driving(make_run(by=ada, profile=nesting_profile()))
    steps = workflow_of(("s1", "", []), ("s2", "", ["s1"]), ("s3", "", ["s2"]))
    given = steps.steps[1].model_copy(update={"worker": "sim-conductor"})
    driving.plan(steps.model_copy(update={"steps": (steps.steps[0], given, steps.steps[2])}))
    driving.finish("s1", "98 and 150")
    return driving


@pytest.fixture
def inner(outer: Driving) -> Driving:
    """The run that step became, of three steps, the first of which is done."""
    driving = nest(outer, "s2")
    driving.plan(workflow_of(("s1", "", []), ("s2", "", ["s1"]), ("s3", "", ["s2"])))
    driving.finish("s1", "52 more")
    return driving


def panel(client: Client, run: Run, path: str, query: str = "") -> str:
    answer = client.get(f"/runs/{run.code}/steps/{path}/?{query}")
    assert answer.status_code == 200, path
    return " ".join(answer.content.decode().split())


def test_the_outline_holds_the_steps_of_a_nested_run_within_their_step(
    browser: Client, outer: Driving, inner: Driving
) -> None:
    outline = shown(browser, outer.run, "outline/")

    assert f"run {inner.run.code} 1 of 3 steps" in words(outline)
    assert outline.index('data-step="s2"') < outline.index('data-fold="s2"') < outline.index('data-step="s2/s1"')
    assert outline.index('data-step="s2/s3"') < outline.index('data-step="s3"')
    assert f'href="/runs/{inner.run.code}/"' in outline


@pytest.mark.parametrize(("status", "said"), [("queued", "not begun"), ("planning", "being planned")])
def test_a_nested_run_without_steps_says_what_it_waits_for(
    browser: Client, outer: Driving, status: str, said: str
) -> None:
    nested = nest(outer, "s2")
    Run.objects.filter(pk=nested.run.pk).update(status=status)

    assert f"run {nested.run.code} {said}" in words(shown(browser, outer.run, "outline/"))


def test_its_own_page_says_what_it_is_part_of_and_links_back(browser: Client, outer: Driving, inner: Driving) -> None:
    head = shown(browser, inner.run, "head/")

    assert f"Part of run {outer.run.code}, step 2" in words(head)
    assert f'href="/runs/{outer.run.code}/?step=s2"' in head
    assert "Part of" not in words(shown(browser, outer.run, "head/"))


def test_the_panel_of_the_step_leads_to_the_run_it_became(browser: Client, outer: Driving, inner: Driving) -> None:
    shown_panel = panel(browser, outer.run, "s2")

    assert f"run {inner.run.code} , 1 of 3 steps. Its answer is this step’s result." in words(shown_panel)
    assert f"Comes with the answer of run {inner.run.code}." in shown_panel
    assert "data-stream" not in shown_panel
    request = words(panel(browser, outer.run, "s2", "tab=request"))
    assert f"No worker was called: this became the task of run {inner.run.code} ." in request
    assert "Sent to" not in request


@pytest.mark.parametrize("tab", TABS)
def test_a_step_of_it_opens_in_the_page_of_the_outer_run(
    browser: Client, outer: Driving, inner: Driving, tab: str
) -> None:
    opened = panel(browser, outer.run, "s2/s2", f"tab={tab}")

    assert f"In the run within step 2 , run {inner.run.code}" in words(opened)
    assert f'hx-get="/runs/{outer.run.code}/steps/s2/s2/?tab=context"' in opened
    assert f'hx-replace-url="/runs/{outer.run.code}/?step=s2/s2&amp;tab=context"' in opened
    assert f'href="/runs/{inner.run.code}/edit/?step=s2"' in opened
    page = shown(browser, outer.run, f"?step=s2/s2&tab={tab}")
    assert 'data-step="s2/s2" aria-current="true"' in page


def test_what_passed_along_an_edge_of_it_opens_too(browser: Client, outer: Driving, inner: Driving) -> None:
    inner.finish("s2", "53 %")

    page = shown(browser, outer.run, "?edge=s2/s1:s2/s2")

    assert re.search(r'data-source="s1" open data-marked', page)
    assert "52 more" in page


@pytest.mark.parametrize(
    "path", ["s2/s9", "s1/s1", "s9/s1", "s2/s1/s1", "s2/", "s2//s1", "s2/%00", "/".join(["s2"] * 40)]
)
def test_a_path_that_leads_nowhere_is_not_there(browser: Client, outer: Driving, inner: Driving, path: str) -> None:
    assert browser.get(f"/runs/{outer.run.code}/steps/{path}/").status_code == 404
    assert browser.get(f"/runs/{outer.run.code}/?step={path}").status_code == 200


def test_the_nested_steps_of_others_are_not_there(other_browser: Client, outer: Driving, inner: Driving) -> None:
    assert other_browser.get(f"/runs/{outer.run.code}/steps/s2/s1/").status_code == 404
    assert other_browser.get(f"/runs/{inner.run.code}/").status_code == 404


def test_a_run_nested_in_a_nested_run_is_shown_within_both(browser: Client, outer: Driving) -> None:
    middle = nest(outer, "s2")
    middle.plan(workflow_of(("s1", "", []), worker="sim-conductor"))
    deepest = nest(middle, "s1")
    deepest.plan(workflow_of(("s1", "", []), ("s2", "", ["s1"])))
    deepest.finish("s1", "deep down")

    outline = shown(browser, outer.run, "outline/")

    assert f"run {deepest.run.code} 1 of 2 steps" in words(outline)
    assert 'data-step="s2/s1/s2"' in outline
    assert "deep down" in panel(browser, outer.run, "s2/s1/s1")
    assert f"Part of run {middle.run.code}, step 1" in words(shown(browser, deepest.run, "head/"))


def test_a_nested_run_that_failed_is_where_the_trouble_is_looked_for(
    browser: Client, outer: Driving, inner: Driving
) -> None:
    inner.fail("s2", failure("no such model", kind="not_found", retryable=False))
    inner.give_up("Step 2 failed: no such model", step="s2", code="not_found")
    attempt = outer.step("s2").attempts.get()
    why = failure("The run nested in this step failed.", kind="nested", retryable=False)
    given = {"step": outer.step("s2"), "attempt": attempt, "failure": why, "cost_usd": None, "retry_in_s": None}
    given |= {"frozen": outer.run.pool[attempt.worker], "is_last": True}
    outer.write(outer.desk.fail_attempt, **given, duration_ms=1.0)
    run = outer.give_up("Step 2 failed", step="s2", code="nested")

    head = shown(browser, run, "head/")

    assert f'<a class="button" href="/runs/{inner.run.code}/">Open the run within</a>' in head
    assert "Open the run within this step to see where it failed" in words(head)


def test_lists_leave_nested_runs_out(browser: Client, outer: Driving, inner: Driving) -> None:
    for path in ("/runs/", "/", f"/runs/?q={inner.run.code}", "/runs/?state=live"):
        page = browser.get(path).content.decode()
        assert f'id="run-{inner.run.code}"' not in page, path
    assert f'id="run-{outer.run.code}"' in browser.get("/runs/").content.decode()
    assert 'Live <span class="muted">1</span>' in browser.get("/runs/").content.decode()


def test_the_events_name_the_run_a_step_became(browser: Client, outer: Driving, inner: Driving) -> None:
    assert f"as run {inner.run.code}" in words(shown(browser, outer.run, "?view=events"))


@pytest.mark.parametrize("part", PARTS)
def test_a_page_costs_as_many_queries_for_ten_nested_runs_as_for_one(
    browser: Client, ada: User, part: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    driving = Driving(make_run(by=ada, profile=nesting_profile()))
    keys = [f"s{number}" for number in range(1, 11)]
    driving.plan(workflow_of(*((key, "", []) for key in keys), worker="sim-conductor"))
    for key in keys:
        nest(driving, key).plan(workflow_of(("s1", "", []), ("s2", "", ["s1"])))

    browser.get("/account/")  # that the session was used is noted once a minute
    with django_assert_max_num_queries(22):
        shown(browser, driving.run, part)
