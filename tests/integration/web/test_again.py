"""Running a workflow again as it is: what it would do and cost is told first, in the menu and on a page of its own."""

import html
import re

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run
from apps.workers.models import Worker
from tests.factories import Driving, chain, failure, make_run

HTMX = {"HX-Request": "true"}


@pytest.fixture
def run(ada: User) -> Run:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer the task"))
    return driving.carry({"s1": "South: 53 %", "s2": "South."})


@pytest.fixture
def failed(ada: User) -> Run:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer the task"))
    driving.finish("s1", "South: 53 %")
    driving.fail("s2", failure("busy", retryable=False))
    return driving.give_up("busy", step="s2", code="step-failed")


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def told(client: Client, run: Run) -> str:
    return client.get(f"/runs/{run.code}/again/").content.decode()


def seals(page: str) -> dict[str, str]:
    """The seal of the preview of each way that a page offers."""
    found = re.findall(r'name="seen" value="([^"]*)">(?:(?!name="seen").)*?name="mode" value="(\w+)"', page, re.DOTALL)
    return {mode: html.unescape(seal) for seal, mode in found}


def press(client: Client, run: Run, mode: str, **fields: str) -> tuple[int, str]:
    answer = client.post(f"/runs/{run.code}/again/", {"mode": mode, "submit_key": "k"} | fields)
    return answer.status_code, words(answer.content.decode())


def test_both_ways_are_told_step_by_step(browser: Client, run: Run) -> None:
    page = words(told(browser, run))

    assert "Reuse all 2 steps" in page
    assert re.search(r"Run 2 steps · likely ≈ \$0\.\d+, at most \$0\.\d+", page)
    assert f"Reused : unchanged since run {run.code}" in page
    assert "Runs : asked to run fresh · as this step answered before" in page


def test_the_menu_has_both_with_their_price(browser: Client, failed: Run) -> None:
    part = browser.get(f"/runs/{failed.code}/again/", headers=HTMX).content.decode()

    assert "<html" not in part
    assert re.search(r"Reuse what is unchanged Run 1 step, reuse 1 · likely ≈ \$0", words(part))
    assert set(seals(part)) == {"reuse", "fresh"}


def test_beside_the_button_that_resumes_stands_what_that_costs(browser: Client, failed: Run) -> None:
    page = browser.get(f"/runs/{failed.code}/").content.decode()
    part = browser.get(f"/runs/{failed.code}/again/?part=resume", headers=HTMX).content.decode()

    assert f'hx-get="/runs/{failed.code}/again/?part=resume"' in page
    assert words(part).startswith("Run 1 step, reuse 1 · likely ≈ $0")
    assert 'name="seen"' in part


@pytest.mark.parametrize(("mode", "fresh"), [("reuse", []), ("fresh", ["s1", "s2"])])
def test_what_was_told_is_started(browser: Client, run: Run, mode: str, fresh: list[str]) -> None:
    seal = seals(told(browser, run))[mode]

    assert press(browser, run, mode, seen=seal)[0] == 302
    assert press(browser, run, mode, seen="of before")[0] == 302  # pressed twice

    child = Run.objects.get(parent=run)
    assert child.fresh == fresh
    assert child.workflow == run.workflow


def test_what_was_never_told_is_told_first(browser: Client, run: Run) -> None:
    status, page = press(browser, run, "fresh")

    assert status == 200
    assert "Run 2 steps · likely" in page
    assert "Nothing was started" not in page
    assert Run.objects.count() == 1


def test_what_has_changed_since_is_said_and_nothing_is_started(browser: Client, run: Run) -> None:
    seal = seals(told(browser, run))["fresh"]
    Worker.objects.filter(slug="sim-birch").update(output_price_usd=40)

    status, page = press(browser, run, "fresh", seen=seal)

    assert status == 409
    assert "Nothing was started: this is not what you were told before." in page
    assert "Birch, who is asked for step 1, has changed" in page
    assert Run.objects.count() == 1


def test_a_workflow_that_cannot_be_run_any_more_says_why(browser: Client, run: Run) -> None:
    seal = seals(told(browser, run))["reuse"]
    Worker.objects.filter(slug="sim-birch").update(enabled=False)

    answer = browser.post(f"/runs/{run.code}/again/", {"mode": "reuse", "seen": seal}, follow=True)
    part = browser.get(f"/runs/{run.code}/again/", headers=HTMX).content.decode()

    said = "It cannot be run again as it is. Step 1 is given to “sim-birch”, which is not a worker of this pool."
    assert said in words(answer.content.decode())
    assert said in words(part)
    assert Run.objects.count() == 1


def test_a_run_without_a_workflow_and_a_way_that_there_is_none_of_say_so(browser: Client, ada: User, run: Run) -> None:
    unplanned = make_run(by=ada)

    assert "no workflow yet" in words(browser.get(f"/runs/{unplanned.code}/again/", follow=True).content.decode())
    sideways = browser.post(f"/runs/{run.code}/again/", {"mode": "sideways"}, follow=True)
    assert "Choose how" in words(sideways.content.decode())
