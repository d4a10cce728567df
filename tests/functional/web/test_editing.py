"""The edit page in a real browser: undo, keys, the matrix, drafts that survive, and what is told before it is paid.

Rows are made before the browser opens: Playwright's loop keeps Django from the database in the same thread.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.runs.models import Run
from apps.workers.models import Worker
from tests.factories import Driving, chain, failure, make_run
from tests.functional.web.browsing import Server, elsewhere, judged, signed_in

pytestmark = pytest.mark.browser


@pytest.fixture
def run(ada: User) -> Run:
    """Four steps, each of which reads all before it, carried out."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Check the table", "Compare both", "Answer the task"))
    return driving.carry({key: f"{key}: South" for key in ("s1", "s2", "s3", "s4")})


@pytest.fixture
def failed(ada: User, run: Run) -> Run:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Check the table"))
    driving.finish("s1", "South: 53 %")
    driving.fail("s2", failure("The server had an error.", retryable=False))
    return driving.give_up("Step 2 failed", step="s2", code="step-failed")


@pytest.fixture
def held(ada: User, run: Run) -> Run:
    driving = Driving(make_run(by=ada, review=True))
    driving.plan(chain("Compute the growth", "Answer the task"), hold=True)
    return driving.told()


def edit(page: Page, server: Server, run: Run, query: str = "") -> None:
    page.goto(f"{server.url}/runs/{run.code}/edit/{query}")
    page.locator(".flow-card").first.wait_for()


def steps(page: Page) -> list[str]:
    keys: list[str] = page.eval_on_selector_all("[data-step-form]", "all => all.map((one) => one.dataset.stepForm)")
    return keys


def button(page: Page) -> Any:
    return page.locator("#verdict button")


def test_whatever_was_done_is_undone_and_redone(server: Server, run: Run, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        edit(page, server, run, "?step=s3")
        undo, redo = page.get_by_role("button", name="Undo"), page.get_by_role("button", name="Redo")
        expect(undo).to_be_disabled()

        page.locator("#s3-instruction").fill("Compare them twice")
        expect(button(page)).to_contain_text("Run 2 steps, reuse 2")
        page.locator("#s3-remove").click()
        page.get_by_role("button", name="Remove", exact=True).last.click() if page.locator("dialog").count() else None
        expect(page.locator('[data-step-form="s3"]')).to_have_count(0)

        undo.click()
        expect(page.locator("#s3-instruction")).to_have_value("Compare them twice")
        expect(page.locator("#s4-reads-s3")).to_be_checked()
        page.locator("h1").click()
        page.keyboard.press("Control+z")
        expect(page.locator("#s3-instruction")).to_have_value("Compare both")
        expect(undo).to_be_disabled()

        page.keyboard.press("Control+Shift+z")
        expect(page.locator("#s3-instruction")).to_have_value("Compare them twice")
        redo.click()
        expect(page.locator('[data-step-form="s3"]')).to_have_count(0)
        expect(redo).to_be_disabled()


def test_everything_can_be_done_from_the_keyboard(server: Server, run: Run, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        edit(page, server, run)
        page.keyboard.press("j")
        expect(page.locator('[data-step-form="s1"]')).to_have_attribute("data-selected", "")
        page.keyboard.press("d")
        expect(page.locator("#s5-instruction")).to_be_focused()
        page.keyboard.type(", twice")
        page.locator("h1").click()
        page.keyboard.press("]")
        expect(page.locator("[data-step-form]").nth(2)).to_have_attribute("data-step-form", "s5")
        assert steps(page) == ["s1", "s2", "s5", "s3", "s4"]
        page.keyboard.press("i")
        expect(page.locator("#s5-instruction")).to_be_focused()
        page.locator("h1").click()
        page.keyboard.press("w")
        expect(page.locator("#s5-worker")).to_be_focused()
        page.locator("h1").click()
        page.keyboard.press("Delete")
        expect(page.locator('[data-step-form="s5"]')).to_have_count(0)
        assert steps(page) == ["s1", "s2", "s3", "s4"]
        expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
        page.keyboard.press("a")
        expect(page.locator("textarea:focus")).to_have_value("")


def test_the_matrix_and_the_form_tick_the_same(server: Server, run: Run, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        edit(page, server, run, "?step=s4")
        page.keyboard.press("m")
        first = page.get_by_label("Step 2 may read step 1")
        expect(first).to_be_focused()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_label("Step 4 may read step 2")).to_be_focused()
        page.keyboard.press("Space")
        expect(page.locator("#s4-reads-s2")).not_to_be_checked()
        expect(button(page)).to_contain_text("Run 1 step, reuse 3")
        expect(page.get_by_label("Step 4 may read step 2")).to_be_focused()

        page.locator("#s4-reads-s2").check()
        expect(page.get_by_label("Step 4 may read step 2")).to_be_checked()
        assert "view=matrix" in page.url
        page.reload()
        expect(page.get_by_label("Step 4 may read step 2")).to_be_visible()


def test_a_draft_survives_a_reload_and_two_tabs_lose_nothing(
    server: Server, run: Run, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        edit(page, server, run, "?step=s4")
        page.locator("#s4-instruction").fill("Answer in one word")
        expect(page.locator("#kept")).to_contain_text("Kept as a draft")
        page.reload()
        expect(page.locator("#s4-instruction")).to_have_value("Answer in one word")
        expect(page.locator("#draft-said")).to_contain_text("Your draft is here again")

        second = page.context.new_page()
        edit(second, server, run, "?step=s4")
        second.locator("#s4-instruction").fill("Answer in two words")
        expect(button(second)).to_contain_text("Run 1 step")
        second.wait_for_timeout(300)
        page.locator("#s4-instruction").fill("Answer in three words")
        expect(page.locator("#draft-said")).to_contain_text("You, in another tab, changed this draft")
        expect(page.locator("#s4-instruction")).to_have_value("Answer in three words")

        page.get_by_role("button", name="Take theirs").click()
        expect(page.locator("#s4-instruction")).to_have_value("Answer in two words")
        page.get_by_role("button", name="Start over").click()
        expect(page.locator("#s4-instruction")).to_have_value("Answer the task")


def test_what_changed_since_the_preview_is_told_before_it_is_paid(
    server: Server, run: Run, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        edit(page, server, run, "?step=s4")
        page.locator("#s4-fresh").check()
        expect(button(page)).to_contain_text(re.compile(r"Run 1 step, reuse 3 · likely ≈ \$0\.\d+, at most \$\d"))
        elsewhere(lambda: Worker.objects.filter(slug="sim-birch").update(output_price_usd=40))

        button(page).click()
        expect(page.locator("#changed")).to_contain_text("Birch, who is asked for step 4, has changed")
        button(page).click()
        page.wait_for_url(lambda url: "/edit/" not in url)

    child = Run.objects.get(parent=run)
    assert child.fresh == ["s4"]


def test_a_failure_is_resumed_on_another_worker(server: Server, failed: Run, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{failed.code}/")
        page.get_by_role("link", name="Resume with changes…").click()
        expect(page.locator("#s2-worker")).to_be_focused()
        page.get_by_role("button", name="Give it to Cedar").click()
        expect(page.locator("#s2-worker")).to_have_value("sim-cedar")
        expect(button(page)).to_contain_text("Resume: run 1 step, reuse 1")
        button(page).click()
        page.wait_for_url(lambda url: "/edit/" not in url)

    child = Run.objects.get(parent=failed)
    assert child.workflow is not None
    assert [step.worker for step in child.workflow.steps] == ["sim-birch", "sim-cedar"]


def test_a_plan_is_approved_with_changes(server: Server, held: Run, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, viewport={"width": 390, "height": 844}) as page:
        edit(page, server, held)
        page.locator("#s2-instruction").fill("Answer in one word")
        expect(button(page)).to_contain_text("Approve and run with these changes")
        button(page).click()
        page.wait_for_url(lambda url: "/edit/" not in url)

    run = Run.objects.get(pk=held.pk)
    assert run.status == Run.Status.QUEUED
    assert run.workflow is not None
    assert run.workflow.step("s2").instruction == "Answer in one word"


def test_faults_sit_at_their_step_and_turn_the_button_off(server: Server, run: Run, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        edit(page, server, run, "?step=s2")
        page.locator("#s2-instruction").fill("")
        expect(page.locator("#s2-faults .error")).to_be_visible()
        expect(page.locator('.flow-card[data-key="s2"], [data-key="s2"]').first).to_contain_text("Step 2")
        expect(button(page)).to_be_disabled()
        expect(page.locator("#verdict-words")).to_contain_text("1 thing to mend first: Step 2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_nobody_is_kept_out_of_the_edit_page(
    server: Server, run: Run, failed: Run, held: Run, opened: Callable[[], Any], scheme: Any, width: int
) -> None:
    with opened() as browser:
        context = browser.new_context(
            bypass_csp=True, color_scheme=scheme, reduced_motion="reduce", viewport={"width": width, "height": 900}
        )
        server.sign_in(context)
        page = context.new_page()
        found = []
        edited = f"{server.url}/runs/{run.code}/edit/"
        found += judged(page, f"{edited}?view=matrix&step=s2", "#matrix input")
        found += judged(page, f"{server.url}/runs/{failed.code}/edit/?resume=1", ".failed button")
        found += judged(page, f"{server.url}/runs/{failed.code}/", ".flow-card")
        found += judged(page, f"{server.url}/runs/{failed.code}/again/", ".offer")
        found += judged(page, f"{server.url}/runs/{held.code}/edit/", ".flow-card")
        edit(page, server, run, "?step=s4")
        page.locator("#s4-fresh").check()
        page.locator("#kept", has_text="Kept as a draft").wait_for()
        found += judged(page, f"{edited}?step=s4", "#draft-said .notice")
    assert not found, "\n\n".join(sorted(set(found)))
