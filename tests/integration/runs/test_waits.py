"""What comes in between while a step waits: a pause, and money that calls under way may give back."""

import time
from collections.abc import Callable
from decimal import Decimal
from threading import Thread
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.runs import calling, claim, driver
from apps.runs.holding import pause_run
from apps.runs.models import Attempt, Run, Step
from apps.runs.process import Process
from apps.runs.services import go_on, submit_run
from apps.spend.models import Line
from apps.workers.models import Profile, Worker
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
