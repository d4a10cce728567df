"""What comes in between while a step waits: a pause, and money that calls under way may give back."""

import time
from collections.abc import Callable
from decimal import Decimal
from threading import Thread
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.core.errors import Invalid
from apps.runs import calling, claim, driver
from apps.runs.desk import Desk
from apps.runs.holding import pause_run, set_breakpoints
from apps.runs.models import Attempt, Run, Step
from apps.runs.process import Process
from apps.runs.services import go_on, submit_run
from apps.spend.models import Line
from apps.workers.models import Conductor, Profile, Worker
from tests.pools import workflow
from tests.simulators import Simulator

Drive = Callable[[Run], Run]

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."
TWO = workflow(("s1", "Compute it.", "sim-birch", []), ("s2", "Compute it, another way.", "sim-birch", []))


def submit(admin: User, profile: Profile, **options: Any) -> Run:
    return submit_run(task=SUM, profile=profile, by=admin, now=timezone.now(), **options)


def verbs(run: Run) -> list[str]:
    return [event.verb for event in audit.read(run.trail)]


def test_a_step_that_waits_at_a_door_when_its_run_is_paused_does_not_begin(
    admin: User, mini: Profile, process: Process, drive: Drive, simulator: Simulator
) -> None:
    Worker.objects.filter(slug="sim-birch").update(model="sim-birch:ttft=1200,rate=0", concurrency=1)
    run = submit(admin, mini, workflow=TWO)
    driving = Thread(target=driver.drive, args=(run.pk, process))
    driving.start()
    while not (run.attempts.exists() and "step.waiting" in verbs(run)):
        time.sleep(0.02)

    pause_run(run=run, by=admin, now=timezone.now())
    _, process.wishes = claim.look({run.pk: 1})
    driving.join(timeout=20)

    held = Run.objects.get(pk=run.pk)
    assert (held.status, held.hold) == (Run.Status.HELD, Run.Hold.PAUSE)
    assert sorted(held.steps.values_list("status", flat=True)) == [Step.Status.SUCCEEDED, Step.Status.WAITING]
    assert len(simulator.log()) == 1
    go_on(run=held, by=admin, now=timezone.now())
    assert drive(held).status == Run.Status.SUCCEEDED


def test_who_waits_for_money_uses_up_none_of_the_workers_calls_a_minute(
    admin: User, mini: Profile, process: Process, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "MONEY_PAUSE_S", 0.1)
    once = drive(submit(admin, mini, workflow=workflow(("s1", "Compute it.", "sim-birch", []))))
    could_cost = Line.objects.get(run=once.code).reserved_usd
    Worker.objects.filter(slug="sim-birch").update(model="sim-birch:ttft=1500,rate=0", requests_per_minute=4)
    limit = (could_cost * Decimal("1.6")).quantize(Decimal("0.0001"))

    run = submit(admin, mini, workflow=TWO, limit_usd=limit)
    began = time.monotonic()
    done = drive(run)

    assert done.status == Run.Status.SUCCEEDED, (done.held_by, done.error)
    assert time.monotonic() - began < 20, "nobody waited for the next minute"
    assert Attempt.objects.filter(run=done).count() == 2


def test_a_conductor_that_waits_at_its_door_when_its_run_is_paused_is_not_asked(
    admin: User, ultra: Profile, process: Process, drive: Drive, simulator: Simulator
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=1500,rate=0", concurrency=1)
    first, second = submit(admin, ultra), submit(admin, ultra)
    threads = [Thread(target=driver.drive, args=(run.pk, process)) for run in (first, second)]
    threads[0].start()
    while not first.proposals.exists():
        time.sleep(0.02)
    threads[1].start()
    while "planning.waiting" not in verbs(second):
        time.sleep(0.02)

    pause_run(run=second, by=admin, now=timezone.now())
    _, process.wishes = claim.look({second.pk: 1})
    for thread in threads:
        thread.join(timeout=20)

    held = Run.objects.get(pk=second.pk)
    assert (held.status, held.hold, held.proposals.count()) == (Run.Status.HELD, Run.Hold.PAUSE, 0)
    go_on(run=held, by=admin, now=timezone.now())
    assert drive(held).status == Run.Status.SUCCEEDED


def test_the_limit_of_a_run_that_was_paused_before_its_first_call_can_be_raised(
    admin: User, ultra: Profile, drive: Drive
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    run = submit(admin, ultra, limit_usd=Decimal("0.0001"))
    pause_run(run=run, by=admin, now=timezone.now())
    held = drive(run)

    with pytest.raises(Invalid, match="above"):
        go_on(run=held, by=admin, now=timezone.now(), limit_usd=Decimal("0.0001"))
    go_on(run=held, by=admin, now=timezone.now(), limit_usd=Decimal(1))
    done = drive(held)

    assert (done.status, done.limit_usd) == (Run.Status.SUCCEEDED, Decimal(1))


def test_a_reply_that_is_written_late_is_waited_for_before_its_run_is_held(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database fails once at the first reply, and takes what comes behind it."""
    honest = Desk.write
    failed: list[str] = []

    def failing(self: Desk, jobs: Any) -> Any:
        replies = [job for job in jobs if getattr(job, "func", job).__name__ == "succeed_step"]
        if replies and replies[0].keywords["step"].key == "s1" and not failed:
            failed.append("s1")
            time.sleep(0.6)
            raise OperationalError("a deadlock")
        return honest(self, jobs)

    monkeypatch.setattr(Desk, "write", failing)
    Worker.objects.filter(slug="sim-birch").update(model="sim-birch:ttft=300,rate=0")
    three = workflow(
        ("s1", "Compute it.", "sim-delta", []),
        ("s2", "Compute it, too.", "sim-birch", []),
        ("s3", "Answer.", "sim-atlas", ["s2"]),
    )
    run = submit(admin, mini, workflow=three)
    set_breakpoints(run=run, keys=["s3"], by=admin, now=timezone.now())

    held = drive(run)

    assert (held.status, failed) == (Run.Status.HELD, ["s1"])
    assert [attempt.status for attempt in held.attempts.order_by("pk")] == [Attempt.Status.SUCCEEDED] * 2
    assert list(held.steps.values_list("status", flat=True)) == ["succeeded", "succeeded", "waiting"]
