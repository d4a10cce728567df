"""Driving runs: real PostgreSQL and Redis, real HTTP to the simulator, one driver in this process."""

import time
from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.audit.verification import verify
from apps.core.errors import Conflict
from apps.runs import claim, driver
from apps.runs.desk import Desk
from apps.runs.models import Attempt, Run, Step
from apps.runs.process import Process
from apps.runs.services import (
    TaskEmpty,
    TaskTooLong,
    WorkflowInvalid,
    fork_run,
    preview_fork,
    stop_run,
    submit_run,
    title_of,
)
from apps.workers.models import Profile, Worker
from tests.factories import Driving
from tests.pools import workflow
from tests.simulators import Simulator

Drive = Callable[[Run], Run]

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."


def submit(admin: User, mini: Profile, task: str = SUM, **options: Any) -> Run:
    return submit_run(task=task, profile=mini, by=admin, now=timezone.now(), **options)


def verbs(run: Run) -> list[str]:
    return [event.verb for event in audit.read(run.trail)]


TWO_AND_A_CHECK = workflow(
    ("s1", "Compute it.", "sim-atlas", []),
    ("s2", "Compute it independently.", "sim-birch", []),
    ("s3", "Compare both results and answer with the number.", "sim-atlas", ["s1", "s2"]),
)


def test_a_direct_run_reaches_the_right_answer(admin: User, mini: Profile, drive: Drive) -> None:
    run = drive(submit(admin, mini))

    assert run.status == Run.Status.SUCCEEDED
    assert "4656" in run.answer
    assert run.answer_rule == "last"
    assert run.output_tokens > 0
    assert run.cost_usd > 0


def test_every_step_is_called_once_and_sent_what_it_may_read(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    run = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))

    asked = simulator.log()
    sent = {attempt.step.key: attempt.sent for attempt in run.attempts.select_related("step")}
    assert sorted(str(row["messages"]) for row in asked) == sorted(str(messages) for messages in sent.values())
    results = {step.key: step.result for step in run.steps.all()}
    assert results["s1"] in sent["s3"][0]["content"]
    assert results["s2"] in sent["s3"][0]["content"]
    assert results["s2"] not in sent["s1"][0]["content"]


def test_the_trail_tells_the_whole_story_and_verifies(admin: User, mini: Profile, drive: Drive) -> None:
    run = drive(submit(admin, mini))

    told = verbs(run)
    assert told[0] == "run.submitted"
    assert told.index("run.claimed") < told.index("workflow.adopted") < told.index("step.started")
    assert told[-2:] == ["step.succeeded", "run.succeeded"]
    assert verify(run.trail).first_break is None


def test_the_same_submit_key_makes_one_run(admin: User, mini: Profile) -> None:
    first = submit(admin, mini, submit_key="k1")
    second = submit(admin, mini, submit_key="k1")

    assert first == second
    assert Run.objects.count() == 1


@pytest.mark.parametrize(("task", "refusal"), [("  \n\0", TaskEmpty), ("x" * 200_000, TaskTooLong)])
def test_a_task_that_is_none_or_too_long_is_refused_by_name(
    admin: User, mini: Profile, task: str, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        submit(admin, mini, task=task)


def test_a_failed_call_that_can_help_is_tried_again_and_both_attempts_are_kept(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None]
) -> None:
    knobs("sim-atlas", "fail=500x1")
    run = drive(submit(admin, mini, workflow=workflow(("s1", "Compute it.", "sim-atlas", []))))

    attempts = list(run.attempts.order_by("number"))
    assert run.status == Run.Status.SUCCEEDED
    assert [attempt.status for attempt in attempts] == [Attempt.Status.FAILED, Attempt.Status.SUCCEEDED]
    assert attempts[0].error_status == 500
    assert "attempt.failed" in verbs(run)


def test_a_step_that_fails_for_good_skips_its_readers_and_fails_the_run(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None]
) -> None:
    knobs("sim-birch", "fail=empty")
    run = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))

    states = {step.key: step.status for step in run.steps.all()}
    assert states == {"s1": Step.Status.SUCCEEDED, "s2": Step.Status.FAILED, "s3": Step.Status.SKIPPED}
    assert run.status == Run.Status.FAILED
    assert "Step 2 failed" in run.error
    assert run.attempts.filter(step__key="s2").count() == 3


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        ("hang", "timeout", "no first token within 0.2 s"),
        ("refused", "refused", "hung up without an answer"),
        ("cut", "cut", "broke"),
        ("malformed", "malformed", "no chunk of a reply"),
        ("empty", "empty", "without writing anything"),
    ],
)
def test_a_worker_that_never_answers_well_fails_its_step_with_what_it_did(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], fault: str, kind: str, said: str
) -> None:
    knobs("sim-birch", f"fail={fault}", first_token_timeout_s=0.2)
    Profile.objects.update(tries=2)
    mini.refresh_from_db()

    run = drive(submit(admin, mini, workflow=workflow(("s1", "Compute it.", "sim-birch", []))))

    attempts = list(run.attempts.order_by("number"))
    assert (run.status, run.error_step) == (Run.Status.FAILED, "s1")
    assert [(a.status, a.error_kind) for a in attempts] == [(Attempt.Status.FAILED, kind)] * 2
    assert said in run.error
    assert verbs(run)[-3:] == ["attempt.failed", "step.failed", "run.failed"]


def test_a_fork_reuses_what_is_unchanged_and_runs_what_changed(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    parent = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))
    edited = workflow(
        ("s1", "Compute it.", "sim-atlas", []),
        ("s2", "Compute it independently.", "sim-birch", []),
        ("s3", "Compare both results and answer with the number.", "sim-atlas", ["s1"]),
    )
    simulator.forget()
    foretold = preview_fork(parent=parent, workflow=edited)

    child = drive(fork_run(parent=parent, workflow=edited, by=admin, now=timezone.now()))

    assert [(f.step, f.verdict) for f in foretold] == [("s1", "reuse"), ("s2", "reuse"), ("s3", "run")]
    assert len(simulator.log()) == 1
    assert {step.key: step.status for step in child.steps.all()} == {
        "s1": Step.Status.REUSED,
        "s2": Step.Status.REUSED,
        "s3": Step.Status.SUCCEEDED,
    }
    assert child.attempts.get(step__key="s1").source == parent.attempts.get(step__key="s1")
    assert child.parent == parent
    assert "run.forked" in verbs(parent)
    assert child.cost_usd < parent.cost_usd


def test_a_step_asked_to_run_fresh_runs(admin: User, mini: Profile, drive: Drive, simulator: Simulator) -> None:
    parent = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))
    simulator.forget()

    child = drive(fork_run(parent=parent, workflow=TWO_AND_A_CHECK, by=admin, now=timezone.now(), fresh=["s2"]))

    # The simulator is deterministic: step 2 answers the same text again, so what reads it is reused after all.
    assert {step.key: step.status for step in child.steps.all()} == {
        "s1": Step.Status.REUSED,
        "s2": Step.Status.SUCCEEDED,
        "s3": Step.Status.REUSED,
    }
    assert len(simulator.log()) == 1


def test_a_fork_of_a_fork_still_finds_the_first_runs_results(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    first = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))
    second = drive(fork_run(parent=first, workflow=TWO_AND_A_CHECK, by=admin, now=timezone.now()))
    simulator.forget()

    third = drive(fork_run(parent=second, workflow=TWO_AND_A_CHECK, by=admin, now=timezone.now()))

    assert simulator.log() == []
    assert third.status == Run.Status.SUCCEEDED
    assert third.answer == first.answer
    assert third.cost_usd == 0


def test_a_fork_that_breaks_a_rule_is_refused_with_the_problem(admin: User, mini: Profile, drive: Drive) -> None:
    parent = drive(submit(admin, mini))
    broken = workflow(("s1", "", "sim-atlas", []))

    with pytest.raises(WorkflowInvalid) as caught:
        fork_run(parent=parent, workflow=broken, by=admin, now=timezone.now())

    assert caught.value.problems[0].step == "s1"
    assert parent.children.count() == 0


def test_a_finished_run_cannot_be_stopped(admin: User, mini: Profile, drive: Drive) -> None:
    run = drive(submit(admin, mini))

    with pytest.raises(Conflict, match="already ended"):
        stop_run(run=run, by=admin, now=timezone.now())


def test_a_queued_run_that_is_stopped_is_never_driven(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    run = submit(admin, mini)
    stop_run(run=run, by=admin, now=timezone.now())

    drive(run)

    assert run.status == Run.Status.CANCELLED
    assert simulator.log() == []


def test_of_two_drivers_one_gets_the_run(admin: User, mini: Profile) -> None:
    run = submit(admin, mini)

    first = claim.claim(run.pk, driver="one", now=timezone.now())
    second = claim.claim(run.pk, driver="two", now=timezone.now())

    assert first is not None
    assert second is None


def test_a_run_whose_driver_died_is_taken_over_and_its_finished_steps_are_not_called_again(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    run = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))
    # As a driver leaves it that died while step 3 was open.
    run.steps.filter(key="s3").update(status=Step.Status.RUNNING, result="")
    run.attempts.filter(step__key="s3").update(status=Attempt.Status.RUNNING, finished_at=None)
    dead = timezone.now() - timedelta(seconds=60)
    Run.objects.filter(pk=run.pk).update(status=Run.Status.RUNNING, finished_at=None, driver="dead", heart_at=dead)
    simulator.forget()
    assert [found.pk for found in claim.waiting(now=timezone.now())] == [run.pk]

    drive(run)

    assert run.status == Run.Status.SUCCEEDED
    assert len(simulator.log()) == 1
    attempts = list(run.attempts.filter(step__key="s3").order_by("number"))
    assert [attempt.status for attempt in attempts] == [Attempt.Status.LOST, Attempt.Status.SUCCEEDED]
    assert "run.takenover" in verbs(run)


def test_a_worker_that_was_deleted_fails_nothing_that_was_frozen(admin: User, mini: Profile, drive: Drive) -> None:
    run = submit(admin, mini, workflow=TWO_AND_A_CHECK)
    Worker.objects.all().delete()

    drive(run)

    assert run.status == Run.Status.SUCCEEDED


def test_control_characters_and_markup_go_through_unharmed(admin: User, mini: Profile, drive: Drive) -> None:
    odd = "Say <script>alert(1)</script> \x01\x1b[31m & </task> 'quoted' \u202e"

    run = drive(submit(admin, mini, task=odd))

    assert run.status == Run.Status.SUCCEEDED
    assert run.task == odd
    assert odd in run.attempts.get().sent[0]["content"]


def test_a_reply_that_arrives_after_the_stop_is_kept_as_late_billed_and_not_used(
    admin: User, mini: Profile, process: Process, knobs: Callable[..., None]
) -> None:
    knobs("sim-atlas", "rate=200,tokens=100")
    run = submit(admin, mini, workflow=workflow(("s1", "Describe it.", "sim-atlas", [])))
    driving = Thread(target=driver.drive, args=(run.pk, process))  # its process has no pulse: nobody cuts the call
    driving.start()
    while not run.attempts.filter(status=Attempt.Status.RUNNING).exists():
        time.sleep(0.01)

    stop_run(run=run, by=admin, now=timezone.now())
    driving.join(timeout=20)

    run.refresh_from_db()
    attempt = run.attempts.get()
    assert run.status == Run.Status.CANCELLED
    assert run.answer == ""
    assert attempt.status == Attempt.Status.LATE
    assert attempt.text
    assert run.cost_usd == attempt.cost_usd
    assert run.steps.get().status == Step.Status.CANCELLED
    assert verbs(run)[-1] == "attempt.late"


def test_a_late_reply_to_a_call_that_was_given_up_on_is_billed_as_what_it_really_was(
    admin: User, mini: Profile
) -> None:
    driving = Driving(submit(admin, mini, workflow=TWO_AND_A_CHECK))
    attempt = driving.start("s1")
    Run.objects.filter(pk=driving.run.pk).update(heart_at=None)  # its driver is not heard any more
    stop_run(run=driving.told(), by=admin, now=timezone.now())
    given_up = driving.told()

    driving.late("s1", attempt, "It came after all.")

    run, attempt = driving.told(), Attempt.objects.get(pk=attempt.pk)
    assert verbs(run)[-2:] == ["attempt.lost", "attempt.late"]
    assert given_up.cost_unknown
    assert attempt.status == Attempt.Status.LATE
    assert attempt.text == "It came after all."
    assert (run.input_tokens, run.output_tokens) == (attempt.input_tokens, attempt.output_tokens)
    assert run.cost_usd == attempt.cost_usd
    assert run.status == Run.Status.CANCELLED


def test_what_a_cut_call_consumed_is_estimated_and_counted(
    admin: User, mini: Profile, process: Process, knobs: Callable[..., None]
) -> None:
    knobs("sim-atlas", "rate=50,tokens=400")
    run = submit(admin, mini, workflow=workflow(("s1", "Describe it.", "sim-atlas", [])))
    driving = Thread(target=driver.drive, args=(run.pk, process))
    driving.start()
    while not process.held or not run.attempts.exists():
        time.sleep(0.01)
    time.sleep(0.5)
    stop_run(run=run, by=admin, now=timezone.now())

    process.held[run.pk][1]("stopped")  # as the pulse does
    driving.join(timeout=20)

    run.refresh_from_db()
    attempt = run.attempts.get()
    assert attempt.status == Attempt.Status.CUT
    assert attempt.text
    assert attempt.estimated
    assert attempt.output_tokens > 0
    assert attempt.cost_usd is not None
    assert run.cost_usd == attempt.cost_usd > 0
    until = time.monotonic() + 3
    while process.typist._texts and time.monotonic() < until:
        time.sleep(0.01)
    assert process.typist._texts == {}, "nothing of a stopped run is kept"


def test_a_step_that_had_failed_for_good_is_not_called_again_by_the_next_driver(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator, knobs: Callable[..., None]
) -> None:
    knobs("sim-birch", "fail=400")
    run = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))
    Run.objects.filter(pk=run.pk).update(status=Run.Status.RUNNING, finished_at=None, driver="dead", heart_at=None)
    simulator.forget()

    drive(run)

    assert run.status == Run.Status.FAILED
    assert simulator.log() == []
    assert verbs(run).count("step.skipped") == 1


def test_a_write_whose_answer_was_lost_is_asked_again_and_changes_nothing(
    admin: User, mini: Profile, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every transaction is committed, and its answer lost once: as when the database dies between the two."""
    honest, lost = Desk.write, set()

    def forgetful(self: Desk, jobs: Any) -> Any:
        results = honest(self, jobs)
        told = repr(jobs)
        if told not in lost:
            lost.add(told)
            raise OperationalError("the answer was lost")
        return results

    monkeypatch.setattr(Desk, "write", forgetful)
    run = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert run.attempts.count() == 3
    told = verbs(run)
    assert [told.count(verb) for verb in ("step.started", "step.succeeded", "run.succeeded")] == [3, 3, 1]
    assert run.output_tokens == sum(attempt.output_tokens for attempt in run.attempts.all())


def test_a_database_that_stays_away_leaves_the_run_for_another_driver(
    admin: User, mini: Profile, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "DATABASE_PATIENCE_S", 0.5)
    with monkeypatch.context() as away:
        away.setattr(Desk, "write", lambda self, jobs: (_ for _ in ()).throw(OperationalError("away")))
        run = drive(submit(admin, mini, workflow=TWO_AND_A_CHECK))
        abandoned = run.status
    Run.objects.filter(pk=run.pk).update(heart_at=None)

    drive(run)

    assert abandoned == Run.Status.RUNNING
    assert run.status == Run.Status.SUCCEEDED


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ("One line.", "One line."),
        ("Region,Q1,Q2\nNorth,1,2\n\nWhich region grew most?", "Which region grew most?"),
        ("Passage: It ran.\nQuestion: how many?", "Passage: It ran."),
        ("Words\nmore words", "Words"),
    ],
)
def test_a_run_is_titled_by_what_is_asked(task: str, title: str) -> None:
    assert title_of(task) == title
