"""Several plans for one task, asked of a planner that answers; one of them is picked while another person picks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.verification import verify
from apps.core.errors import Conflict
from apps.runs.models import Run
from apps.runs.plans import pick_plan, plan_again, side_by_side
from apps.runs.services import submit_run
from apps.workers.models import Conductor, Profile
from tests.simulators import Simulator

Drive = Callable[[Run], Run]

TASK = (
    "Ticket prices: adult 14.50, student 9.00, child 6.50. Family A: 2 adults, 3 children. "
    "Family B: 1 adult, 2 students, 2 children. Who pays more, and how much more?"
)


@pytest.fixture
def plans(admin: User, ultra: Profile, drive: Drive) -> list[Run]:
    """Three plans for one task, all of them held for review."""
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    first = drive(submit_run(task=TASK, profile=ultra, by=admin, now=timezone.now(), review=True))
    for run in plan_again(run=first, times=2, by=admin, now=timezone.now()):
        drive(run)
    return list(side_by_side(first))


def asked(simulator: Simulator) -> list[str]:
    return [row["model"].split(":")[0] for row in simulator.log()]


def states(plans: list[Run]) -> list[str]:
    return [Run.objects.get(pk=run.pk).status for run in plans]


def test_other_seeds_bring_other_plans_and_no_worker_is_asked(plans: list[Run], simulator: Simulator) -> None:
    assert [(run.status, run.hold, run.driver) for run in plans] == [(Run.Status.HELD, Run.Hold.REVIEW, "")] * 3
    assert len({str(run.workflow_body) for run in plans}) > 1
    assert set(asked(simulator)) == {"sim-conductor"}


def test_the_one_that_is_picked_is_carried_out_and_nobody_is_asked_for_the_others(
    admin: User, plans: list[Run], drive: Drive, simulator: Simulator
) -> None:
    before = len(asked(simulator))

    done = drive(pick_plan(run=plans[1], by=admin, now=timezone.now()))

    cancelled = Run.Status.CANCELLED
    assert states(plans) == [cancelled, Run.Status.SUCCEEDED, cancelled]
    assert len(asked(simulator)) - before == done.steps.count()
    assert all(verify(run.trail).first_break is None for run in plans)


def test_of_two_people_who_pick_at_once_one_is_told_that_it_is_too_late(admin: User, plans: list[Run]) -> None:
    together = Barrier(2)

    def pick(run: Run) -> str:
        try:
            together.wait(5)
            pick_plan(run=run, by=admin, now=timezone.now())
            return "picked"
        except Conflict:
            return "too late"
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as people:
        came_to = list(people.map(pick, plans[:2]))

    assert sorted(came_to) == ["picked", "too late"]
    assert sorted(states(plans)) == [Run.Status.CANCELLED, Run.Status.CANCELLED, Run.Status.QUEUED]
