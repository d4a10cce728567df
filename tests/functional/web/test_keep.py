"""Keeping and sharing in a real browser: templates, import, links that need no account, and a run that replays offline.

Rows are made before the browser opens: Playwright's loop keeps Django from the database in the same thread.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.runs.models import Attempt, Run
from apps.runs.sharing import share_run
from apps.runs.templates import keep_template
from apps.workers.models import Tag
from apps.workflows.models import SavedWorkflow
from tests.factories import Driving, chain, make_run
from tests.functional.web.browsing import AXE, HOSTILE, Server, Watched, judged, signed_in

pytestmark = pytest.mark.browser

LISTS = 'model_id = [0, "gpt-9"]\nsubtasks = ["Look it up", "Answer"]\naccess_list = [[], [0]]'


@dataclass
class Kept:
    """A run that ended, whose every text wants to be a script; a link to it; and a template made of it."""

    run: Run
    template: SavedWorkflow
    address: str

    @property
    def pages(self) -> Iterator[tuple[str, str]]:
        """Every page of what is kept and shared, with what is there once it is ready."""
        yield "/workflows/", ".kept"
        yield "/workflows/?q=nothing", ".empty"
        yield "/workflows/import/", "#text"
        yield f"/workflows/{self.template.pk}/", "#preview"
        yield f"/workflows/{self.template.pk}/change/", "#task"
        yield f"/workflows/{self.template.pk}/delete/", "main h1"
        yield f"/runs/{self.run.code}/template/", "#task"
        yield f"/runs/{self.run.code}/share/", ".links"
        yield f"/runs/{self.run.code}/export/", ".offers"
        yield self.address, ".flow-card"


@pytest.fixture
def kept(ada: User) -> Kept:
    driving = Driving(make_run(by=ada, task=HOSTILE))
    driving.plan(chain(f"Compute it {HOSTILE}", HOSTILE, HOSTILE))
    run = driving.carry({"s1": HOSTILE, "s2": "Grew by 53 %", "s3": f"**South** {HOSTILE}"})
    marks = [[100, 4], [1_000, 12]]
    Attempt.objects.filter(step__key="s2").update(track=marks)
    assert run.workflow is not None
    template = keep_template(
        name=HOSTILE[:100],
        description=HOSTILE[:400],
        task="Which {what} grew most in {year}?",
        workflow=run.workflow,
        by=ada,
        now=timezone.now(),
    )
    SavedWorkflow.objects.filter(pk=template.pk).update(tags=["of-its-own"])
    Tag.objects.bulk_create(Tag(name=name, created_at=timezone.now()) for name in ("of-its-own", "secret"))
    _, token = share_run(run=run, by=ada, now=timezone.now())
    return Kept(run, template, reverse("shared", args=[token]))


def states(page: Page) -> list[str]:
    """How the cards of the graph stand, in the order of the steps."""
    page.wait_for_timeout(150)
    found: list[str] = page.eval_on_selector_all(".flow-card", "all => all.map((one) => one.dataset.state)")
    return found


def goes_to(page: Page, position: float) -> None:
    page.locator("#scrub input").fill(str(position))


def downloaded(page: Page, url: str, to: Path) -> str:
    """The address of the file that the page of downloads gives out."""
    page.goto(url)
    link = page.locator(".offers a", has_text="Download").first.get_attribute("href")
    to.write_bytes(page.request.get(f"{url.partition('/runs/')[0]}{link}").body())
    return to.as_uri()


# --- every page ------------------------------------------------------------------------------------------------------


def test_what_is_written_runs_nothing(server: Server, kept: Kept, opened: Callable[[], Any]) -> None:
    with opened() as browser:
        context = browser.new_context()
        server.sign_in(context)
        watched = Watched(context.new_page())
        for path, ready in kept.pages:
            watched.open(server.url + path, ready=ready)

            assert watched.page.evaluate("window.pwned") is None, path
            links = watched.page.eval_on_selector_all("a[href], [src]", "all => all.map((one) => one.href || one.src)")
            assert not [link for link in links if str(link).lower().startswith("javascript:")], path
        assert watched.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_by_how_these_pages_are_made(
    server: Server, kept: Kept, opened: Callable[[], Any], scheme: Any
) -> None:
    with opened() as browser:
        context = browser.new_context(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
        server.sign_in(context)
        page = context.new_page()
        found = [fault for path, ready in kept.pages for fault in judged(page, server.url + path, ready)]
        page.goto(f"{server.url}/workflows/import/")
        page.locator("#text").fill(LISTS)
        page.get_by_role("button", name="Read it").click()
        page.locator(".instead").wait_for()
        page.add_script_tag(path=AXE)
        report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [fault["id"] for fault in report["violations"] if fault["impact"] in ("serious", "critical")]
    assert not found, "\n\n".join(sorted(set(found)))


def test_a_phone_need_not_scroll_sideways(server: Server, kept: Kept, opened: Callable[[], Any]) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    with signed_in(server, opened, **phone) as page:
        for path, ready in kept.pages:
            page.goto(server.url + path)
            page.locator(ready).first.wait_for()
            widest = page.evaluate(
                "Math.max(0, ...[...document.querySelectorAll('main *')].filter((one) => !one.closest("
                "'#canvas, .scroll, pre, .md table')).map((one) => one.getBoundingClientRect().right))"
            )
            assert widest <= 391, path
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


# --- templates -------------------------------------------------------------------------------------------------------


def test_a_template_is_filled_in_seen_and_started(server: Server, kept: Kept, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/workflows/{kept.template.pk}/")
        page.get_by_label("what", exact=True).press_sequentially("<b>{year}</b>")
        page.locator("mark[data-kind=value]", has_text="<b>{year}</b>").wait_for()
        assert page.locator("mark[data-kind=missing]").inner_text() == "{year}"

        page.get_by_role("button", name="Start", exact=True).click()
        page.get_by_text("Fill in year.").wait_for()
        assert page.get_by_label("what", exact=True).input_value() == "<b>{year}</b>"

        page.get_by_label("year", exact=True).fill("2025")
        page.get_by_role("group", name="What you fill in is").get_by_label("secret").check()
        page.get_by_role("button", name="Start", exact=True).click()
        page.wait_for_url("**/runs/*/")
        assert "Which <b>{year}</b> grew most in 2025?" in page.locator("h1").inner_text()
        assert page.locator(".carries .tag").all_inner_texts() == ["of-its-own", "secret"]


def test_a_run_is_kept_with_what_was_selected_as_a_placeholder(
    server: Server, kept: Kept, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{kept.run.code}/template/")
        page.locator("#name").fill("From a run")
        page.locator("#task").fill("Which region grew most?")
        page.locator("#task").evaluate("field => field.setSelectionRange(6, 12)")
        page.get_by_role("button", name="Make the selection a placeholder").click()
        page.keyboard.type("what")
        page.get_by_role("button", name="Save").click()
        page.wait_for_url("**/workflows/*/")
        assert page.get_by_label("what", exact=True).is_visible()


def test_everything_works_without_scripts(server: Server, kept: Kept, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/workflows/{kept.template.pk}/")
        page.get_by_label("what", exact=True).fill("region")
        page.get_by_role("button", name="Preview").click()
        assert "Which region grew most" in page.locator("#preview").inner_text()

        page.goto(f"{server.url}/workflows/import/")
        page.locator("#text").fill(LISTS)
        page.get_by_role("button", name="Read it").click()
        page.get_by_label("There is no worker “gpt-9” here").select_option("sim-delta")
        page.get_by_label("There is no worker “worker 0” here").select_option("sim-atlas")
        page.get_by_label("Name of the template").fill("Brought in")
        page.get_by_label("Task", exact=True).fill("What is it?")
        page.get_by_role("button", name="Keep as a template").click()
        assert page.locator("h1").inner_text() == "Brought in"

        page.get_by_role("link", name="Delete…").click()
        page.get_by_role("button", name="Delete the template").click()
        assert page.locator(".kept li").count() == 1

        page.goto(server.url + kept.address)
        page.locator("#step-s2 > summary").click()
        assert "Grew by 53 %" in page.locator("#step-s2").inner_text()


def test_a_workflow_is_drawn_from_scratch(server: Server, kept: Kept, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/")
        page.locator("#task").fill("What is 6 times 7?")
        page.get_by_role("button", name="Draw the workflow yourself").click()
        page.wait_for_url("**/edit/")
        page.locator(".flow-card").wait_for()
        assert page.locator("[data-step-form]").count() == 1


# --- a link that needs no account ------------------------------------------------------------------------------------


def test_a_link_is_made_opened_by_a_stranger_and_revoked(server: Server, kept: Kept, opened: Callable[[], Any]) -> None:
    with opened() as browser:
        ours = browser.new_context()
        server.sign_in(ours)
        page = ours.new_page()
        page.goto(f"{server.url}/runs/{kept.run.code}/share/")
        page.get_by_label("Hide what it cost").check()
        page.get_by_role("button", name="Make a link").click()
        address = page.get_by_label("The link", exact=True).input_value()

        theirs = browser.new_context()
        watched = Watched(theirs.new_page())
        watched.open(address, ready=".flow-card")
        assert watched.page.locator("details.step").count() == 3
        assert "$" not in watched.page.locator("header").inner_text()
        assert theirs.cookies() == []
        assert watched.complaints == []
        for path in ("/", "/runs/", f"/runs/{kept.run.code}/", f"/runs/{kept.run.code}/share/"):
            watched.page.goto(server.url + path)
            assert "/sign-in/" in watched.page.url

        page.locator("tr[data-state=open] button").first.click()
        page.locator("tr[data-state=revoked]").wait_for()
        theirs.new_page().goto(address)
        assert "This link opens nothing" in theirs.pages[-1].locator("h1").inner_text()


# --- a file that replays offline -------------------------------------------------------------------------------------


def test_a_run_is_played_again_from_a_file_without_any_network(
    server: Server, kept: Kept, opened: Callable[[], Any], tmp_path: Path
) -> None:
    with opened() as browser:
        context = browser.new_context(accept_downloads=True)
        server.sign_in(context)
        file = downloaded(context.new_page(), f"{server.url}/runs/{kept.run.code}/export/", tmp_path / "run.html")

        away = browser.new_context(offline=True)
        asked: list[str] = []
        away.on("request", lambda request: asked.append(request.url))
        watched = Watched(away.new_page())
        watched.open(file, ready=".flow-card")
        page = watched.page
        last = int(page.locator("#scrub input").get_attribute("max") or 0)
        assert states(page) == ["succeeded"] * 3

        goes_to(page, 1)
        assert page.locator(".flow-card").count() == 0
        assert page.locator('[data-now="status"]').inner_text() == "Queued"
        begun = next(at for at in range(last) if "step.started" in says(page, at) and len(set(states(page))) == 3)
        assert states(page) == ["succeeded", "running", "waiting"]
        goes_to(page, begun + 0.9)
        page.locator("#step-s2 > summary").click()
        assert "Grew by 53 %".startswith(page.locator("#step-s2 .growing").inner_text())
        assert page.locator("#step-s2 .growing").inner_text() != ""
        assert not page.locator("#step-s2 .md").is_visible()

        page.get_by_role("button", name="To the end").click()
        assert states(page) == ["succeeded"] * 3
        page.locator("[data-speed]").select_option("16")
        page.get_by_role("button", name="Play").click()
        page.locator("#scrub output", has_text=f"{last} of {last}").wait_for(timeout=20_000)
        assert states(page) == ["succeeded"] * 3

        assert set(asked) == {file}
        assert page.evaluate("window.pwned") is None
        assert watched.complaints == []


def says(page: Page, position: float) -> str:
    """What the bar says of a position."""
    goes_to(page, position)
    return page.locator("#scrub output").inner_text()


def test_the_policy_of_the_file_keeps_even_what_was_put_into_it_from_running(
    server: Server, kept: Kept, opened: Callable[[], Any], tmp_path: Path
) -> None:
    with opened() as browser:
        context = browser.new_context(accept_downloads=True)
        server.sign_in(context)
        file = tmp_path / "run.html"
        address = downloaded(context.new_page(), f"{server.url}/runs/{kept.run.code}/export/", file)
        file.write_text(file.read_text().replace("</main>", "<img src=x onerror=window.pwned=1>" + HOSTILE + "</main>"))

        page = browser.new_context(offline=True).new_page()
        page.goto(address)
        page.locator(".flow-card").first.wait_for()
        page.wait_for_timeout(300)
        assert page.evaluate("window.pwned") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_of_the_file(
    server: Server, kept: Kept, opened: Callable[[], Any], tmp_path: Path, scheme: Any
) -> None:
    with opened() as browser:
        context = browser.new_context(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
        server.sign_in(context)
        page = context.new_page()
        file = downloaded(page, f"{server.url}/runs/{kept.run.code}/export/", tmp_path / "run.html")
        found = judged(page, file, ".flow-card")
    assert not found, "\n\n".join(sorted(set(found)))
