"""Flow rules in a real browser: their page, a run that they hold, a task that is handed in with tags and files."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

from apps.accounts.models import Membership, User
from apps.runs.flow import Flow
from apps.runs.guard import held_by
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.workers.models import Worker
from apps.workers.rules import add_rule, add_tag
from tests.factories import NOON, Driving, make_pool, make_run
from tests.functional.web.browsing import (
    HOSTILE,
    Server,
    check_nobody_is_kept_out,
    check_nothing_runs,
    elsewhere,
    signed_in,
)
from tests.integration.web.given import workflow_of

pytestmark = pytest.mark.browser


@dataclass
class Studio:
    """A project with a rule, and a run that it holds: two steps would read what the one before adds."""

    rules: str
    held: Run


@pytest.fixture
def studio(ada: User) -> Studio:
    project = ada.home_project
    assert project is not None
    make_pool()
    Membership.objects.filter(user=ada).update(role=Membership.Role.ADMIN)
    for name in ("secret", "trusted"):
        add_tag(project=project, name=name, words=HOSTILE[:200], by=ada, now=NOON)
    add_rule(project=project, carries="secret", needs="trusted", words=HOSTILE[:200], by=ada, now=NOON)
    Worker.objects.filter(slug="sim-birch").update(tags=["secret"])
    file = {"name": HOSTILE[:100], "chars": 12, "tags": []}
    driving = Driving(make_run(by=ada, task=HOSTILE, labels=Labels(attachments=(file,))))
    driving.plan(workflow_of(("s1", "", []), ("s2", "", ["s1"]), ("s3", "", ["s2"])))
    assert driving.run.workflow is not None
    stop = held_by(Flow.of(driving.run).of_workflow(driving.run.workflow), run=driving.run)
    driving.write(driving.desk.hold, reason=stop.reason, about=stop.about, steps=["s2", "s3"])
    return Studio(f"/projects/{project.slug}/rules/", driving.told())


def pages(studio: Studio) -> Iterator[tuple[str, str]]:
    """Every kind of page, with what is there once it is ready."""
    yield f"{studio.rules}?run={studio.held.code}", ".ruleset .flows"
    yield f"/runs/{studio.held.code}/", ".flow-card"
    yield f"/runs/{studio.held.code}/?view=matrix&step=s3", "td[data-forbidden]"
    yield f"/runs/{studio.held.code}/edit/", ".flow-card"
    yield "/", "details.carries"


def test_what_is_written_runs_nothing(server: Server, studio: Studio, opened: Callable[[], Any]) -> None:
    check_nothing_runs(server, opened, pages(studio))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_page(
    server: Server, studio: Studio, opened: Callable[[], Any], scheme: Any, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, pages(studio), scheme=scheme, width=width)


def test_the_way_is_drawn_in_the_graph_until_somebody_approves_it(
    server: Server, studio: Studio, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{server.url}/runs/{studio.held.code}/")
        page.locator("#live[data-state='live']").wait_for()
        expect(page.locator(".flow-edge[data-problem='true']")).to_have_count(2)
        expect(page.locator(".flow-card[data-problem='error']")).to_have_count(2)
        page.locator("#hold").get_by_role("link", name="step 3").last.click()
        expect(page.locator("#panel")).to_contain_text("by a flow rule that holds the run.")

        page.get_by_label("Why it may be read").fill("The client has agreed.")
        page.keyboard.press("Enter")

        expect(page.locator("#hold")).to_be_empty()
        expect(page.locator(".flow-edge[data-problem='true']")).to_have_count(0)
        expect(page.locator(".flow-card[data-problem='error']")).to_have_count(0)
    run: Run = elsewhere(lambda: Run.objects.get(pk=studio.held.pk))
    assert (run.status, len(run.excepted)) == (Run.Status.QUEUED, 2)


def test_what_holds_it_by_now_is_shown_before_it_is_approved(
    server: Server, studio: Studio, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{studio.held.code}/")
        page.locator("#live[data-state='live']").wait_for()
        elsewhere(lambda: hold_for_more(studio.held))
        reason = page.get_by_label("Why it may be read")
        reason.fill("The client has agreed.")
        page.keyboard.press("Enter")

        expect(page.locator("#hold").get_by_role("alert")).to_contain_text("1 call is new. Nothing was approved.")
        expect(page.locator("#hold .flows .tag", has_text=re.compile("^new$"))).to_have_count(1)
        expect(reason).to_have_value("The client has agreed.")
        expect(reason).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#hold")).to_be_empty()
    run: Run = elsewhere(lambda: Run.objects.get(pk=studio.held.pk))
    assert (run.status, len(run.excepted)) == (Run.Status.QUEUED, 3)


def hold_for_more(run: Run) -> None:
    """As where a rule was made and the run checked again, without anybody telling the page."""
    rules = run.held_by["rules"]
    more = {**rules[0], "name": "secret>local s2 sim-birch s1", "needs": "local"}
    Run.objects.filter(pk=run.pk).update(held_by=run.held_by | {"rules": [*rules, more]})


def test_a_task_is_handed_in_with_a_file_and_what_that_carries(
    server: Server, studio: Studio, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, viewport={"width": 390, "height": 844}) as page:
        page.goto(f"{server.url}/")
        page.get_by_label("Task", exact=True).fill("What does it cost?")
        page.get_by_text("Attachments and tags").click()
        page.get_by_label("Text files").set_input_files(
            FilePayload(name="offer.txt", mimeType="text/plain", buffer=b"14 EUR")
        )
        page.get_by_role("group", name="What is attached is").get_by_label("secret").check()
        page.get_by_role("button", name="Run", exact=True).click()

        page.wait_for_url(re.compile(r"/runs/\w+/$"))
        expect(page.locator("#panel .attached")).to_have_text(re.compile(r"offer\.txt\s+6 characters\s+secret"))


def test_a_rule_is_added_changed_and_tried_from_the_keyboard(
    server: Server, studio: Studio, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(server.url + studio.rules)
        form = page.get_by_role("form", name="Add a rule")
        form.get_by_label("What carries").select_option("trusted")
        form.get_by_label("may only be read by models with").select_option("secret")
        form.get_by_label("Why").press("Enter")
        expect(page.locator("#notice")).to_contain_text("Rule added: what carries trusted")

        switch_off(page)
        page.get_by_label("Run", exact=True).fill(studio.held.code)
        page.get_by_label("Run", exact=True).press("Enter")
        expect(page.locator(".trial")).to_contain_text("1 of 2 rules would have held")
        expect(page.locator(".trial [data-holds]")).to_contain_text(re.compile("step 2.*read by.*step 3"))


def switch_off(page: Page) -> None:
    """The first of the rules."""
    page.get_by_role("button", name="Switch off: what carries secret").press("Enter")
    expect(page.locator("#notice")).to_contain_text("Rule switched off")
