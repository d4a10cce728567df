"""Workers' doors: who waits, who is tried again, who stands in, as a run meets it."""

import time
from collections.abc import Callable
from itertools import pairwise
from threading import Thread
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.runs import driver
from apps.runs.models import Attempt, Run, Step
from apps.runs.process import Process
from apps.runs.services import fork_run, preview_fork, submit_run
from apps.workers.models import Fallback, Profile, Worker
from apps.workers.services import limits_now
from tests.pools import workflow
from tests.simulators import Simulator

Drive = Callable[[Run], Run]

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."
ONE = workflow(("s1", "Compute it.", "sim-birch", []))


def submit(admin: User, profile: Profile, **options: Any) -> Run:
    return submit_run(task=SUM, profile=profile, by=admin, now=timezone.now(), **options)


def events(run: Run, verb: str) -> list[dict[str, Any]]:
    return [dict(event.data) for event in audit.read(run.trail) if event.verb == verb]


def asked(run: Run) -> list[str]:
    return list(run.attempts.order_by("step__position", "number").values_list("worker", flat=True))


@pytest.fixture
def cedar_for_birch(pool: str) -> None:
    birch, cedar = (Worker.objects.get(slug=slug) for slug in ("sim-birch", "sim-cedar"))
    Fallback.objects.create(worker=birch, instead=cedar)


def test_who_stands_in_is_asked_when_the_tries_are_spent_and_the_step_says_so(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], cedar_for_birch: None
) -> None:
    knobs("sim-birch", "fail=500")

    run = drive(submit(admin, mini, workflow=ONE))

    assert run.status == Run.Status.SUCCEEDED
    assert asked(run) == ["sim-birch"] * 3 + ["sim-cedar"]
    told = events(run, "step.fellback")
    assert [(each["step"], each["from"], each["to"], each["kind"]) for each in told] == [
        ("s1", "sim-birch", "sim-cedar", "server")
    ]
    assert events(run, "step.failed") == []


def test_a_failure_that_no_try_mends_goes_to_who_stands_in_at_once(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], cedar_for_birch: None
) -> None:
    knobs("sim-birch", "fail=401")

    assert asked(drive(submit(admin, mini, workflow=ONE))) == ["sim-birch", "sim-cedar"]


def test_when_all_fail_the_step_fails_with_the_last_ones_words(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], cedar_for_birch: None
) -> None:
    knobs("sim-birch", "fail=401")
    knobs("sim-cedar", "fail=404")

    run = drive(submit(admin, mini, workflow=ONE))

    assert run.status == Run.Status.FAILED
    assert run.steps.get().status == Step.Status.FAILED
    assert asked(run) == ["sim-birch", "sim-cedar"]
    assert len(events(run, "step.failed")) == 1


def test_a_fork_takes_what_the_one_who_stood_in_answered(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], cedar_for_birch: None, simulator: Simulator
) -> None:
    knobs("sim-birch", "fail=401")
    first = drive(submit(admin, mini, workflow=ONE))
    more = workflow(("s1", "Compute it.", "sim-birch", []), ("s2", "Repeat the number.", "sim-delta", ["s1"]))

    seen = preview_fork(parent=first, workflow=more)
    before = len(simulator.log())
    fork = drive(fork_run(parent=first, workflow=more, by=admin, now=timezone.now()))

    assert [each.verdict for each in seen] == ["reuse", "run"]
    assert fork.steps.get(key="s1").status == Step.Status.REUSED
    assert [row["model"].split(":")[0] for row in simulator.log()[before:]] == ["sim-delta"]


def test_a_burst_of_429_never_ends_a_run_that_could_wait(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None]
) -> None:
    knobs("sim-birch", "fail=429x5,retry_after=0.1")

    run = drive(submit(admin, mini, workflow=ONE))

    assert run.status == Run.Status.SUCCEEDED
    assert [each.status for each in run.attempts.order_by("number")] == [Attempt.Status.FAILED] * 5 + [
        Attempt.Status.SUCCEEDED
    ]


def test_a_worker_that_keeps_failing_is_left_alone_for_a_while(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], cedar_for_birch: None, simulator: Simulator
) -> None:
    knobs("sim-birch", "fail=500")
    for _ in range(2):
        drive(submit(admin, mini, workflow=ONE))
    before = len(simulator.log())

    run = drive(submit(admin, mini, workflow=ONE))

    assert run.status == Run.Status.SUCCEEDED
    assert asked(run) == ["sim-cedar"]
    assert [row["model"].split(":")[0] for row in simulator.log()[before:]] == ["sim-cedar"]
    [told] = [event for event in audit.read(run.trail) if event.verb == "step.fellback"]
    assert told.data["kind"] == "circuit"
    why = told.texts["reason"]
    assert why is not None
    assert "keeps failing (server) and is tried again at" in why, "what another run was told is not said in this one"


def test_only_so_many_are_called_at_once_and_the_others_say_that_they_wait(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    Worker.objects.filter(slug="sim-birch").update(model="sim-birch:ttft=400,rate=0", concurrency=1)
    four = workflow(*((f"s{n}", f"Compute it, way {n}.", "sim-birch", []) for n in range(4)))

    run = drive(submit(admin, mini, workflow=four))

    assert run.status == Run.Status.SUCCEEDED
    rows = sorted(simulator.log(), key=lambda row: float(row["started"]))
    assert all(first["finished"] <= second["started"] for first, second in pairwise(rows))
    told = events(run, "step.waiting")
    assert {each["why"] for each in told} == {"place"}
    assert max(each["ahead"] for each in told) >= 1
    assert any("waiting for a place at Birch" in each["words"] for each in told)
    assert not run.steps.exclude(note="").exists(), "nobody waits any more"


def test_a_limit_that_is_raised_holds_for_those_who_wait(
    admin: User, mini: Profile, process: Process, simulator: Simulator
) -> None:
    Worker.objects.filter(slug="sim-birch").update(model="sim-birch:ttft=700,rate=0", concurrency=1)
    four = workflow(*((f"s{n}", f"Compute it, way {n}.", "sim-birch", []) for n in range(4)))
    run = submit(admin, mini, workflow=four)
    process.learn_limits(limits_now())
    driving = Thread(target=driver.drive, args=(run.pk, process))
    driving.start()
    while not events(run, "step.waiting"):
        time.sleep(0.05)

    Worker.objects.filter(slug="sim-birch").update(concurrency=4)
    process.learn_limits(limits_now())
    driving.join(timeout=20)

    assert Run.objects.get(pk=run.pk).status == Run.Status.SUCCEEDED
    rows = sorted(simulator.log(), key=lambda row: float(row["started"]))
    assert rows[-1]["started"] < rows[1]["finished"], "the last three were called at once"
