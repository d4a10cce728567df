"""Nothing stays open behind a run: no call without an end, no money set aside for nobody, in whatever way it ended."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.audit.verification import verify
from apps.runs import claim
from apps.runs.holding import revise_run
from apps.runs.models import Attempt, Run, Step
from apps.runs.services import approve_run, fork_run, go_on, stop_run, submit_run
from apps.spend.models import Account, Line
from apps.workers.gateway import Gateway
from apps.workers.models import Conductor, Profile
from tests.factories import Driving
from tests.pools import workflow

Drive = Callable[[Run], Run]

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."
NESTS = workflow(("s1", SUM, "sim-conductor", []), ("s2", "Repeat the number.", "sim-delta", ["s1"]))


def submit(admin: User, profile: Profile, **options: Any) -> Run:
    return submit_run(task=SUM, profile=profile, by=admin, now=timezone.now(), **options)


def left_open(*runs: Run) -> tuple[int, int, Decimal]:
    """Calls without an end, lines without a cost, and what is still set aside, of these runs."""
    reserved = Line.objects.filter(run__in=[run.code for run in runs], state=Line.State.RESERVED)
    aside = sum((account.reserved_usd for account in Account.objects.all()), Decimal(0))
    return Attempt.objects.filter(run__in=runs, status=Attempt.Status.RUNNING).count(), reserved.count(), aside


NOTHING = (0, 0, Decimal(0))


def spent(run: Run) -> Decimal:
    return sum((line.cost_usd for line in Line.objects.filter(run=run.code) if line.cost_usd), Decimal(0))


def test_a_run_that_is_stopped_while_one_within_it_is_held_keeps_no_call_and_all_that_was_paid(
    admin: User, nesting: Profile, drive: Drive
) -> None:
    Conductor.objects.update(free=False, input_price_usd=Decimal("0.01"), output_price_usd=Decimal("0.01"))
    held = drive(submit(admin, nesting, workflow=NESTS, limit_usd=Decimal("0.0005")))
    inner = Run.objects.get(nested_in__run=held)
    assert (held.status, inner.status, inner.proposals.count()) == (Run.Status.HELD, Run.Status.HELD, 1)

    stop_run(run=held, by=admin, now=timezone.now())

    held.refresh_from_db()
    assert left_open(held, inner) == NOTHING
    assert held.cost_usd == spent(held) > 0


def test_a_stop_closes_what_a_dead_driver_left_open_in_a_nested_run(
    admin: User, nesting: Profile, drive: Drive
) -> None:
    held = drive(submit(admin, nesting, workflow=NESTS, limit_usd=Decimal("0.0001")))
    go_on(run=held, by=admin, now=timezone.now(), limit_usd=Decimal(5))
    outer = Driving(Run.objects.get(pk=held.pk))
    inner = Driving(Run.objects.get(nested_in__run=held))
    inner.start(inner.run.steps.order_by("position")[0].key)
    assert left_open(outer.run, inner.run)[2] > 0
    Run.objects.update(heart_at=timezone.now() - timedelta(minutes=1))

    stop_run(run=outer.told(), by=admin, now=timezone.now())

    assert left_open(outer.run, inner.run) == NOTHING


def test_a_driver_that_lets_go_of_what_was_just_stopped_still_closes_it(admin: User, mini: Profile) -> None:
    driving = Driving(submit(admin, mini, workflow=workflow(("s1", "Compute it.", "sim-atlas", []))))
    driving.start("s1")
    Run.objects.filter(pk=driving.run.pk).update(heart_at=timezone.now())
    stop_run(run=driving.told(), by=admin, now=timezone.now())
    assert left_open(driving.run)[0] == 1, "its driver is to close it"

    driving.desk.let_go({})

    assert left_open(driving.run) == NOTHING


def test_a_fault_of_ours_leaves_no_call_of_the_run_open(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    knobs("sim-atlas", "rate=5,tokens=100")
    honest = Gateway.stream

    async def faulty(self: Gateway, endpoint: Any, *args: Any, **options: Any) -> Any:
        if endpoint.slug == "sim-delta":
            raise TypeError("a fault of ours")
        return await honest(self, endpoint, *args, **options)

    monkeypatch.setattr(Gateway, "stream", faulty)
    both = workflow(("s1", "Compute it.", "sim-atlas", []), ("s2", "Compute it too.", "sim-delta", []))

    run = drive(submit(admin, mini, workflow=both))

    assert run.status == Run.Status.FAILED
    assert left_open(run) == NOTHING
    assert run.cost_usd == spent(run)
    assert not run.steps.filter(status__in=[Step.Status.RUNNING, Step.Status.WAITING]).exists()


def test_a_step_whose_next_try_would_cross_a_limit_waits_with_its_run(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None]
) -> None:
    knobs("sim-atlas", "fail=cutx1")
    one = workflow(("s1", "Compute it.", "sim-atlas", []))
    first = drive(submit(admin, mini, workflow=one))
    once = Line.objects.filter(run=first.code).order_by("pk")[0].reserved_usd
    knobs("sim-atlas", "fail=cutx1,seed=2")

    held = drive(submit(admin, mini, workflow=one, limit_usd=once.quantize(Decimal("0.0001")) + Decimal("0.0001")))

    assert (held.status, held.attempts.count()) == (Run.Status.HELD, 1)
    assert held.steps.get().status == Step.Status.WAITING
    go_on(run=held, by=admin, now=timezone.now(), limit_usd=Decimal(1))
    assert drive(held).status == Run.Status.SUCCEEDED


def test_a_driver_that_is_told_to_cut_what_it_has_just_held_leaves_the_nested_run_to_be_gone_on_with(
    admin: User, nesting: Profile, drive: Drive
) -> None:
    held = drive(submit(admin, nesting, workflow=NESTS, limit_usd=Decimal("0.0001")))
    go_on(run=held, by=admin, now=timezone.now())
    driving = Driving(Run.objects.get(pk=held.pk))
    driving.write(driving.desk.hold, reason=Run.Hold.LIMIT, about={}, steps=["s1"])

    driving.desk.cut({})  # its pulse saw that the run is live no more, before the driver heard that it had written that

    assert held.attempts.get().status == Attempt.Status.RUNNING
    go_on(run=driving.told(), by=admin, now=timezone.now(), limit_usd=Decimal(5))
    run = drive(held)
    assert run.status == Run.Status.SUCCEEDED, run.error
    assert Run.objects.filter(nested_in__run=run).count() == 1


@pytest.mark.parametrize("key", ["plan", "embedding"])
def test_a_steps_key_is_never_taken_for_a_planners_call(key: str, admin: User, ultra: Profile, drive: Drive) -> None:
    Conductor.objects.update(
        model="sim-conductor:ttft=0,rate=0", free=False, input_price_usd=Decimal(1), output_price_usd=Decimal(2)
    )
    run = drive(submit(admin, ultra, review=True))
    one = workflow((key, "Compute it.", "sim-atlas", []))
    revise_run(run=run, workflow=one, by=admin, now=timezone.now())
    approve_run(run=run, by=admin, now=timezone.now())

    done = drive(run)

    assert done.status == Run.Status.SUCCEEDED
    assert Line.objects.filter(run=run.code).count() == 2
    assert spent(done) == done.cost_usd


def test_a_cut_step_that_is_called_embedding_is_booked_as_what_it_was(admin: User, mini: Profile) -> None:
    driving = Driving(submit(admin, mini, workflow=workflow(("embedding", "Compute it.", "sim-atlas", []))))
    attempt = driving.start("embedding")
    Run.objects.filter(pk=driving.run.pk).update(heart_at=timezone.now())
    stop_run(run=driving.told(), by=admin, now=timezone.now())

    driving.desk.cut({attempt.stream: "It is 46"})

    assert left_open(driving.run) == NOTHING
    assert spent(driving.run) == driving.told().cost_usd > 0


def test_a_fork_of_a_nested_run_may_cost_no_more_than_the_run_around_it(
    admin: User, nesting: Profile, drive: Drive
) -> None:
    run = drive(submit(admin, nesting, workflow=NESTS, limit_usd=Decimal(5)))
    inner = Run.objects.get(nested_in__run=run)
    assert inner.workflow is not None

    fork = fork_run(parent=inner, workflow=inner.workflow, by=admin, now=timezone.now())

    assert fork.limit_usd == Decimal(5)


def test_what_a_driver_left_open_that_died_before_it_could_cut_is_closed_later(admin: User, mini: Profile) -> None:
    driving = Driving(submit(admin, mini, workflow=workflow(("s1", "Compute it.", "sim-atlas", []))))
    driving.start("s1")
    now = timezone.now()
    Run.objects.filter(pk=driving.run.pk).update(heart_at=now)
    stop_run(run=driving.told(), by=admin, now=now)

    claim.close_abandoned(now=now + timedelta(seconds=2))
    assert left_open(driving.run)[0] == 1, "its driver may still cut it, and knows what it had written"
    claim.close_abandoned(now=now + timedelta(minutes=5))
    claim.close_abandoned(now=now + timedelta(minutes=6))

    assert left_open(driving.run) == NOTHING
    assert [event.verb for event in audit.read(driving.run.trail)].count("attempt.lost") == 1
    assert verify(driving.run.trail).first_break is None
