"""A step given to the conductor itself: planned and carried out as a run within the run."""

import time
from collections.abc import Callable
from threading import Thread

from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.runs import claim, driver
from apps.runs import process as processes
from apps.runs.models import Attempt, Run, Step
from apps.runs.process import Process
from apps.runs.services import stop_run, submit_run
from apps.workers.models import Conductor, Profile, Worker
from tests.integration.runs.test_driving import Drive
from tests.pools import workflow
from tests.simulators import Simulator

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."

OUTER = workflow(
    ("s1", "Say what is to be computed, in one sentence.", "sim-delta", []),
    ("s2", SUM, "sim-conductor", ["s1"]),
    ("s3", "Repeat the number that was found, and nothing else.", "sim-atlas", ["s2"]),
)


def submit(admin: User, profile: Profile) -> Run:
    return submit_run(task=SUM, profile=profile, by=admin, now=timezone.now(), workflow=OUTER)


def verbs(run: Run) -> list[str]:
    return [event.verb for event in audit.read(run.trail)]


def test_a_step_given_to_the_conductor_becomes_a_run_whose_answer_is_its_result(
    admin: User, nesting: Profile, drive: Drive, simulator: Simulator
) -> None:
    run = drive(submit(admin, nesting))

    assert run.status == Run.Status.SUCCEEDED, run.error
    nested = Run.objects.get(nested_in__run=run)
    step = run.steps.get(key="s2")
    assert nested.status == Run.Status.SUCCEEDED
    assert step.result == nested.answer
    assert "4656" in nested.answer
    assert nested.task.startswith(SUM)
    assert run.steps.get(key="s1").result in nested.task, "what the step may read is its context"
    assert nested.setup["nesting"] == 0
    assert "sim-conductor" not in nested.pool, "no deeper than the profile allows"
    assert verbs(nested)[:2] == ["run.submitted", "run.claimed"]
    started = next(e for e in audit.read(run.trail) if e.verb == "step.started" and e.data["step"] == "s2")
    assert started.data["nested"] == nested.code


def test_what_a_nested_run_cost_is_part_of_what_the_outer_one_cost(admin: User, nesting: Profile, drive: Drive) -> None:
    run = drive(submit(admin, nesting))

    nested = Run.objects.get(nested_in__run=run)
    attempts = {attempt.step.key: attempt for attempt in run.attempts.select_related("step")}
    assert attempts["s2"].cost_usd == nested.cost_usd
    assert run.cost_usd == sum(attempt.cost_usd for attempt in attempts.values() if attempt.cost_usd)
    assert run.output_tokens == sum(attempt.output_tokens for attempt in attempts.values())


def test_a_nested_run_that_fails_fails_its_step(admin: User, nesting: Profile, drive: Drive) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,say=nonsense")

    run = drive(submit(admin, nesting))

    assert run.status == Run.Status.FAILED
    assert run.steps.get(key="s2").status == Step.Status.FAILED
    assert run.steps.get(key="s3").status == Step.Status.SKIPPED
    assert "nested" in run.error


def test_no_driver_is_asked_for_a_nested_run_alone(admin: User, nesting: Profile, drive: Drive) -> None:
    drive(submit(admin, nesting))
    Run.objects.exclude(nested_in=None).update(status=Run.Status.RUNNING, finished_at=None, heart_at=None)

    assert not claim.waiting(now=timezone.now()).exists()
    assert claim.claim(Run.objects.exclude(nested_in=None).get().pk, driver="other", now=timezone.now()) is None


def slow_workers(knobs: str) -> None:
    Worker.objects.exclude(slug="sim-delta").update(model=f"sim-birch:ttft=0,{knobs}")


def when(condition: Callable[[], bool], seconds: float = 15) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.02)


def is_nested_step_running(run: Run) -> bool:
    return Attempt.objects.filter(run__nested_in__run=run, status=Attempt.Status.RUNNING).exists()


def test_a_stop_reaches_the_nested_run(admin: User, nesting: Profile, process: Process) -> None:
    slow_workers("rate=8,tokens=400")
    run = submit(admin, nesting)
    pulse = Thread(target=process.pulse_for_ever, daemon=True)
    pulse.start()
    driving = Thread(target=driver.drive, args=(run.pk, process))
    driving.start()
    when(lambda: is_nested_step_running(run))

    stop_run(run=run, by=admin, now=timezone.now())
    driving.join(timeout=5)

    assert not driving.is_alive(), "the driver stopped calling"
    nested = Run.objects.get(nested_in__run=run)
    assert nested.status == Run.Status.CANCELLED
    assert not Attempt.objects.filter(run__in=[run, nested], status=Attempt.Status.RUNNING).exists()
    assert "attempt.cut" in verbs(nested)
    assert "attempt.cut" in verbs(run)
    process.ending.set()
    pulse.join(timeout=5)


def test_another_driver_carries_the_nested_run_on_and_calls_no_finished_step_again(
    admin: User, nesting: Profile, process: Process, simulator: Simulator
) -> None:
    slow_workers("rate=30,tokens=60")
    run = submit(admin, nesting)
    first = Thread(target=driver.drive, args=(run.pk, process))
    first.start()
    when(lambda: is_nested_step_running(run))
    process.end()  # asked to end: it lets go of both
    first.join(timeout=10)
    assert not first.is_alive()
    code = Run.objects.get(nested_in__run=run).code

    other = processes.start()
    driver.drive(run.pk, other)
    other.close()

    run.refresh_from_db()
    assert run.status == Run.Status.SUCCEEDED, run.error
    nested = Run.objects.get(nested_in__run=run)
    assert nested.code == code, "the same run, carried on"
    assert "run.takenover" in verbs(nested)
    assert run.attempts.filter(step__key="s1").count() == 1
    planned = [row for row in simulator.log() if row["model"].startswith("sim-conductor") and row["outcome"] == "done"]
    assert len(planned) == 1, "what was planned is not planned again"
