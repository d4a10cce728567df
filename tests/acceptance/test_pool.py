"""The walk, on: a worker added by its address, a budget exhausted, raised and gone on from, a key never shown."""

import json
import re

from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.fresh import FreshStudio
from tests.acceptance.walking import add, settled, submit, value_of, wait_for_end

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."


def test_a_worker_is_added_by_its_address_and_answers(studio: FreshStudio, context: BrowserContext, page: Page) -> None:
    services = json.loads((studio.home / "data" / "services.json").read_text())
    page.goto(f"{studio.url}/admin/workers/worker/new/")
    page.get_by_role("textbox", name="Address").fill(services["simulator_url"])
    page.get_by_role("button", name="List its models").click()
    page.get_by_role("link", name="sim-birch", exact=True).click()
    page.locator("#id_slug").fill("own-birch")
    page.locator("#id_name").fill("Own Birch")
    page.locator("#id_free").uncheck()  # on this machine: so it is taken for one's own
    page.locator("#id_input_price_usd").fill("1")
    page.locator("#id_output_price_usd").fill("4")
    page.locator("#id_max_output_tokens").fill("2000")
    page.get_by_role("button", name="Add the worker").click()
    expect(page.get_by_text(re.compile("was added"))).to_be_visible()

    page.goto(f"{studio.url}/admin/workers/profile/add/")
    chosen = {"planner": "direct", "workers": value_of(page, "#id_workers_from", "own-birch")}
    add(page, studio, "profile", slug="own", name="Own", **chosen)
    before = len(studio.asked())
    code = submit(page, studio, SUM, profile="own")
    wait_for_end(page)

    run = settled(context, studio, code, before)
    assert {step.worker for step in run.steps.values()} == {"own-birch"}
    page.goto(f"{studio.url}/workers/own-birch/")
    expect(page.locator("main")).to_contain_text("Answers")
    expect(page.locator(f"main a[href*='/runs/{code}/']").first).to_be_visible()


def test_a_budget_is_exhausted_raised_and_the_run_finishes(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    page.goto(f"{studio.url}/admin/spend/budget/add/")
    worker = value_of(page, "#id_worker", "own-birch")
    add(page, studio, "budget", app="spend", name="Own Birch a day", worker=worker, period="day", limit_usd="0.0001")
    before = len(studio.asked())
    code = submit(page, studio, SUM, profile="own")
    pill = page.locator("#head .pill")
    expect(pill).to_have_attribute("data-state", "held", timeout=30_000)
    expect(page.locator("#hold")).to_contain_text("budget “Own Birch a day”")
    assert studio.asked(before) == [], "nobody was asked"

    page.locator("#hold").get_by_role("link", name="Raise it in the admin pages").click()
    page.locator("#id_limit_usd").fill("1")
    page.locator("[name=_save]").first.click()
    expect(page.get_by_text(re.compile("was changed successfully"))).to_be_visible()
    page.goto(f"{studio.url}/runs/{code}/")
    page.locator("#hold").get_by_role("button", name="Go on").click()
    wait_for_end(page)

    settled(context, studio, code, before)
    expect(page.locator("#answer")).to_contain_text("4656")
    page.goto(f"{studio.url}/runs/{code}/ledger/")
    expect(page.locator("main")).to_contain_text("Own Birch")


def test_a_runs_own_limit_is_raised_on_its_page(studio: FreshStudio, context: BrowserContext, page: Page) -> None:
    before = len(studio.asked())
    page.goto(studio.url)
    page.locator("summary", has_text=re.compile("limits", re.I)).click()
    page.locator("[name=limit_usd]").fill("0.0001")
    code = submit_here(page, SUM)
    expect(page.locator("#hold")).to_contain_text(re.compile("limit of this run|own limit", re.I), timeout=60_000)

    page.locator("#hold-limit").fill("2")
    page.locator("#hold").get_by_role("button", name="Raise it and go on").click()
    wait_for_end(page)

    settled(context, studio, code, before)


def submit_here(page: Page, task: str) -> str:
    """Hand in a task on the open page, as it is filled in."""
    box = page.locator("textarea[name=task]")
    box.fill(task)
    box.press("Control+Enter")
    page.wait_for_url(re.compile(r"/runs/\w+/"))
    return page.url.split("/runs/")[1].split("/")[0]


def test_a_key_is_entered_and_never_seen_again(studio: FreshStudio, page: Page) -> None:
    secret = "sk-canary-4f1e8f0c7d2b9a6e"
    add(page, studio, "credential", label="Canary", key=secret)

    page.goto(f"{studio.url}/admin/workers/credential/")
    expect(page.locator("main, #content").first).to_contain_text("9a6e")
    page.get_by_role("link", name=re.compile("Canary")).first.click()
    assert secret not in page.content()
    logs = "".join(log.read_text(errors="replace") for log in (studio.home / "data" / "logs").glob("*.log"))
    assert secret not in logs
    assert secret not in studio.said()
