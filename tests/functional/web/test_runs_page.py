"""The list of runs and the command palette in a real browser: by keys, by mouse, without scripts, and for everybody."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.runs.models import Run, SavedView
from apps.runs.services import announce
from tests.factories import Driving, chain, make_run
from tests.functional.web.browsing import AXE, HOSTILE, Server, Watched, signed_in
from tests.integration.web.given import a_run, finished

pytestmark = pytest.mark.browser

WIDE = {"width": 1440, "height": 900}


@dataclass
class Runs:
    """The runs of the list, the newest last."""

    first: Run
    fork: Run
    hostile: Run
    live: Run


@pytest.fixture
def runs(ada: User) -> Runs:
    first = finished(ada)
    fork = Driving(make_run(by=ada, task="Look at tariffs"))
    fork.plan(chain("Compute the tariff", "Answer"))
    carried = fork.carry({"s1": "Elasticity: 0.3", "s2": "It is *low*."})
    Run.objects.filter(pk=carried.pk).update(parent=first, root=first)
    hostile = Driving(make_run(by=ada, task=HOSTILE))
    hostile.plan(chain(HOSTILE, HOSTILE))
    SavedView.objects.create(person=ada, name=HOSTILE[:40], text="status:failed", created_at="2026-11-21T00:00Z")
    return Runs(first, carried, hostile.carry({"s1": HOSTILE, "s2": HOSTILE}), a_run(ada, "Goes on", status="running"))


def meanwhile(happens: Callable[[], Run]) -> Run:
    """Something that happens in the studio while a browser looks, and is told to those who listen."""

    def done() -> Run:
        try:
            run = happens()
            announce(run)
            return run
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(done).result()


def shown(page: Page) -> list[str]:
    """The codes of the rows, from the top."""
    found: list[str] = page.eval_on_selector_all("tr[data-run]", "all => all.map((row) => row.dataset.run)")
    return found


def focused(page: Page) -> str:
    found: str = page.evaluate("document.activeElement.id")
    return found


def listening(page: Page, url: str) -> None:
    """Open a page, and wait until it hears of what happens."""
    with page.expect_websocket():
        page.goto(url)
    page.wait_for_timeout(300)


def test_j_and_k_mark_a_run_and_show_it_beside_the_list(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        page.goto(f"{server.url}/runs/")
        for _ in range(3):
            page.keyboard.press("j")
        page.locator("#peek", has_text="It is *low*.").wait_for()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_timeout(1_500)
        assert asked == [], "what is shown is not fetched over and over"
        assert focused(page) == f"run-{runs.fork.code}"
        assert page.locator("tr[data-marked]").get_attribute("data-run") == runs.fork.code
        assert page.locator("#peek .few li").count() == 2

        page.keyboard.press("Escape")
        assert page.locator("#peek").is_hidden()
        assert focused(page) == f"run-{runs.fork.code}"

        page.keyboard.press("k")
        page.locator("#peek", has_text=f"run {runs.hostile.code}").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/runs/{runs.hostile.code}/")


def test_a_run_is_looked_at_by_mouse_too(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        page.goto(f"{server.url}/runs/")
        row = page.locator(f'tr[data-run="{runs.first.code}"]')
        row.hover()
        row.get_by_role("button", name="Peek at run").click()
        page.locator("#peek", has_text="South").wait_for()
        page.get_by_role("button", name="Close").click()
        assert page.locator("#peek").is_hidden()


def test_two_runs_that_are_chosen_are_compared(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        page.goto(f"{server.url}/runs/")
        bar = page.locator("#pair")
        assert bar.is_hidden()
        page.locator(f'[name=pick][value="{runs.first.code}"]').check()
        expect(bar).to_contain_text("choose another one")

        page.locator("#q").fill("tariff")  # the other one is found by a filter, where the first is not in the list
        page.locator(f'tr[data-run="{runs.first.code}"]').wait_for(state="detached")
        page.locator("h1").click()
        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(bar).to_contain_text("2 runs chosen")

        bar.get_by_role("button", name="Compare").click()
        page.locator(".flow-card").first.wait_for()
        codes = re.findall(r"pick=(\w+)", page.url)
        assert sorted(codes) == sorted([runs.first.code, runs.fork.code])


def test_what_is_read_stays_where_it_is_and_what_is_new_waits_to_be_asked_for(
    server: Server, runs: Runs, ada: User, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        listening(page, f"{server.url}/runs/")
        before = shown(page)
        page.locator(f'[name=pick][value="{runs.first.code}"]').check()
        page.locator(f"#run-{runs.fork.code}").focus()

        new = meanwhile(lambda: a_run(ada, "Came later"))
        expect(page.locator(".news")).to_have_text(re.compile("1 new"))
        expect(page.locator("#told")).to_have_text("1 new run")
        assert shown(page) == before
        assert focused(page) == f"run-{runs.fork.code}"
        assert page.locator(f'[name=pick][value="{runs.first.code}"]').is_checked()

        def end() -> Run:
            Run.objects.filter(pk=runs.live.pk).update(status="failed", finished_at="2026-11-21T00:00Z")
            return runs.live

        meanwhile(end)
        page.locator(f'tr[data-run="{runs.live.code}"][data-state="failed"]').wait_for()
        assert shown(page) == before

        page.locator(".news").click()
        page.locator(f'tr[data-run="{new.code}"]').wait_for()
        assert shown(page) == [new.code, *before]


def test_a_menu_that_is_open_is_not_replaced_under_somebodys_hands(
    server: Server, runs: Runs, ada: User, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        listening(page, f"{server.url}/runs/?q=tariff")
        page.get_by_role("button", name="Save view…").click()
        page.get_by_label("Name of the view").fill("Tariffs")
        meanwhile(lambda: a_run(ada, "One more tariff"))
        page.wait_for_timeout(1_500)
        assert page.get_by_label("Name of the view").input_value() == "Tariffs"

        page.get_by_role("button", name="Save", exact=True).click()
        page.locator('.views [aria-current="true"]', has_text="Tariffs").wait_for()
        assert len(shown(page)) == 2


def test_a_filter_is_completed_by_keys_and_says_what_it_cannot_read(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        page.goto(f"{server.url}/runs/")
        page.keyboard.press("/")
        page.keyboard.type("sta")
        page.get_by_role("option", name="status").wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.keyboard.type("li")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        assert page.locator("#q").input_value() == "status:live "
        page.wait_for_url("**/runs/?q=status%3Alive*")
        expect(page.locator("tr[data-run]")).to_have_count(1)

        page.keyboard.type("cots>1")
        page.locator("#faults", has_text="Did you mean cost?").wait_for()
        assert page.locator("#q").get_attribute("aria-invalid") == "true"
        assert shown(page) == [runs.live.code]
        assert focused(page) == "q"


def test_the_palette_acts_goes_and_finds_by_keys_alone(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        page.goto(f"{server.url}/runs/{runs.first.code}/")
        page.locator(".flow-card").first.wait_for()
        page.locator("h1").first.click()
        page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Command palette")
        palette.get_by_role("option", name="Workers").wait_for()
        assert palette.locator("h3").first.inner_text() == "This run"
        assert palette.get_by_role("option").first.get_attribute("aria-selected") == "true"

        page.keyboard.type("edit")
        palette.get_by_role("option", name="Workers").wait_for(state="detached")
        page.keyboard.press("Enter")
        page.wait_for_url("**/edit/*")

        page.keyboard.press("Control+k")
        page.keyboard.type("elasticity")
        palette.get_by_role("option", name="Look at tariffs").wait_for()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/runs/{runs.fork.code}/")


def test_the_focus_returns_to_where_it_was(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        page.goto(f"{server.url}/runs/")
        page.locator(f"#run-{runs.fork.code}").focus()
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Do, go or find").wait_for()
        page.keyboard.press("Escape")
        assert focused(page) == f"run-{runs.fork.code}"

        page.keyboard.press("?")
        page.get_by_role("dialog", name="Keys").get_by_text("Mark the next or the previous run").wait_for()
        page.keyboard.press("Escape")
        assert focused(page) == f"run-{runs.fork.code}"

        page.keyboard.press("g")
        page.keyboard.press("w")
        page.wait_for_url("**/workers/")


def test_the_palette_acts_on_what_is_in_a_closed_menu(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport=WIDE) as page:
        page.goto(f"{server.url}/runs/{runs.first.code}/")
        page.locator(".flow-card").first.wait_for()
        page.keyboard.press("Control+k")
        page.keyboard.type("reuse what")
        page.get_by_role("option", name="Reuse what is unchanged").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: not url.endswith(f"/runs/{runs.first.code}/"))


def test_the_list_serves_without_scripts(server: Server, runs: Runs, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport=WIDE, java_script_enabled=False) as page:
        page.goto(f"{server.url}/workers/")
        page.get_by_role("link", name="Search").click()
        page.get_by_label("Filter runs").fill("elasticity status:succeeded")
        page.get_by_role("button", name="Find").click()
        assert page.locator("tr[data-run]").count() == 1

        page.get_by_role("button", name="Save view…").click()
        page.get_by_label("Name of the view").fill("Elastic")
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("link", name="Elastic").wait_for()

        page.goto(f"{server.url}/runs/")
        page.locator(f'[name=pick][value="{runs.first.code}"]').check()
        page.locator(f'[name=pick][value="{runs.fork.code}"]').check()
        page.get_by_role("button", name="Compare").click()
        assert page.locator("details.pair").count() >= 2


def test_what_is_written_runs_nothing_in_the_list_beside_it_or_in_the_palette(
    server: Server, runs: Runs, opened: Callable[[], Any]
) -> None:
    with opened() as browser:
        context = browser.new_context(viewport=WIDE)
        server.sign_in(context)
        watched = Watched(context.new_page())
        watched.open(f"{server.url}/runs/", ready="tr[data-run]")
        page = watched.page
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.locator("#peek", has_text=f"run {runs.hostile.code}").wait_for()
        page.keyboard.press("Control+k")
        page.get_by_role("option", name="All runs").or_(page.get_by_role("option", name="Goes on")).first.wait_for()
        page.keyboard.type("pwned")
        page.locator("[role=option]", has_text="window.pwned").first.wait_for()
        page.keyboard.press("Escape")
        page.locator("#q").fill('"><script>window.pwned=1</script> cots:1')
        page.locator("#faults .error").first.wait_for()

        assert page.evaluate("window.pwned") is None
        assert watched.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nobody_is_kept_out(server: Server, runs: Runs, opened: Callable[[], Any], scheme: Any, width: int) -> None:
    with opened() as browser:
        context = browser.new_context(
            bypass_csp=True, color_scheme=scheme, reduced_motion="reduce", viewport={"width": width, "height": 900}
        )
        server.sign_in(context)
        page = context.new_page()
        found = []
        page.goto(f"{server.url}/runs/?q=cots>1+-nowhere")
        page.add_script_tag(path=Path(AXE))
        for act in ACTS:
            act(page)
            found += serious(page, act.__name__)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), act.__name__
    assert not found, "\n\n".join(sorted(set(found)))


def as_it_is(page: Page) -> None:
    page.locator("#faults .error").first.wait_for()


def with_a_look_and_two_chosen(page: Page) -> None:
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    page.locator("#peek .few li").first.wait_for()


def with_the_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.locator("[role=option]", has_text="Goes on").wait_for()


def with_nothing_in_the_palette(page: Page) -> None:
    page.keyboard.type("%%%")
    page.locator(".palette .nothing", has_text="Nothing fits.").wait_for()


def with_the_keys(page: Page) -> None:
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()


def with_suggestions(page: Page) -> None:
    page.keyboard.press("Escape")
    page.locator("#q").fill("st")
    page.keyboard.press("ArrowDown")
    page.locator("#suggestions [aria-selected=true]").wait_for()


ACTS = (
    as_it_is,
    with_a_look_and_two_chosen,
    with_the_palette,
    with_nothing_in_the_palette,
    with_the_keys,
    with_suggestions,
)


def serious(page: Page, where: str) -> list[str]:
    """What axe finds to be serious or critical on the page as it is."""
    report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{finding['id']} {where}: {node['target']} {node['failureSummary']}"
        for finding in report["violations"]
        if finding["impact"] in ("serious", "critical")
        for node in finding["nodes"]
    ]
