"""A past workflow on one page: all that led to its answer is there, bounded, and is signed off there."""

import html
import re
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.audit import log
from apps.runs.holding import revise_run, write_result
from apps.runs.models import Attempt, Review, Run, Step
from apps.runs.rating import rate_result
from apps.runs.retention.erasing import erase_run
from apps.runs.reviewing import assign_review, sign_off
from apps.runs.services import approve_run, fork_run
from apps.runs.templates import keep_template, start_template
from apps.web.reviewing import told
from apps.web.reviewing.reading import FIRST_CHARS
from tests.factories import NOON, Driving, chain, failure, make_pool, make_run
from tests.integration.runs.reviewed import ROLES, member
from tests.integration.web.given import (
    a_run,
    asked_again,
    decided,
    finished,
    let_stand_in,
    nest,
    nesting_profile,
    stood_in,
    workflow_of,
)


@pytest.fixture
def audrey(ada: User) -> User:
    """An auditor of Ada's project."""
    return member("audrey", ROLES.AUDITOR, project="ada")


@pytest.fixture
def auditing(audrey: User) -> Client:
    client = Client()
    client.force_login(audrey)
    return client


@pytest.fixture
def run(ada: User) -> Run:
    return finished(ada, raw="model_id = [1, 1]", repairs=["a comma was missing"])


def review_of(run: Run) -> str:
    return reverse("run-review", args=[run.code])


def page(client: Client, run: Run, query: str = "") -> str:
    response = client.get(review_of(run) + query)
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def part(said: str, name: str) -> str:
    """One section of the page."""
    found = re.search(rf'<section id="{name}".*?</section>', said, re.DOTALL)
    assert found is not None
    return found[0]


# --- what is on it ---------------------------------------------------------------------------------------------------


def test_who_asked_for_what_under_which_version_of_what(browser: Client, run: Run) -> None:
    said = part(page(browser, run), "asked")

    for text in ("ada", run.task, "studio-ultra, version 1", "Simulated conductor", "Birch", "Limit", "Seed"):
        assert text in said


def test_tags_and_attachments_of_the_task(browser: Client, run: Run) -> None:
    file = {"name": "sales.csv", "chars": 1_200, "tags": ["client"]}
    Run.objects.filter(pk=run.pk).update(setup=run.setup | {"tags": ["confidential"], "attachments": [file]})

    said = part(page(browser, run), "asked")

    for text in ("confidential", "sales.csv", "1,200 characters", "tags: client"):
        assert text in said


def test_the_raw_proposal_and_its_repairs(browser: Client, run: Run) -> None:
    said = part(page(browser, run), "plan")

    assert "model_id = [1, 1]" in said
    assert "Repaired: a comma was missing" in said
    assert "Plan it." in said  # what the conductor was sent


def test_a_proposal_that_could_not_be_used_stands_there_too(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.misplan("I would rather not", problems=["There is no list."])
    driving.plan(chain("Answer"))
    run = driving.carry({"s1": "42"})

    said = part(page(browser, run), "plan")

    for text in ("Try 1", "Try 2", "I would rather not", "There is no list."):
        assert text in said


def test_the_exact_context_of_each_step_what_it_answered_and_what_that_cost(browser: Client, run: Run) -> None:
    said = part(page(browser, run), "steps")
    second = said[said.index('id="step-2"') :]

    assert "to the letter what was sent" in second
    assert "Result of step 1" in second
    assert "South: 53 %" in second
    assert "Answer the task" in second
    assert Attempt.objects.get(run=run, step__key="s2").digest in second
    assert "<strong>South</strong> grew most." in second
    assert "$0.0042" in second


def test_what_a_step_may_not_read_is_said(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(workflow_of(("s1", "", []), ("s2", "", [])))
    run = driving.carry({"s1": "one", "s2": "two"})

    second = page(browser, run).partition('id="step-2"')[2]

    assert 'class="off">not <a href="#step-1">' in second


def test_a_prompt_that_would_be_another_today_is_shown_as_it_was_sent(browser: Client, run: Run) -> None:
    Attempt.objects.filter(run=run, step__key="s2").update(sent=[{"role": "user", "content": "Something else"}])

    said = part(page(browser, run), "steps")

    assert "Made again, it would differ" in said
    assert "Something else" in said


def test_attempts_that_failed_and_who_stood_in(browser: Client, ada: User) -> None:
    make_pool()
    let_stand_in("sim-birch", "sim-delta")
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    driving.fail("s1", failure("the endpoint is on fire"), retry_in_s=1.0)
    stood_in(driving, "s1", "sim-delta", "42", why="HTTP 500")
    run = driving.succeed("42", step="s1")

    said = part(page(browser, run), "steps")

    assert "the endpoint is on fire" in said
    assert "Delta stood in for Birch" in said


def test_who_approved_and_edited_the_plan_and_why(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, review=True))
    driving.plan(chain("Compute the growth", "Answer the task"), hold=True)
    edited = chain("Compute the growth by hand", "Answer the task", "Check it")
    run = revise_run(run=driving.told(), workflow=edited, by=ada, now=NOON, reason="A check is missing")
    approve_run(run=run, by=ada, now=NOON)

    said = part(page(browser, Run.objects.get(pk=run.pk)), "decisions")

    for text in ("asked for the run", "edited the plan", "A check is missing", "approved the plan", "Step 3 is new"):
        assert text in said
    assert "<ins> by hand</ins>" in said


def test_what_was_changed_for_a_fork(browser: Client, run: Run, ada: User) -> None:
    workflow = run.workflow
    assert workflow is not None
    alone = workflow.steps[1].model_copy(update={"access": (), "worker": "sim-delta"})
    changed = workflow.model_copy(update={"steps": (workflow.steps[0], alone)})
    fork = fork_run(
        parent=run, workflow=changed, by=ada, now=NOON, reason="Does it need step 1?", submit_key=uuid4().hex
    )

    said = page(browser, fork)

    assert "Does it need step 1?" in part(said, "asked")
    assert "Simulated conductor" not in part(said, "asked")  # whom nobody asked
    assert "worker sim-birch → sim-delta, no longer reads step 1" in part(said, "decisions")


def test_what_became_of_the_parent_after_the_fork_is_no_change_of_the_forks(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    first = workflow_of(("s1", "", []), ("s2", "", ["s1"]))
    driving.plan(first)
    fork = fork_run(parent=driving.told(), workflow=first, by=ada, now=NOON, submit_key=uuid4().hex)
    longer = workflow_of(("s1", "", []), ("s2", "", ["s1"]), ("s3@2", "", ["s2"]))
    decided(driving, asked_again(driving, round=2), verdict="changed", workflow=longer)
    late = fork_run(parent=driving.told(), workflow=first, by=ada, now=NOON, submit_key=uuid4().hex)

    early = part(page(browser, fork), "decisions")
    assert "took the workflow over" in early
    assert "taken out" not in early
    assert "Step 3 was taken out" in part(page(browser, late), "decisions")


def test_what_a_plan_was_revised_to_after_the_fork_is_no_change_of_the_forks(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, review=True))
    first = chain("Compute the growth", "Answer the task")
    driving.plan(first, hold=True)
    fork = fork_run(parent=driving.told(), workflow=first, by=ada, now=NOON, submit_key=uuid4().hex)
    revise_run(run=driving.told(), workflow=chain("Ask somebody"), by=ada, now=NOON)

    assert "took the workflow over" in part(page(browser, fork), "decisions")


def test_a_change_far_into_a_long_instruction_is_told(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Count them. " * 500 + "Do it by hand."))
    changed = chain("Count them. " * 500 + "Do it by machine.")
    fork = fork_run(parent=driving.told(), workflow=changed, by=ada, now=NOON, submit_key=uuid4().hex)

    said = part(page(browser, fork), "decisions")

    assert "changed the workflow" in said
    assert "machine" in said


def test_of_an_erased_parent_nothing_is_said_to_have_been_changed_or_not(browser: Client, run: Run, ada: User) -> None:
    assert run.workflow is not None
    fork = fork_run(parent=run, workflow=run.workflow, by=ada, now=NOON, submit_key=uuid4().hex)
    ada.memberships.update(role=ROLES.ADMIN)
    erase_run(run=run, by=ada, now=timezone.now(), reason="Asked to")

    said = part(page(browser, fork), "decisions")

    assert "gave the workflow" in said
    assert "took the workflow over" not in said


def test_a_run_that_was_started_from_a_template_says_so(browser: Client, ada: User) -> None:
    kept = keep_template(name="Growth", task="Which grew?", workflow=chain("Answer"), by=ada, now=NOON)
    started = start_template(template=kept, values={}, profile=make_pool(), by=ada, now=NOON)

    said = page(browser, started)

    assert "started it from template “Growth”" in part(said, "decisions")
    assert "as a template" not in part(said, "decisions")
    assert "Started from a template" in part(said, "trail")


def test_a_result_that_was_written_by_hand_is_marked_as_that(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer the task"))
    driving.finish("s1", "South: 53 %")
    Run.objects.filter(pk=driving.run.pk).update(status="held", hold="pause")
    write_result(run=driving.run, key="s1", text="North: 40 %", by=ada, now=NOON, reason="Misread")

    said = part(page(browser, driving.told()), "steps")

    for text in ("Written by ada", "Misread", "North: 40 %", "South: 53 %"):
        assert text in said


def test_a_run_within_a_step_is_told_behind_it(browser: Client, ada: User) -> None:
    outer = Driving(make_run(by=ada, profile=nesting_profile()))
    steps = workflow_of(("s1", "", []), ("s2", "", ["s1"]))
    given = steps.steps[1].model_copy(update={"worker": "sim-conductor"})
    outer.plan(steps.model_copy(update={"steps": (steps.steps[0], given)}))
    outer.finish("s1", "52 more")
    inner = nest(outer, "s2")
    inner.plan(workflow_of(("s1", "", []), ("s2", "", ["s1"])), raw="the inner plan")
    inner.finish("s1", "deep result")

    said = page(browser, outer.told())

    for text in ("This step became a run of its own", "the inner plan", "2.1 · Do s1", "deep result"):
        assert text in said
    assert said.index("52 more") < said.index("deep result")


def test_a_run_without_steps_says_why(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.misplan("no", problems=["There is no list."])
    run = driving.give_up("The plan could not be used.", code="plan")

    said = page(browser, run)

    assert "The plan could not be used." in part(said, "answer")
    assert "ended before it had" in part(said, "steps")


def test_the_graph_is_a_picture_that_needs_no_script(browser: Client, run: Run) -> None:
    said = part(page(browser, run), "plan")

    assert '<svg class="picture"' in said
    assert said.count("<rect") == 2
    assert said.count("<path") == 1


def test_the_chain_is_computed_again_for_the_page(browser: Client, run: Run) -> None:
    verified = log.verify(run.trail)

    said = part(page(browser, run), "trail")

    assert f"holds from event 1 to event {verified.events}" in said
    assert verified.head in said
    assert said.count("<tr>") == verified.events + 1


def test_texts_never_become_markup(browser: Client, ada: User) -> None:
    evil = "<script>alert(1)</script>"
    driving = Driving(make_run(by=ada, task=f"Do {evil}"))
    driving.plan(chain(f"Say {evil}"), raw=evil)
    run = driving.carry({"s1": evil})

    content = browser.get(review_of(run)).content.decode()

    assert evil not in content
    assert "&lt;script&gt;alert(1)" in content


def test_results_are_shown_as_they_came_if_asked(browser: Client, run: Run) -> None:
    assert "**South** grew most." in part(page(browser, run, "?raw=1"), "answer")


def test_of_an_erased_run_the_frame_is_left_and_its_sign_off(
    browser: Client, auditing: Client, run: Run, ada: User, audrey: User
) -> None:
    rate_result(run=run, score=2, correction="North grew most.", by=ada, now=NOON)
    sign_off(run=run, verdict="accepted", comment="Checked twice.", by=audrey, now=NOON)
    ada.memberships.update(role=ROLES.ADMIN)
    erase_run(run=run, by=ada, now=timezone.now(), reason="Asked to")

    said = page(auditing, run)

    for text in ("South", "growth", "North grew most.", "Checked twice.", "Which region"):
        assert text not in said
    for text in ("The texts of this run were erased", "Accepted by audrey", "Answer: 2 of 5", "erased its texts"):
        assert text in said
    assert "the chain holds" in said


# --- how much of it --------------------------------------------------------------------------------------------------


def test_a_long_text_is_cut_and_said_to_be_and_is_all_there_if_asked(browser: Client, run: Run) -> None:
    Step.objects.filter(run=run, key="s1").update(result="x" * FIRST_CHARS + "THE END")

    said = page(browser, run)
    assert "THE END" not in said
    assert f"cut after {FIRST_CHARS:,} characters" in said

    everything = page(browser, run, "?all=1")
    assert "THE END" in everything
    assert "Not everything is on this page" not in everything


def test_of_very_many_steps_the_first_are_told(browser: Client, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "FIRST_STEPS", 1)

    said = page(browser, run)
    assert "1 further step is not on this page" in said
    assert 'id="step-2"' not in said
    assert 'id="step-2"' in page(browser, run, "?all=1")


def test_its_queries_do_not_grow_with_the_steps(
    browser: Client, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    def long_run(size: int) -> Run:
        driving = Driving(make_run(by=ada, submit_key=uuid4().hex))
        driving.plan(chain(*(f"Step number {number}" for number in range(size))))
        return driving.carry({f"s{number}": "done" for number in range(1, size + 1)})

    few, many = long_run(2), long_run(12)
    page(browser, few)
    with django_assert_max_num_queries(60) as first:
        page(browser, few)
    with django_assert_max_num_queries(len(first)):
        page(browser, many)


# --- who may see it --------------------------------------------------------------------------------------------------


def test_people_of_other_projects_see_nothing(other_browser: Client, run: Run) -> None:
    assert other_browser.get(review_of(run)).status_code == 404
    for name in ("run-sign-off", "run-assign", "run-rate"):
        assert other_browser.post(reverse(name, args=[run.code]), {"verdict": "accepted"}).status_code == 404


def test_analysts_read_it_and_find_nothing_to_press(browser: Client, run: Run) -> None:
    said = part(page(browser, run), "sign-off")

    assert "<form" not in said
    assert browser.post(reverse("run-sign-off", args=[run.code]), {"verdict": "accepted"}).status_code == 403
    assert not Review.objects.exists()


# --- signing off -----------------------------------------------------------------------------------------------------


def test_an_auditor_accepts_and_the_page_says_so(auditing: Client, run: Run) -> None:
    assert "Nobody has signed this run off" in page(auditing, run)

    response = auditing.post(reverse("run-sign-off", args=[run.code]), {"verdict": "accepted", "comment": "Checked."})

    assert response.status_code == 302
    assert response["Location"] == f"{review_of(run)}#sign-off"
    said = page(auditing, run)
    assert "Run signed off" in part(said, "trail")
    assert "Accepted by audrey" in part(said, "sign-off")
    assert "Checked." in part(said, "sign-off")
    assert "accepted the run" in part(said, "decisions")


def test_the_page_of_the_run_says_how_its_review_stands(browser: Client, run: Run, audrey: User) -> None:
    def head() -> str:
        return html.unescape(browser.get(reverse("run-head", args=[run.code])).content.decode())

    assert "<dt>Review</dt>" not in head()
    assign_review(run=run, to=audrey, by=audrey, now=NOON)
    assert "audrey is asked" in head()
    sign_off(run=run, verdict="accepted", by=audrey, now=NOON)
    assert "accepted by audrey" in head()


def test_a_rejection_without_a_reason_comes_back_with_the_fault(auditing: Client, run: Run) -> None:
    response = auditing.post(reverse("run-sign-off", args=[run.code]), {"verdict": "rejected", "comment": ""})

    assert response.status_code == 422
    assert "Say why it is rejected" in response.content.decode()
    assert not Review.objects.exists()


def test_ones_own_run_is_signed_off_by_somebody_else_but_for_an_admin(ada: User, browser: Client, run: Run) -> None:
    ada.memberships.update(role=ROLES.AUDITOR)
    assert "somebody else signs it off" in page(browser, run)
    assert browser.post(reverse("run-sign-off", args=[run.code]), {"verdict": "accepted"}).status_code == 403

    ada.memberships.update(role=ROLES.ADMIN)
    assert "the event will say so" in page(browser, run)
    browser.post(reverse("run-sign-off", args=[run.code]), {"verdict": "accepted"})
    assert "who started this run" in page(browser, run)


def test_a_review_is_given_to_somebody_and_taken_back(auditing: Client, run: Run, audrey: User) -> None:
    address = reverse("run-assign", args=[run.code])

    auditing.post(address, {"to": "audrey"})
    assert "audrey is to review it" in page(auditing, run)
    auditing.post(address, {"to": ""})
    assert not Review.objects.exists()


@pytest.mark.parametrize("to", ["ada", "nobody", "\0"])
def test_it_is_given_to_no_one_who_may_not(auditing: Client, run: Run, to: str) -> None:
    response = auditing.post(reverse("run-assign", args=[run.code]), {"to": to}, follow=True)

    assert "Choose one of the project's auditors" in html.unescape(response.content.decode())
    assert not Review.objects.exists()


def test_a_run_that_goes_on_can_be_read_and_not_signed_off(auditing: Client, ada: User) -> None:
    run = a_run(ada)

    assert "once it has ended" in page(auditing, run)
    auditing.post(reverse("run-sign-off", args=[run.code]), {"verdict": "accepted"})
    assert not Review.objects.exists()
