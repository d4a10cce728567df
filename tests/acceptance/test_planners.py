"""The walk, on: profiles made in the admin pages, planners that vote, go on and stand in, and the conductor's page."""

import re

from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.fresh import FreshStudio
from tests.acceptance.walking import add, settled, submit, value_of, wait_for_end

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."
DEAD = "http://127.0.0.1:9/v1"


def test_answers_of_one_worker_vote_and_the_votes_are_shown(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    add(page, studio, "profile", slug="vote", name="Vote", planner="self-consistency", options='{"n": 3}')
    before = len(studio.asked())
    code = submit(page, studio, SUM, profile="vote")
    wait_for_end(page)

    expect(page.locator("#answer")).to_contain_text("4656")
    expect(page.locator("#answer")).to_contain_text(re.compile("vote", re.I))
    run = settled(context, studio, code, before)
    assert len(run.steps) == 3
    assert all(step.access == [] for step in run.steps.values())
    expect(page.locator("#canvas .react-flow__node[data-id^=sink]").first).to_be_visible()


def test_a_conductor_that_is_down_is_stood_in_for_and_the_run_says_so(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    add(page, studio, "conductor", slug="gone", name="Gone", base_url=DEAD, model="gone", free="on")
    page.goto(f"{studio.url}/admin/workers/profile/add/")
    gone = value_of(page, "#id_conductor", "gone")
    fields = {"planner": "conductor", "conductor": gone, "fallback": "direct", "tries": "1"}
    add(page, studio, "profile", slug="stood-in", name="Stood in for", **fields)
    before = len(studio.asked())
    code = submit(page, studio, SUM, profile="stood-in")
    wait_for_end(page)

    expect(page.locator("main")).to_contain_text("stood in")
    expect(page.locator("#answer")).to_contain_text("4656")
    run = settled(context, studio, code, before)
    assert len(run.steps) == 1
    assert not [row for row in studio.asked(before) if row["model"].startswith("sim-conductor")]


def test_a_conductor_sees_the_answer_and_its_second_round_is_shown(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    page.goto(f"{studio.url}/admin/workers/profile/add/")
    conductor = value_of(page, "#id_conductor", "sim-conductor")
    add(page, studio, "profile", slug="rounds", name="Rounds", conductor=conductor, rounds="2", nesting="1")
    before = len(studio.asked())
    code = submit(page, studio, SUM, profile="rounds")
    wait_for_end(page)

    expect(page.locator("#answer")).to_contain_text("4656")
    settled(context, studio, code, before)
    conducted = [row for row in studio.asked(before) if row["model"].startswith("sim-conductor")]
    assert len(conducted) >= 2, "asked to plan, and asked again with the answer"
    page.goto(f"{studio.url}/runs/{code}/")
    expect(page.locator("main")).to_contain_text(re.compile("round 2", re.I))
    expect(page.locator("main")).to_contain_text(re.compile("kept|changed", re.I))


def test_turns_extend_the_graph_before_the_viewers_eyes(
    studio: FreshStudio, context: BrowserContext, page: Page
) -> None:
    page.goto(f"{studio.url}/admin/workers/profile/add/")
    conductor = value_of(page, "#id_conductor", "sim-conductor")
    add(page, studio, "profile", slug="trinity", name="Trinity", planner="trinity", conductor=conductor)
    before = len(studio.asked())
    code = submit(page, studio, SUM, profile="trinity")
    wait_for_end(page)

    run = settled(context, studio, code, before)
    assert len(run.steps) >= 2
    assert page.locator("#outline [data-step]").count() == len(run.steps), "the open page has every turn"
    expect(page.locator("#outline")).to_contain_text(re.compile("worker", re.I))
    expect(page.locator("#answer")).to_contain_text("4656")


def test_the_conductors_page_tells_how_it_does(studio: FreshStudio, page: Page) -> None:
    page.goto(f"{studio.url}/conductors/")
    page.get_by_role("link", name=re.compile("Simulated conductor|sim-conductor")).first.click()

    expect(page.locator("main")).to_contain_text(re.compile("valid", re.I))
    expect(page.locator("main svg").first).to_be_visible()
    page.goto(f"{studio.url}/conductors/gone/")
    expect(page.locator("main")).to_contain_text(re.compile("refused|cannot|could not|down", re.I))
