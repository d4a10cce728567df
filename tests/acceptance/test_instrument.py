"""The walk, on: a step fails, is resumed on another worker from what was finished, and the two runs are compared."""

import json
import re

from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.fresh import FreshStudio
from tests.acceptance.pages import hold_against, read_run
from tests.acceptance.walking import add, settled, submit, wait_for_end

COMPARED = (
    "Compare PostgreSQL and MariaDB for a shop with 41 users: operations, concurrency, backup, cost. Recommend one."
)


def test_a_failed_step_is_resumed_on_another_worker_and_the_two_runs_are_compared(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    services = json.loads((studio.home / "data" / "services.json").read_text())
    before = len(studio.asked())
    planned = submit(page, studio, COMPARED)
    wait_for_end(page)
    plan = settled(context, studio, planned, before)
    reader = next(step for step in reversed(plan.steps.values()) if step.access)
    model = "sim-birch:ttft=0,fail=400"
    priced = {"input_price_usd": "1", "output_price_usd": "4"}
    where = {"base_url": services["simulator_url"], "model": model}
    add(page, studio, "worker", slug="broken", name="Broken", **where, **priced)

    failed = edited_to(page, studio, planned, reader.key, "broken")
    wait_for_end(page, state="failed")
    expect(page.locator(".trouble")).to_contain_text("HTTP 400")
    page.get_by_role("link", name=re.compile("^Resume with changes")).click()
    before = len(studio.asked())
    fixed = started_with(page, failed, reader.key, "sim-delta")
    wait_for_end(page)

    run, asked = read_run(context, studio.url, fixed), studio.asked(before)
    hold_against(run, asked)
    calls = [row for row in asked if not row["model"].startswith("sim-conductor")]
    assert calls, "the step was asked again"
    assert all(row["model"] != model for row in calls)
    assert len(calls) == sum(step.state == "succeeded" for step in run.steps.values()), "the finished were not"
    assert all(run.steps[key].state == "reused" for key in reader.access)

    page.goto(f"{studio.url}/runs/{failed}/")
    expect(page.locator("#head")).to_contain_text(f"Fixed in run {fixed}")
    page.get_by_role("link", name="Compare the two").click()
    main = page.locator("main")
    expect(main).to_contain_text("Compare runs")
    expect(main.locator("[data-side=A] .pill").first).to_have_attribute("data-state", "failed")
    expect(main.locator("[data-side=B] .pill").first).to_have_attribute("data-state", "succeeded")
    expect(main).to_contain_text("Broken")
    switch_off(page, studio, "broken")


def edited_to(page: Page, studio: FreshStudio, code: str, key: str, worker: str) -> str:
    """Give a step of the run to another worker on its edit page, and run that. The new run's code."""
    page.goto(f"{studio.url}/runs/{code}/edit/?step={key}")
    return started_with(page, code, key, worker)


def started_with(page: Page, code: str, key: str, worker: str) -> str:
    """On the open edit page: choose the worker, wait until the price of it is told, and start."""
    with page.expect_response(lambda answer: "/edit/" in answer.url and answer.request.method == "POST"):
        page.locator(f"select[name=step-{key}-worker]").select_option(worker)
    page.get_by_role("button", name=re.compile(r"^(Run|Resume: run) \d+ step")).click()
    page.wait_for_url(re.compile(rf"/runs/(?!{code}/)\w+/$"))
    return page.url.split("/runs/")[1].split("/")[0]


def switch_off(page: Page, studio: FreshStudio, worker: str) -> None:
    """Offer the worker no more: those who walk on have a pool that works."""
    page.goto(f"{studio.url}/admin/workers/worker/")
    page.get_by_role("link", name=worker, exact=True).click()
    page.locator("#id_enabled").uncheck()
    page.locator("[name=_save]").first.click()
    expect(page.get_by_text(re.compile("was changed successfully"))).to_be_visible()
