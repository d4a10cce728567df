"""The preview of the edit page: what it says of cost, and that nothing is started that it did not say."""

import html
import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run
from apps.workers.models import Worker
from apps.workflows.workflow import Workflow
from tests.factories import Driving, chain, make_run
from tests.integration.web.forms import form_of, post, press, seal_in


@pytest.fixture
def run(ada: User) -> Run:
    """Three steps, each of which reads all before it, carried out."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Check the table", "Answer the task"))
    return driving.carry({"s1": "South: 53 %", "s2": "It is right.", "s3": "South."})


def workflow_of(run: Run) -> Workflow:
    assert run.workflow is not None
    return run.workflow


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def pressed(client: Client, run: Run, fields: dict[str, Any], *, seen: str) -> tuple[int, str]:
    """Press the button of a page whose preview was sealed with `seen`."""
    status, page = post(client, run, fields | {"action": "run", "seen": seen})
    return status, words(page)


def test_the_button_says_what_it_likely_costs_and_at_most(browser: Client, run: Run) -> None:
    _, page = post(browser, run, form_of(workflow_of(run), action="check") | {"step-s3-fresh": "1"})

    assert re.search(r"Run 1 step, reuse 2 · likely ≈ \$0\.\d+, at most \$\d+\.\d+", words(page))


def test_every_step_has_its_reason_and_its_figures(browser: Client, run: Run) -> None:
    _, page = post(browser, run, form_of(workflow_of(run), action="check") | {"step-s2-fresh": "1"})

    rows = words(page[page.index('id="preview-rows"') : page.index("</table>")])
    assert f"1 Reused : unchanged since run {run.code} · once $0.0042 $0 $0" in rows
    assert re.search(r"2 Runs : asked to run fresh · as this step answered before, at most 3 calls ≈ \$0\.\d+", rows)
    assert "3 Runs : its context changes because step 2 runs; reused after all, should that answer as before" in rows


def test_an_unknown_price_says_so_and_is_never_nothing(browser: Client, run: Run) -> None:
    Worker.objects.filter(slug="sim-birch").update(output_price_usd=None)

    _, page = post(browser, run, form_of(workflow_of(run), action="check") | {"step-s3-fresh": "1"})

    assert "likely cost unknown, at most unknown: a price is" in words(page)
    assert "price unknown price unknown" in words(page)


def test_a_price_that_changed_since_is_said_and_nothing_is_started(browser: Client, run: Run) -> None:
    fields = form_of(workflow_of(run), submit_key="k") | {"step-s3-fresh": "1"}
    _, page = post(browser, run, fields | {"action": "check"})
    Worker.objects.filter(slug="sim-birch").update(output_price_usd=40)

    status, told = pressed(browser, run, fields, seen=seal_in(page))

    assert status == 409
    assert "Nothing was started: this is not what you were told before." in told
    assert "Birch, who is asked for step 3, has changed: its model, settings or price." in told
    assert re.search(r"Step 3 can cost \$\d+\.\d+ at most, not \$0\.\d+\.", told)
    assert Run.objects.count() == 1


def test_asked_again_with_the_new_preview_it_is_started(browser: Client, run: Run) -> None:
    fields = form_of(workflow_of(run), submit_key="k") | {"step-s3-fresh": "1"}
    _, page = post(browser, run, fields | {"action": "check"})
    Worker.objects.filter(slug="sim-birch").update(output_price_usd=40)
    _, refused = post(browser, run, fields | {"action": "run", "seen": seal_in(page)})

    status, _ = pressed(browser, run, fields, seen=seal_in(refused))

    assert status == 302
    assert Run.objects.filter(parent=run).count() == 1


def test_a_step_that_is_answered_while_somebody_looks_is_said(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    driving.finish("s1", "53 %")
    run = driving.told()
    page = browser.get(f"/runs/{run.code}/edit/").content.decode()
    driving.finish("s2", "South.")

    status, told = pressed(browser, run, form_of(workflow_of(run)), seen=seal_in(page))

    assert status == 409
    assert "Step 2 was to run and would now be reused" in told


def test_what_was_typed_after_the_preview_is_told_before_it_is_paid(browser: Client, run: Run) -> None:
    page = browser.get(f"/runs/{run.code}/edit/").content.decode()
    fields = form_of(workflow_of(run)) | {"step-s1-instruction": "Compute it for all years"}

    status, told = pressed(browser, run, fields, seen=seal_in(page))

    assert status == 409
    assert "was changed after this was worked out" in told
    assert "Run 3 steps" in told
    assert Run.objects.count() == 1


@pytest.mark.parametrize("seen", [None, "", "forged", "forged s1=run:x:1e9", "\0" * 30_000])
def test_without_the_seal_of_a_preview_nothing_is_started(browser: Client, run: Run, seen: str | None) -> None:
    fields = form_of(workflow_of(run), action="run") | ({} if seen is None else {"seen": seen})

    status, _ = post(browser, run, fields)

    assert status == 409
    assert Run.objects.count() == 1


def test_with_htmx_the_new_preview_takes_the_place_of_the_form(browser: Client, run: Run) -> None:
    answer = browser.post(
        f"/runs/{run.code}/edit/", form_of(workflow_of(run), action="run"), headers={"HX-Request": "true"}
    )

    assert (answer.status_code, answer["HX-Retarget"], answer["HX-Reswap"]) == (409, "#edit", "innerHTML")
    assert "<textarea" in answer.content.decode()


def test_a_second_press_leads_to_the_run_though_the_first_has_changed_the_preview(browser: Client, run: Run) -> None:
    fields = form_of(workflow_of(run), submit_key="k") | {"step-s1-fresh": "1"}
    first = press(browser, run, fields)
    child = Run.objects.get(parent=run)
    Driving(child).carry({"s1": "a", "s2": "b", "s3": "c"})

    second = browser.post(f"/runs/{run.code}/edit/", fields | {"action": "run", "seen": "of before"})

    assert second["Location"] == first["Location"] == f"/runs/{child.code}/"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"step-s2-instruction": " "}, "Step 2"),
        ({"step-s2-worker": "sim-gone"}, "Step 2 is given to “sim-gone”, which is not a worker of this pool."),
        ({"step-s1-access": ["s3"]}, "Step 1"),
        ({"step-s2-access": ["s2"]}, "Step 2"),
    ],
)
def test_what_cannot_be_run_is_said_at_its_step_and_by_the_button_and_by_the_server(
    browser: Client, run: Run, broken: dict[str, Any], said: str
) -> None:
    fields = form_of(workflow_of(run)) | broken

    _, checked = post(browser, run, fields | {"action": "check"})
    status, _ = post(browser, run, fields | {"action": "run"})
    _, refused = post(browser, run, fields | {"action": "run"})

    first = re.search(r'<span class="bad">1 thing to mend first: ([^<]+)</span>', checked)
    assert first is not None
    assert first[1].startswith(said)
    assert re.search(r"<button[^>]*value=\"run\" disabled", checked)
    number = re.match(r"Step (\d)", said)
    assert number is not None
    at_step = refused[refused.index(f'id="s{number[1]}-faults"') :]
    assert first[1] in at_step[: at_step.index("</div>")]
    assert status == 422
    assert Run.objects.count() == 1
