"""Driver processes that live, stop and die: what is called, what is kept, and who takes over."""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from kombu import Connection

from apps.accounts.models import User
from apps.audit import log as audit
from apps.audit.verification import verify
from apps.runs import tasks
from apps.runs.models import Attempt, Run, Step
from apps.runs.services import fork_run, stop_run, submit_run
from apps.workers.models import Profile
from tests.functional.runs.conftest import StartDriver, wait_until
from tests.pools import workflow
from tests.simulators import Simulator

SLOW = "rate=60,tokens=240"  # four seconds a reply
SLOWER = "rate=16,tokens=240"  # fifteen: longer than a driver takes to start on a busy machine

FIRST_THEN_SLOW = workflow(
    ("s1", "Begin.", "sim-delta", []),
    ("s2", "Write slowly.", "sim-cedar", ["s1"]),
    ("s3", "Conclude.", "sim-delta", ["s2"]),
)


def submit(admin: User, mini: Profile, **options: Any) -> Run:
    options.setdefault("workflow", FIRST_THEN_SLOW)
    return submit_run(task="Describe a warehouse.", profile=mini, by=admin, now=timezone.now(), **options)


def status(run: Run) -> str:
    run.refresh_from_db()
    return run.status


def is_writing(run: Run, key: str, simulator: Simulator) -> Callable[[], bool]:
    def holds() -> bool:
        return run.attempts.filter(step__key=key, status=Attempt.Status.RUNNING).exists()

    return holds


def finished_calls(simulator: Simulator) -> list[str]:
    return [str(row["messages"]) for row in simulator.log() if row["outcome"] == "done"]


def test_stopping_cuts_the_open_call_within_two_seconds_and_says_which(
    admin: User, mini: Profile, start_driver: StartDriver, simulator: Simulator, knobs: Callable[..., None]
) -> None:
    knobs("sim-cedar", SLOW)
    start_driver()
    run = submit(admin, mini)
    wait_until(is_writing(run, "s2", simulator), within_s=15, what="step 2 is being written")
    time.sleep(0.7)

    stop_run(run=run, by=admin, now=timezone.now())

    took = wait_until(
        lambda: any(row["outcome"] == "cut by client" for row in simulator.log()), within_s=5, what="the call is cut"
    )
    assert took < 2
    wait_until(lambda: run.attempts.filter(status=Attempt.Status.CUT).exists(), within_s=3, what="it is written down")
    cut = run.attempts.get(step__key="s2")
    assert cut.text, "what had been written is kept"
    stopped = next(event for event in audit.read(run.trail) if event.verb == "run.stopped")
    assert stopped.data["cutting"] == ["s2"]
    time.sleep(1)
    assert status(run) == Run.Status.CANCELLED
    assert run.steps.get(key="s3").status == Step.Status.CANCELLED
    assert verify(run.trail).first_break is None


def test_a_driver_killed_in_the_middle_of_a_step_is_replaced_within_twenty_seconds(
    admin: User, mini: Profile, start_driver: StartDriver, simulator: Simulator, knobs: Callable[..., None]
) -> None:
    knobs("sim-cedar", SLOWER)
    first = start_driver()
    run = submit(admin, mini)
    wait_until(is_writing(run, "s2", simulator), within_s=15, what="step 2 is being written")
    start_driver()

    first.send_signal(signal.SIGKILL)

    claimed = run.claim
    wait_until(lambda: status(run) == Run.Status.RUNNING and run.claim > 1, within_s=20, what="another driver has it")
    wait_until(lambda: status(run) == Run.Status.SUCCEEDED, within_s=40, what="the run is finished")
    assert claimed <= 1
    calls = finished_calls(simulator)
    assert len(calls) == len(set(calls)) == 3
    lost, won = run.attempts.filter(step__key="s2").order_by("number")
    assert (lost.status, won.status) == (Attempt.Status.LOST, Attempt.Status.SUCCEEDED)
    assert verify(run.trail).first_break is None


def test_a_driver_asked_to_end_lets_go_of_its_runs_at_once(
    admin: User, mini: Profile, start_driver: StartDriver, simulator: Simulator, knobs: Callable[..., None]
) -> None:
    knobs("sim-cedar", SLOWER)
    first = start_driver()
    run = submit(admin, mini)
    wait_until(is_writing(run, "s2", simulator), within_s=15, what="step 2 is being written")
    start_driver()

    first.send_signal(signal.SIGTERM)

    wait_until(lambda: status(run) == Run.Status.RUNNING and run.claim > 1, within_s=8, what="another driver has it")
    wait_until(lambda: status(run) == Run.Status.SUCCEEDED, within_s=40, what="the run is finished")
    assert "run.released" in [event.verb for event in audit.read(run.trail)]


def test_a_lost_message_costs_seconds(
    admin: User, mini: Profile, start_driver: StartDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_driver()
    monkeypatch.setattr(tasks, "ring_driver", lambda run_id: None)

    run = submit(admin, mini)

    wait_until(lambda: status(run) == Run.Status.SUCCEEDED, within_s=15, what="the sweeper found it")


def test_submitting_succeeds_with_the_broker_down(
    admin: User, mini: Profile, start_driver: StartDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        nowhere = Connection("redis://127.0.0.1:9/0", transport_options=tasks.IMPATIENT)
        patch.setattr(tasks, "_publisher", lambda: nowhere)
        run = submit(admin, mini)

    start_driver()

    wait_until(lambda: status(run) == Run.Status.SUCCEEDED, within_s=20, what="the sweeper found it")


def test_a_doubled_message_does_nothing(
    admin: User, mini: Profile, start_driver: StartDriver, simulator: Simulator
) -> None:
    start_driver()
    run = submit(admin, mini)
    for _ in range(5):
        tasks.drive_run.delay(run.pk)

    wait_until(lambda: status(run) == Run.Status.SUCCEEDED, within_s=15, what="the run is finished")
    time.sleep(0.5)
    assert len(simulator.log()) == 3
    assert run.attempts.count() == 3


def test_a_run_still_running_can_be_forked_and_is_not_changed_by_it(
    admin: User, mini: Profile, start_driver: StartDriver, simulator: Simulator, knobs: Callable[..., None]
) -> None:
    knobs("sim-cedar", SLOW)
    start_driver()
    parent = submit(admin, mini)
    wait_until(is_writing(parent, "s2", simulator), within_s=15, what="step 2 is being written")
    edited = workflow(("s1", "Begin.", "sim-delta", []), ("s2", "Write briefly.", "sim-delta", ["s1"]))

    child = fork_run(parent=parent, workflow=edited, by=admin, now=timezone.now())

    wait_until(lambda: status(child) == Run.Status.SUCCEEDED, within_s=15, what="the fork is finished")
    assert status(parent) == Run.Status.RUNNING
    assert child.steps.get(key="s1").status == Step.Status.REUSED
    wait_until(lambda: status(parent) == Run.Status.SUCCEEDED, within_s=15, what="the parent is finished")
    assert parent.workflow == FIRST_THEN_SLOW


@pytest.mark.parametrize("fault", ["cut", "malformed", "429", "refused"])
def test_a_worker_that_fails_twice_is_tried_a_third_time(
    admin: User, mini: Profile, start_driver: StartDriver, knobs: Callable[..., None], fault: str
) -> None:
    knobs("sim-cedar", f"fail={fault}x2,retry_after=0.1")
    start_driver()

    run = submit(admin, mini)

    wait_until(lambda: status(run) == Run.Status.SUCCEEDED, within_s=25, what="the run is finished")
    attempts = list(run.attempts.filter(step__key="s2").order_by("number"))
    assert [attempt.status for attempt in attempts] == [
        Attempt.Status.FAILED,
        Attempt.Status.FAILED,
        Attempt.Status.SUCCEEDED,
    ]
    assert all(attempt.error for attempt in attempts[:2])


def test_a_worker_that_hangs_is_given_up_on(
    admin: User, mini: Profile, start_driver: StartDriver, knobs: Callable[..., None]
) -> None:
    knobs("sim-cedar", "fail=hang", first_token_timeout_s=0.5)
    start_driver()

    run = submit(admin, mini)

    wait_until(lambda: status(run) == Run.Status.FAILED, within_s=25, what="the run has failed")
    assert run.error_step == "s2"
    assert run.attempts.filter(step__key="s2", error_kind="timeout").count() == 3
    assert run.steps.get(key="s3").status == Step.Status.SKIPPED
