"""Editing a workflow through the form: what every operation does, what is refused, and what is started."""

import html
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs import services
from apps.runs.models import Run
from apps.workers.models import Worker
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.web.forms import draft_in, form_of, post, press, steps_in

SCRIPT = '</textarea></script><script>alert(1)</script>" onfocus="alert(2)'


@pytest.fixture
def run(ada: User) -> Run:
    """Three steps, each of which reads all before it, carried out."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth\nin percent", "Check the table", "Answer the task"))
    return driving.carry({"s1": "South: 53 %", "s2": "It is right.", "s3": "South."})


def operated(client: Client, run: Run, **edit: Any) -> tuple[int, str]:
    assert run.workflow is not None
    return post(client, run, form_of(run.workflow, edit=["", json.dumps(edit)]))


def test_the_page_is_the_workflow_as_a_form(browser: Client, run: Run) -> None:
    page = browser.get(f"/runs/{run.code}/edit/").content.decode()

    assert "\nCompute the growth\nin percent</textarea>" in page
    assert "Birch (simulated) · $1.00 in, $4.00 out a million tokens" in page
    assert "Reuse all 3 steps" in page
    assert steps_in(page) == {"s1": [], "s2": ["s1"], "s3": ["s1", "s2"]}
    assert {fate["verdict"] for fate in draft_in(page)["forecast"]} == {"reuse"}
    assert 'data-mode="edit"' in page


def test_a_form_sent_back_untouched_changes_nothing(browser: Client, run: Run) -> None:
    assert run.workflow is not None

    status, page = post(browser, run, form_of(run.workflow, action="check"))

    assert status == 200
    assert draft_in(page)["workflow"] == run.workflow.model_dump(mode="json")


@pytest.mark.parametrize("instruction", ["one\rtwo", "one\r\ntwo\n", "\n\nthree"])
def test_line_ends_that_browsers_change_do_not_make_a_step_another(
    browser: Client, ada: User, instruction: str
) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain(instruction))
    run = driving.carry({"s1": "done"})
    typed = instruction.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")

    _, page = post(browser, run, {"order": "s1", "step-s1-instruction": typed, "step-s1-worker": "sim-birch"})

    assert "Reuse all 1 step" in page


@pytest.mark.parametrize(
    ("edit", "steps"),
    [
        ({"op": "add", "after": "s1", "worker": "sim-cedar"}, {"s1": [], "s4": [], "s2": ["s1"], "s3": ["s1", "s2"]}),
        ({"op": "duplicate", "key": "s2"}, {"s1": [], "s2": ["s1"], "s4": ["s1"], "s3": ["s1", "s2"]}),
        ({"op": "remove", "key": "s1"}, {"s2": [], "s3": ["s2"]}),
        ({"op": "deny", "reader": "s3", "source": "s1"}, {"s1": [], "s2": ["s1"], "s3": ["s2"]}),
        ({"op": "access", "key": "s3", "access": ["s1"]}, {"s1": [], "s2": ["s1"], "s3": ["s1"]}),
        ({"op": "worker", "key": "s3", "worker": "sim-delta"}, {"s1": [], "s2": ["s1"], "s3": ["s1", "s2"]}),
    ],
)
def test_an_operation_is_done_on_what_the_form_says(
    browser: Client, run: Run, edit: dict[str, Any], steps: dict[str, list[str]]
) -> None:
    status, page = operated(browser, run, **edit)

    assert status == 200
    assert steps_in(page) == steps


def test_an_operation_keeps_what_was_typed(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    typed = {"step-s3-instruction": "Answer in one word", "reason": "shorter", "step-s2-fresh": "1"}

    _, page = post(browser, run, form_of(run.workflow, edit='{"op": "duplicate", "key": "s1"}') | typed)

    assert "Answer in one word</textarea>" in page
    assert 'value="shorter"' in page
    assert 'name="step-s2-fresh" value="1" checked' in page


def test_removing_a_step_that_others_read_says_what_they_lose(browser: Client, run: Run) -> None:
    _, page = operated(browser, run, op="remove", key="s1")

    assert "Step 2 (now step 1) no longer reads step 1." in page


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"op": "allow", "reader": "s1", "source": "s3"}, "Step 1 cannot read step 3, which comes later"),
        ({"op": "move", "key": "s3", "to": 0}, "Step 3 cannot move to place 1: it reads step 1"),
        ({"op": "remove", "key": "s9"}, "There is no step “s9” in this workflow."),
        ({"op": "explode"}, "That operation is none that this page knows."),
    ],
)
def test_what_cannot_be_done_is_refused_in_words_and_changes_nothing(
    browser: Client, run: Run, edit: dict[str, Any], words: str
) -> None:
    status, page = operated(browser, run, **edit)

    assert status == 422
    assert words in page
    assert steps_in(page) == {"s1": [], "s2": ["s1"], "s3": ["s1", "s2"]}


@pytest.mark.parametrize("edit", ["{", "[]", "null", '"x"', "{" * 5_000])
def test_an_operation_that_is_no_json_is_refused(browser: Client, run: Run, edit: str) -> None:
    assert run.workflow is not None

    status, page = post(browser, run, form_of(run.workflow, edit=edit))

    assert (status, "none that this page knows" in page) == (422, True)


def test_the_preview_says_what_runs_and_what_is_reused(browser: Client, run: Run) -> None:
    assert run.workflow is not None

    _, page = post(browser, run, form_of(run.workflow, action="check") | {"step-s2-instruction": "Check it twice"})

    assert "Run 2 steps, reuse 1" in page
    assert "Runs: its instruction, worker or access list changed" in page
    assert "Runs: its context changes because step 2 runs" in page
    assert f"Reused: unchanged since run {run.code}" in page
    assert "What is reused once cost $0.0042" in page


def test_problems_sit_at_their_step_and_nothing_can_be_run(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    broken = form_of(run.workflow) | {"step-s2-instruction": "  ", "step-s3-access": ["s1", "zz"]}

    _, page = post(browser, run, broken | {"action": "check"})

    faults = re.search(r'id="s2-faults"[^>]*>(.*?)</div>', page, re.DOTALL)
    assert faults is not None
    assert "Step 2 has no instruction." in faults[1]
    assert 'value="zz" checked' in page
    assert "disabled" in page[page.index('value="run"') :][:40]
    assert draft_in(page)["problems"][1]["edge"] == ["zz", "s3"]


def test_running_what_is_invalid_is_refused_with_the_same_words(browser: Client, run: Run) -> None:
    assert run.workflow is not None

    status, page = post(browser, run, form_of(run.workflow, action="run") | {"step-s2-instruction": "  "})

    assert status == 422
    assert "Step 2 has no instruction." in page
    assert Run.objects.count() == 1


def test_running_makes_a_fork_that_keeps_keys_reason_and_wishes(browser: Client, ada: User, run: Run) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow, action="run", reason="shorter", submit_key="k")

    answer = press(browser, run, fields | {"step-s3-instruction": "Answer in one word", "step-s1-fresh": "1"})

    child = Run.objects.get(parent=run)
    assert answer["Location"] == f"/runs/{child.code}/"
    assert child.workflow is not None
    assert child.workflow.keys == ("s1", "s2", "s3")
    assert child.workflow.step("s1") == run.workflow.step("s1")
    assert child.workflow.step("s3").instruction == "Answer in one word"
    assert child.fresh == ["s1"]
    assert log.read(child.trail)[0].texts["reason"] == "shorter"


def test_pressed_twice_it_is_one_run(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    for _ in range(2):
        press(browser, run, form_of(run.workflow, action="run", submit_key="k"))

    assert Run.objects.filter(parent=run).count() == 1


def test_gone_back_to_and_changed_it_is_another_run(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow, action="run", submit_key="k")

    press(browser, run, fields)
    press(browser, run, fields | {"step-s3-instruction": "Answer in one word"})
    press(browser, run, fields | {"step-s1-fresh": "1"})

    assert Run.objects.filter(parent=run).count() == 3


def test_what_was_reused_in_the_preview_is_reused_in_the_fork(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    press(browser, run, form_of(run.workflow, action="run"))

    driving = Driving(Run.objects.get(parent=run))
    for key in ("s1", "s2", "s3"):
        driving.reuse(key)

    assert set(driving.run.steps.values_list("status", flat=True)) == {"reused"}


def test_a_new_step_never_takes_the_key_of_one_the_run_had(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    without_last = form_of(run.workflow) | {"order": ["s1", "s2"]}

    _, page = post(browser, run, without_last | {"edit": '{"op": "add", "after": "s2", "worker": "sim-birch"}'})

    assert list(steps_in(page)) == ["s1", "s2", "s4"]


def test_a_worker_that_left_the_pool_is_said_at_its_step(browser: Client, run: Run) -> None:
    Worker.objects.filter(slug="sim-birch").update(enabled=False)

    page = html.unescape(browser.get(f"/runs/{run.code}/edit/").content.decode())

    assert "sim-birch (not in the pool any more)" in page
    assert "Step 1 is given to “sim-birch”, which is not a worker of this pool." in page


def test_with_htmx_the_form_alone_comes_back_and_a_check_touches_no_field(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    htmx: dict[str, Any] = {"headers": {"HX-Request": "true"}}

    _, form = post(browser, run, form_of(run.workflow, edit='{"op": "duplicate", "key": "s1"}'), **htmx)
    _, verdict = post(browser, run, form_of(run.workflow, action="check"), **htmx)
    started = press(browser, run, form_of(run.workflow, action="run"), **htmx)

    assert "<textarea" in form
    assert "<html" not in form
    assert "<textarea" not in verdict
    assert 'id="s1-faults" hx-swap-oob="true"' in verdict
    assert started["HX-Redirect"] == f"/runs/{Run.objects.get(parent=run).code}/"


@pytest.mark.parametrize(
    ("order", "keys", "words"),
    [
        ([], ["s1", "s2", "s3"], "The form came without its steps"),
        (["s1", "S 2!"], ["s1", "s2"], "names step 2 as no step can be named"),
        (["s1", SCRIPT], ["s1", "s2"], "names step 2 as no step can be named"),
        (["s1", "s1"], ["s1"], ""),
        ([f"k{number}" for number in range(400)], [f"k{number}" for number in range(151)], "The form has 400 steps"),
    ],
)
def test_a_forged_order_is_said_and_what_was_typed_is_kept(
    browser: Client, run: Run, order: list[str], keys: list[str], words: str
) -> None:
    fields = {"order": order, "reason": "kept", "action": "check"}
    fields |= {f"step-{name}-instruction": f"typed in {name}" for name in order}

    status, page = post(browser, run, fields)

    assert status == (422 if words else 200)
    assert words in page
    assert list(steps_in(page)) == keys
    assert 'value="kept"' in page
    for step, name in zip(draft_in(page)["workflow"]["steps"], dict.fromkeys(order), strict=False):
        assert step["instruction"] == f"typed in {name}"


def test_a_form_that_did_not_arrive_as_written_starts_nothing(browser: Client, run: Run) -> None:
    status, _ = post(browser, run, {"action": "run"})

    assert status == 422
    assert Run.objects.count() == 1


def test_forged_settings_leave_the_runs_own(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow) | {
        "show_task": "maybe",
        "on_failure": "explode",
        "sink": "explode",
        "action": "check",
    }

    status, page = post(browser, run, fields)

    assert status == 200
    assert draft_in(page)["workflow"] == run.workflow.model_dump(mode="json")


def test_markup_in_instructions_stays_text(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, task=SCRIPT))
    driving.plan(chain(SCRIPT, f"Read it {SCRIPT}"))
    run = driving.carry({"s1": SCRIPT, "s2": SCRIPT})
    assert run.workflow is not None

    pages = [browser.get(f"/runs/{run.code}/edit/")]
    pages.append(browser.post(f"/runs/{run.code}/edit/", form_of(run.workflow, reason=SCRIPT, action="check")))
    fields = form_of(run.workflow) | {"step-s2-worker": SCRIPT, "step-s2-access": [SCRIPT]}
    pages.append(browser.post(f"/runs/{run.code}/edit/", fields))

    for page in pages:
        assert "<script>alert" not in page.content.decode()
        assert not re.search(r'(?<!\\)" onfocus', page.content.decode())


def test_a_nul_is_said_and_not_stored(browser: Client, run: Run) -> None:
    assert run.workflow is not None

    status, page = post(browser, run, form_of(run.workflow, action="run") | {"step-s2-instruction": "a\0b"})

    assert status == 422
    assert "cannot be stored" in page


def test_a_run_that_goes_on_is_forked_and_never_changed(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    driving.finish("s1", "53 %")
    run = driving.told()
    assert run.workflow is not None

    page = browser.get(f"/runs/{run.code}/edit/").content.decode()
    press(browser, run, form_of(run.workflow, action="run"))

    assert "stays as it is and goes on" in page
    assert driving.told().status == Run.Status.RUNNING
    assert Run.objects.filter(parent=run).count() == 1


def test_a_run_without_a_workflow_has_nothing_to_edit(browser: Client, ada: User) -> None:
    run = make_run(by=ada)

    assert browser.get(f"/runs/{run.code}/edit/")["Location"] == f"/runs/{run.code}/"

    services.stop_run(run=run, by=ada, now=NOON + timedelta(seconds=1))
    assert "no workflow yet" in browser.get(f"/runs/{run.code}/edit/", follow=True).content.decode()
