"""Looking before a run goes on: pauses, breakpoints, results written by hand, plans revised and rejected."""

import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.audit.verification import verify
from apps.core.errors import Conflict, Invalid
from apps.runs import claim, driver
from apps.runs.holding import pause_run, reject_run, revise_run, set_breakpoints, write_result
from apps.runs.models import Attempt, Run, Step
from apps.runs.process import Process
from apps.runs.services import approve_run, go_on, stop_run, submit_run
from apps.workers.models import Conductor, Profile, Worker
from tests.pools import workflow
from tests.simulators import Simulator

Drive = Callable[[Run], Run]

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."
THREE = workflow(
    ("s1", "Compute it.", "sim-delta", []),
    ("s2", "Check it.", "sim-birch", ["s1"]),
    ("s3", "Answer with the number.", "sim-atlas", ["s2"]),
)


def submit(admin: User, profile: Profile, **options: Any) -> Run:
    return submit_run(task=SUM, profile=profile, by=admin, now=timezone.now(), **options)


def told(run: Run) -> list[str]:
    return [event.verb for event in audit.read(run.trail)]


def asked(simulator: Simulator) -> list[str]:
    return [row["model"].split(":")[0] for row in simulator.log()]


def states(run: Run) -> list[str]:
    return list(run.steps.values_list("status", flat=True))


def test_a_run_pauses_before_a_breakpoint_and_goes_past_it_once(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    run = submit(admin, mini, workflow=THREE)
    set_breakpoints(run=run, keys=["s2"], by=admin, now=timezone.now())

    held = drive(run)
    assert (held.status, held.hold, held.driver) == (Run.Status.HELD, Run.Hold.PAUSE, "")
    assert (held.held_by["steps"], held.held_by["breakpoint"]) == (["s2"], "s2")
    assert states(held) == ["succeeded", "waiting", "waiting"]

    go_on(run=held, by=admin, now=timezone.now())
    done = drive(held)
    assert done.status == Run.Status.SUCCEEDED
    assert asked(simulator) == ["sim-delta", "sim-birch", "sim-atlas"]
    assert [verb for verb in told(done) if verb.startswith("run.")] == [
        "run.submitted",
        "run.breakpoints",
        "run.claimed",
        "run.held",
        "run.resumed",
        "run.claimed",
        "run.succeeded",
    ]
    assert verify(done.trail).first_break is None


def test_what_is_under_way_when_a_run_is_paused_ends_and_nothing_begins(
    admin: User, mini: Profile, process: Process, drive: Drive, simulator: Simulator
) -> None:
    Worker.objects.filter(slug="sim-delta").update(model="sim-delta:ttft=800,rate=0")
    run = submit(admin, mini, workflow=THREE)
    driving = Thread(target=driver.drive, args=(run.pk, process))
    driving.start()
    while not Attempt.objects.filter(run=run).exists():
        time.sleep(0.02)

    pause_run(run=run, by=admin, now=timezone.now())
    _, process.wishes = claim.look({run.pk: 1})
    driving.join(timeout=20)

    held = Run.objects.get(pk=run.pk)
    assert (held.status, held.hold) == (Run.Status.HELD, Run.Hold.PAUSE)
    assert states(held) == ["succeeded", "waiting", "waiting"]
    go_on(run=held, by=admin, now=timezone.now())
    assert drive(held).status == Run.Status.SUCCEEDED
    assert len(simulator.log()) == 3


def test_a_run_that_is_paused_before_it_is_planned_asks_nobody(
    admin: User, ultra: Profile, drive: Drive, simulator: Simulator
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    run = submit(admin, ultra)
    pause_run(run=run, by=admin, now=timezone.now())

    held = drive(run)
    assert (held.status, held.hold, simulator.log()) == (Run.Status.HELD, Run.Hold.PAUSE, [])
    go_on(run=held, by=admin, now=timezone.now())
    assert drive(held).status == Run.Status.SUCCEEDED


def test_a_result_written_by_hand_is_what_the_next_steps_read(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    run = submit(admin, mini, workflow=THREE)
    set_breakpoints(run=run, keys=["s2"], by=admin, now=timezone.now())
    held = drive(run)
    before = held.steps.get(key="s1").result

    step = write_result(run=held, key="s1", text="It is 4656, by hand.", by=admin, now=timezone.now(), reason="wrong")
    go_on(run=held, by=admin, now=timezone.now())
    done = drive(held)

    assert (step.status, step.result) == (Step.Status.WRITTEN, "It is 4656, by hand.")
    assert states(done) == ["written", "succeeded", "succeeded"]
    assert asked(simulator) == ["sim-delta", "sim-birch", "sim-atlas"], "nobody was asked again"
    assert "It is 4656, by hand." in str(simulator.log()[1]["messages"])
    kept = done.attempts.filter(step__key="s1").order_by("number")
    assert [each.status for each in kept] == [Attempt.Status.SUCCEEDED, Attempt.Status.WRITTEN]
    event = next(event for event in audit.read(done.trail) if event.verb == "step.written")
    assert (event.actor, event.data["was"]) == (admin.actor, "succeeded")
    assert {name: event.texts[name] for name in ("before", "reason")} == {"before": before, "reason": "wrong"}


def test_a_step_that_nobody_has_done_yet_can_be_written_too(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    run = submit(admin, mini, workflow=THREE)
    set_breakpoints(run=run, keys=["s2"], by=admin, now=timezone.now())
    held = drive(run)

    write_result(run=held, key="s2", text="It is right.", by=admin, now=timezone.now())
    go_on(run=held, by=admin, now=timezone.now())

    assert states(drive(held)) == ["succeeded", "written", "succeeded"]
    assert asked(simulator) == ["sim-delta", "sim-atlas"]


def test_what_was_read_already_is_not_written_over(admin: User, mini: Profile, drive: Drive) -> None:
    run = submit(admin, mini, workflow=THREE)
    set_breakpoints(run=run, keys=["s3"], by=admin, now=timezone.now())
    held = drive(run)

    with pytest.raises(Conflict, match="Step 2 has read this result already"):
        write_result(run=held, key="s1", text="x", by=admin, now=timezone.now())
    with pytest.raises(Invalid, match="Write the step's result"):
        write_result(run=held, key="s2", text=" \0", by=admin, now=timezone.now())
    with pytest.raises(Invalid, match="no step"):
        write_result(run=held, key="s9", text="x", by=admin, now=timezone.now())


def test_only_what_goes_on_can_be_paused_and_only_what_is_held_written(
    admin: User, mini: Profile, drive: Drive
) -> None:
    done = drive(submit(admin, mini, workflow=THREE))

    for refused in (
        lambda: pause_run(run=done, by=admin, now=timezone.now()),
        lambda: set_breakpoints(run=done, keys=["s1"], by=admin, now=timezone.now()),
        lambda: write_result(run=done, key="s3", text="x", by=admin, now=timezone.now()),
        lambda: go_on(run=done, by=admin, now=timezone.now()),
    ):
        with pytest.raises(Conflict):
            refused()
    with pytest.raises(Invalid, match="s9"):
        set_breakpoints(run=submit(admin, mini, workflow=THREE), keys=["s9"], by=admin, now=timezone.now())


@pytest.fixture
def in_review(admin: User, ultra: Profile, drive: Drive) -> Run:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    run = drive(submit(admin, ultra, review=True))
    assert (run.status, run.hold) == (Run.Status.HELD, Run.Hold.REVIEW)
    return run


def test_a_run_that_waits_for_review_occupies_no_process(
    admin: User, in_review: Run, process: Process, drive: Drive
) -> None:
    assert (in_review.driver, in_review.heart_at, process.held) == ("", None, {})
    assert not claim.waiting(now=timezone.now()).exists(), "and nobody is rung for it"
    assert drive(in_review).status == Run.Status.HELD, "nor can a driver take it"


def test_a_plan_is_revised_and_then_approved(admin: User, in_review: Run, drive: Drive, simulator: Simulator) -> None:
    before = len(simulator.log())

    revise_run(run=in_review, workflow=THREE, by=admin, now=timezone.now(), reason="shorter")
    approve_run(run=in_review, by=admin, now=timezone.now())
    run = drive(in_review)

    assert run.status == Run.Status.SUCCEEDED
    assert asked(simulator)[before:] == ["sim-delta", "sim-birch", "sim-atlas"]
    adopted = [event for event in audit.read(run.trail) if event.verb == "workflow.adopted"]
    assert [event.data["by"] for event in adopted] == ["planner", "review"]
    assert adopted[1].texts["reason"] == "shorter"


def test_a_plan_is_rejected_with_a_reason(admin: User, in_review: Run, simulator: Simulator) -> None:
    before = len(simulator.log())
    with pytest.raises(Invalid, match="Say why"):
        reject_run(run=in_review, by=admin, now=timezone.now(), reason=" ")

    reject_run(run=in_review, by=admin, now=timezone.now(), reason="too dear")

    run = Run.objects.get(pk=in_review.pk)
    assert run.status == Run.Status.CANCELLED
    assert set(states(run)) == {"cancelled"}
    assert told(run)[-1] == "run.rejected"
    assert len(simulator.log()) == before
    for refused in (approve_run, go_on):
        with pytest.raises(Conflict):
            refused(run=run, by=admin, now=timezone.now())


def test_a_paused_run_can_be_stopped(admin: User, mini: Profile, drive: Drive) -> None:
    run = submit(admin, mini, workflow=THREE)
    set_breakpoints(run=run, keys=["s1"], by=admin, now=timezone.now())
    held = drive(run)

    stop_run(run=held, by=admin, now=timezone.now())

    assert Run.objects.get(pk=run.pk).status == Run.Status.CANCELLED
