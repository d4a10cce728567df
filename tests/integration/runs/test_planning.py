"""Planning by the simulated conductor over HTTP: good plans, bad plans, and what is kept of both."""

import time
from collections.abc import Callable
from threading import Thread

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.runs import driver
from apps.runs.models import Proposal, Run
from apps.runs.process import Process
from apps.runs.services import approve_run, stop_run, submit_run
from apps.workers.models import Conductor, Profile
from apps.workflows import graph
from tests.simulators import Simulator

Drive = Callable[[Run], Run]

TABLE = """Region,Q1,Q2,Q3,Q4
North,120,135,128,160
South,98,110,143,150
East,210,190,205,198
West,75,92,88,101

Which region grew most from Q1 to Q4 in per cent, and by how much? One decimal place."""


def conductor_that(says: str) -> None:
    Conductor.objects.update(model=f"sim-conductor:ttft=0,rate=0,{says}")


def submit(admin: User, ultra: Profile, **options: object) -> Run:
    return submit_run(task=TABLE, profile=ultra, by=admin, now=timezone.now(), **options)  # type: ignore[arg-type]  # passed on


def test_a_conductor_plans_and_the_workflow_reaches_the_right_answer(admin: User, ultra: Profile, drive: Drive) -> None:
    conductor_that("seed=1")
    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert "South" in run.answer
    assert "53.1" in run.answer
    assert run.workflow is not None
    assert graph.errors(graph.check(run.workflow, workers=run.pool, max_steps=5)) == []
    proposal = run.proposals.get()
    assert proposal.status == Proposal.Status.VALID
    assert "subtasks" in proposal.raw


def test_another_seed_gives_another_workflow(admin: User, ultra: Profile, drive: Drive) -> None:
    bodies = [drive(submit(admin, ultra, seed=seed)).workflow_body for seed in range(4)]

    assert len({str(body) for body in bodies}) > 1


@pytest.mark.parametrize("says", ["nonsense", "empty", "forward", "unknown", "forty", "million"])
def test_a_conductor_that_never_makes_sense_fails_the_run_clearly_and_everything_it_said_is_kept(
    admin: User, ultra: Profile, drive: Drive, simulator: Simulator, says: str
) -> None:
    conductor_that(f"say={says}")

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.FAILED
    assert run.error
    assert "another profile" in run.error
    assert run.proposals.count() == 3
    assert says == "empty" or all(proposal.raw for proposal in run.proposals.all())
    assert not run.proposals.filter(status=Proposal.Status.VALID).exists()
    asked = {row["base"] if "base" in row else row["model"].split(":")[0] for row in simulator.log()}
    assert asked == {"sim-conductor"}


def test_a_conductor_is_told_what_was_wrong_and_its_next_plan_is_taken(
    admin: User, ultra: Profile, drive: Drive
) -> None:
    conductor_that("say=forwardx1")

    run = drive(submit(admin, ultra))

    states = list(run.proposals.values_list("status", flat=True))
    assert run.status == Run.Status.SUCCEEDED, run.error
    assert states == [Proposal.Status.INVALID, Proposal.Status.VALID]
    first, second = run.proposals.all()
    assert first.problems
    assert len(str(second.sent)) > len(str(first.sent))


def test_a_conductor_whose_server_fails_is_asked_again(admin: User, ultra: Profile, drive: Drive) -> None:
    conductor_that("fail=500x1")

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.SUCCEEDED
    assert [p.status for p in run.proposals.all()] == [Proposal.Status.FAILED, Proposal.Status.VALID]


def test_a_conductor_that_is_not_there_fails_the_run_with_its_name(admin: User, ultra: Profile, drive: Drive) -> None:
    Conductor.objects.update(base_url="http://127.0.0.1:9/v1", name="Gone")

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.FAILED
    assert "Gone could not be asked" in run.error


def test_a_run_to_be_reviewed_is_held_without_a_driver_and_goes_on_once_approved(
    admin: User, ultra: Profile, drive: Drive, rung: list[int]
) -> None:
    conductor_that("seed=1")
    run = drive(submit(admin, ultra, review=True))
    held = (run.status, run.driver, run.steps.count() > 0, run.attempts.count())

    approve_run(run=run, by=admin, now=timezone.now())
    drive(run)

    assert held == (Run.Status.HELD, "", True, 0)
    assert run.status == Run.Status.SUCCEEDED
    assert [p.status for p in run.proposals.all()] == [Proposal.Status.VALID]
    assert "run.approved" in [event.verb for event in audit.read(run.trail)]


def test_a_plan_that_was_cut_keeps_what_was_written(admin: User, ultra: Profile, process: Process) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=20")
    run = submit(admin, ultra)
    driving = Thread(target=driver.drive, args=(run.pk, process))
    driving.start()
    while not run.proposals.exists():
        time.sleep(0.01)
    time.sleep(0.7)
    stop_run(run=run, by=admin, now=timezone.now())

    process.held[run.pk][1]("stopped")  # as the pulse does
    driving.join(timeout=20)

    proposal = run.proposals.get()
    run.refresh_from_db()
    assert proposal.status == Proposal.Status.CUT
    assert proposal.raw
    assert run.cost_usd == 0
    assert not run.cost_unknown, "the conductor is free, so nothing is unknown"


def test_a_failed_call_of_a_free_conductor_leaves_no_price_unknown(admin: User, ultra: Profile, drive: Drive) -> None:
    conductor_that("fail=cutx1")

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert not run.cost_unknown
