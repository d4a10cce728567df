"""Editing a plan that is held for review, and approving it with the changes."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs import holding, services
from apps.runs.models import Run, SavedDraft
from apps.workflows.workflow import Workflow
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.web.forms import form_of, post, press, seal_in, steps_in


@pytest.fixture
def held(ada: User) -> Run:
    driving = Driving(make_run(by=ada, review=True))
    driving.plan(chain("Compute the growth", "Answer the task"), hold=True)
    return driving.told()


def workflow_of(run: Run) -> Workflow:
    assert run.workflow is not None
    return run.workflow


def verbs(run: Run) -> list[str]:
    return [event.verb for event in log.read(run.trail)]


def test_the_page_says_that_the_run_itself_waits_for_it(browser: Client, held: Run) -> None:
    page = browser.get(f"/runs/{held.code}/edit/").content.decode()

    assert "Held for review" in page
    assert 'name="action" value="revise"' in page
    assert "Approve and run" in page
    assert "Run fresh" not in page


def test_changes_and_approval_are_one_press(browser: Client, held: Run, rung: list[int]) -> None:
    rung.clear()
    fields = form_of(workflow_of(held), action="revise", reason="shorter") | {"step-s2-instruction": "Answer in a word"}
    _, page = post(browser, held, fields | {"action": "check"})
    assert "Approve and run with these changes" in page

    answer = press(browser, held, fields)

    assert answer["Location"] == f"/runs/{held.code}/"
    run = Run.objects.get(pk=held.pk)
    assert (run.status, Run.objects.count()) == (Run.Status.QUEUED, 1)
    assert workflow_of(run).step("s2").instruction == "Answer in a word"
    assert [step.instruction for step in run.steps.all()] == ["Compute the growth", "Answer in a word"]
    assert verbs(run)[-2:] == ["workflow.adopted", "run.approved"]
    assert log.read(run.trail)[-2].texts["reason"] == "shorter"


def test_a_plan_that_nobody_changed_is_just_approved(browser: Client, held: Run) -> None:
    press(browser, held, form_of(workflow_of(held), action="revise"))

    assert Run.objects.get(pk=held.pk).status == Run.Status.QUEUED
    assert verbs(held).count("workflow.adopted") == 1


def test_what_cannot_be_run_is_neither_taken_nor_approved(browser: Client, held: Run) -> None:
    fields = form_of(workflow_of(held), action="revise") | {"step-s2-instruction": " "}

    status, page = post(browser, held, fields)

    assert status == 422
    assert "Step 2" in page
    assert Run.objects.get(pk=held.pk).status == Run.Status.HELD


def test_a_worker_that_the_run_has_not_frozen_is_not_offered_and_not_taken(browser: Client, held: Run) -> None:
    setup = held.setup | {"pool": [worker for worker in held.setup["pool"] if worker["slug"] != "sim-cedar"]}
    Run.objects.filter(pk=held.pk).update(setup=setup)
    fields = form_of(workflow_of(held), action="revise") | {"step-s2-worker": "sim-cedar"}

    page = browser.get(f"/runs/{held.code}/edit/").content.decode()
    status, refused = post(browser, held, fields)

    assert 'value="sim-cedar"' not in page
    assert status == 422
    assert "which is not a worker of this pool" in refused


def test_a_plan_that_somebody_has_let_go_meanwhile_is_not_changed(browser: Client, held: Run, ada: User) -> None:
    fields = form_of(workflow_of(held), action="revise") | {"step-s2-instruction": "Answer in a word"}
    _, page = post(browser, held, fields | {"action": "check"})
    services.approve_run(run=held, by=ada, now=NOON)

    status, told = post(browser, held, fields | {"seen": seal_in(page)})

    assert status == 409
    assert "This run is not held for review any more." in told
    assert "Answer in a word" in told  # what was typed is still there,
    assert SavedDraft.objects.filter(run=held).exists()  # and kept
    assert workflow_of(Run.objects.get(pk=held.pk)).step("s2").instruction == "Answer the task"
    assert steps_in(page) == steps_in(told)


def test_a_plan_revised_by_another_while_it_is_looked_at_is_asked_about_again(
    browser: Client, held: Run, ada: User
) -> None:
    fields = form_of(workflow_of(held), action="revise")
    holding.revise_run(run=held, workflow=chain("Only this"), by=ada, now=NOON)

    answer = press(browser, held, fields)

    # The form says the whole workflow: what is approved is what this person saw, and the trail says who changed what.
    assert answer.status_code == 302
    assert workflow_of(Run.objects.get(pk=held.pk)) == workflow_of(held)
    assert verbs(held)[-3:] == ["workflow.adopted", "workflow.adopted", "run.approved"]


def test_a_run_that_was_approved_is_edited_as_a_copy(browser: Client, held: Run, ada: User) -> None:
    services.approve_run(run=held, by=ada, now=NOON)

    page = browser.get(f"/runs/{held.code}/edit/").content.decode()

    assert "Editing a copy" in page
    assert 'name="action" value="run"' in page
