"""Money in a run: set aside before each call, booked after it, and held at a limit until that is raised."""

import time
from collections.abc import Callable
from decimal import Decimal
from threading import Thread
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.audit import log as audit
from apps.core.errors import Conflict
from apps.runs import driver
from apps.runs.freezing import PriceUnknown
from apps.runs.models import Attempt, Run, Step
from apps.runs.process import Process
from apps.runs.services import approve_run, go_on, stop_run, submit_run
from apps.spend.models import Account, Budget, Line
from apps.spend.services import NotRaised, raise_budget
from apps.workers.models import Conductor, Fallback, Profile, Worker
from tests.pools import workflow
from tests.simulators import Simulator

Drive = Callable[[Run], Run]

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."
TWO = workflow(("s1", "Compute it.", "sim-delta", []), ("s2", "Answer with the number.", "sim-atlas", ["s1"]))
ENOUGH_FOR_DELTA = Decimal("0.01")  # and for the dear one only after a raise: it could cost 0.06


def submit(admin: User, profile: Profile, **options: Any) -> Run:
    return submit_run(task=SUM, profile=profile, by=admin, now=timezone.now(), **options)


def told(run: Run) -> list[str]:
    return [event.verb for event in audit.read(run.trail)]


def billed(run: Run) -> Decimal:
    """The sum of all that was called for a run, and for those nested in it."""
    runs = [run, *Run.objects.filter(nested_in__run=run)]
    calls = [*Attempt.objects.filter(run__in=runs, nested=None)]
    calls_usd = [call.cost_usd for call in calls] + [each.cost_usd for one in runs for each in one.proposals.all()]
    return sum((cost for cost in calls_usd if cost is not None), Decimal(0))


def in_ledger(run: Run) -> Decimal:
    lines = Line.objects.filter(run=run.code)
    assert not lines.filter(state=Line.State.RESERVED).exists()
    return sum((line.cost_usd for line in lines if line.cost_usd is not None), Decimal(0))


def account_of(run: Run) -> Account:
    return Account.objects.get(key=f"run:{run.code}")


def test_every_call_has_its_line_and_the_lines_sum_to_what_the_attempts_say(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None]
) -> None:
    knobs("sim-delta", "fail=cutx1")

    run = drive(submit(admin, mini, workflow=TWO))

    assert run.status == Run.Status.SUCCEEDED
    assert Line.objects.filter(run=run.code).count() == run.attempts.count() == 3
    assert in_ledger(run) == billed(run) == run.cost_usd > 0
    account = account_of(run)
    assert (account.spent_usd, account.reserved_usd) == (run.cost_usd, Decimal(0))


def test_a_planned_run_pays_for_its_conductor_too(admin: User, ultra: Profile, drive: Drive) -> None:
    Conductor.objects.update(
        model="sim-conductor:ttft=0,rate=0", free=False, input_price_usd=Decimal(1), output_price_usd=Decimal(2)
    )

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.SUCCEEDED
    assert in_ledger(run) == billed(run) == run.cost_usd
    assert Line.objects.get(run=run.code, worker="sim-conductor").cost_usd == run.proposals.get().cost_usd


def test_a_nested_run_pays_from_the_run_that_was_asked_for(admin: User, ultra: Profile, drive: Drive) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,seed=1")
    ultra.nesting = 1
    ultra.save()
    nests = workflow(("s1", SUM, "sim-conductor", []), ("s2", "Repeat the number.", "sim-delta", ["s1"]))

    run = drive(submit(admin, ultra, workflow=nests))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert in_ledger(run) == billed(run) == run.cost_usd
    assert account_of(run).spent_usd == run.cost_usd
    assert not Account.objects.filter(key=f"run:{Run.objects.get(nested_in__run=run).code}").exists()


def test_a_call_that_could_cross_the_runs_limit_is_not_made_and_goes_on_once_that_is_raised(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    held = drive(submit(admin, mini, workflow=TWO, limit_usd=ENOUGH_FOR_DELTA))

    assert (held.status, held.hold, held.driver) == (Run.Status.HELD, Run.Hold.LIMIT, "")
    assert [row["model"].split(":")[0] for row in simulator.log()] == ["sim-delta"]
    assert held.steps.get(key="s1").status == Step.Status.SUCCEEDED
    assert held.steps.get(key="s2").status == Step.Status.WAITING
    assert held.held_by["step"] == "s2"
    assert held.held_by["label"] == "this run"
    assert Decimal(held.held_by["needed_usd"]) > ENOUGH_FOR_DELTA
    assert account_of(held).reserved_usd == 0
    assert told(held)[-1] == "run.held"

    with pytest.raises(NotRaised):
        go_on(run=held, by=admin, now=timezone.now(), limit_usd=ENOUGH_FOR_DELTA)
    with pytest.raises(Conflict):
        approve_run(run=held, by=admin, now=timezone.now())
    go_on(run=held, by=admin, now=timezone.now(), limit_usd=Decimal(1), reason="worth it")
    run = drive(held)

    assert run.status == Run.Status.SUCCEEDED
    assert [row["model"].split(":")[0] for row in simulator.log()] == ["sim-delta", "sim-atlas"], "nothing twice"
    assert run.limit_usd == 1
    assert "run.resumed" in told(run)
    assert in_ledger(run) == run.cost_usd


def test_one_that_is_held_again_says_so_again(admin: User, mini: Profile, drive: Drive) -> None:
    run = drive(submit(admin, mini, workflow=TWO, limit_usd=ENOUGH_FOR_DELTA))

    go_on(run=run, by=admin, now=timezone.now())
    again = drive(run)

    assert again.status == Run.Status.HELD
    assert told(again).count("run.held") == 2


def test_a_planner_that_could_cross_the_limit_is_not_asked(
    admin: User, ultra: Profile, drive: Drive, simulator: Simulator
) -> None:
    Conductor.objects.update(
        model="sim-conductor:ttft=0,rate=0", free=False, input_price_usd=Decimal(1), output_price_usd=Decimal(2)
    )

    held = drive(submit(admin, ultra, limit_usd=Decimal("0.001")))
    assert (held.status, held.hold, held.proposals.count()) == (Run.Status.HELD, Run.Hold.LIMIT, 0)
    assert simulator.log() == []

    go_on(run=held, by=admin, now=timezone.now(), limit_usd=Decimal(5))
    assert drive(held).status == Run.Status.SUCCEEDED


def test_a_nested_run_that_is_held_holds_the_one_around_it(
    admin: User, ultra: Profile, drive: Drive, simulator: Simulator
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,seed=1")
    ultra.nesting = 1
    ultra.save()
    nests = workflow(("s1", SUM, "sim-conductor", []), ("s2", "Repeat the number.", "sim-delta", ["s1"]))

    held = drive(submit(admin, ultra, workflow=nests, limit_usd=Decimal("0.0001")))
    inner = Run.objects.get(nested_in__run=held)
    assert (held.status, inner.status) == (Run.Status.HELD, Run.Status.HELD)
    assert held.held_by["step"] == "s1"

    go_on(run=held, by=admin, now=timezone.now(), limit_usd=Decimal(5))
    run = drive(held)

    inner.refresh_from_db()
    assert (run.status, inner.status) == (Run.Status.SUCCEEDED, Run.Status.SUCCEEDED), run.error
    asked = [row["model"].split(":")[0] for row in simulator.log()]
    assert asked.count("sim-conductor") == 1, "its plan was kept"
    assert in_ledger(run) == run.cost_usd


def test_an_admins_budget_holds_whoever_it_is_about_until_it_is_raised(
    admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    atlas = Worker.objects.get(slug="sim-atlas")
    budget = Budget.objects.create(name="Atlas a day", worker=atlas, limit_usd=Decimal("0.0500"))
    cheap = drive(submit(admin, mini, workflow=workflow(("s1", "Compute it.", "sim-delta", []))))
    held = drive(submit(admin, mini, workflow=TWO))

    assert cheap.status == Run.Status.SUCCEEDED
    assert (held.status, held.held_by["label"]) == (Run.Status.HELD, "Atlas a day")
    raise_budget(budget=budget, to=Decimal(1), by=admin.actor, reason="", now=timezone.now())
    go_on(run=held, by=admin, now=timezone.now())
    assert drive(held).status == Run.Status.SUCCEEDED


def test_a_price_that_nobody_knows_is_asked_about_and_never_nothing(admin: User, mini: Profile, drive: Drive) -> None:
    Worker.objects.filter(slug="sim-delta").update(output_price_usd=None)

    with pytest.raises(PriceUnknown, match="Delta") as refused:
        submit(admin, mini, workflow=TWO)
    assert refused.value.field == "unknown_price"

    run = drive(submit(admin, mini, workflow=TWO, unknown_price_ok=True))
    assert run.status == Run.Status.SUCCEEDED
    assert run.cost_unknown
    assert Line.objects.get(run=run.code, worker="sim-delta").cost_unknown
    assert in_ledger(run) == run.cost_usd > 0, "what is known is counted"


def test_what_a_stop_cut_is_booked_as_estimated_and_nothing_stays_set_aside(
    admin: User, mini: Profile, process: Process, knobs: Callable[..., None], simulator: Simulator
) -> None:
    Worker.objects.filter(slug="sim-atlas").update(model="sim-atlas:ttft=0,rate=5")
    run = submit(admin, mini, workflow=workflow(("s1", "Compute it.", "sim-atlas", [])))
    driving = Thread(target=driver.drive, args=(run.pk, process))
    driving.start()
    while not Attempt.objects.filter(run=run).exists():
        time.sleep(0.05)
    stop_run(run=Run.objects.get(pk=run.pk), by=admin, now=timezone.now())
    process.held[run.pk][1]("stopped")
    driving.join(timeout=20)

    run.refresh_from_db()
    line = Line.objects.get(run=run.code)
    assert (line.state, line.estimated) == (Line.State.SETTLED, True)
    assert in_ledger(run) == run.cost_usd
    assert account_of(run).reserved_usd == 0


WORKERS = ("sim-atlas", "sim-birch", "sim-cedar", "sim-delta")
FAULTS = ("", "fail=500x1", "fail=cutx1", "fail=emptyx2", "fail=429x1,retry_after=0", "fail=401", "fail=malformed")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_happens_the_ledger_says_what_the_attempts_say(
    data: st.DataObject, admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None]
) -> None:
    for slug in WORKERS:
        knobs(slug, data.draw(st.sampled_from(FAULTS), label=slug), concurrency=data.draw(st.sampled_from([None, 1])))
    instead = Worker.objects.get(slug=data.draw(st.sampled_from(WORKERS[1:]), label="stands in"))
    Fallback.objects.all().delete()
    Fallback.objects.create(worker=Worker.objects.get(slug="sim-atlas"), instead=instead)
    steps = [
        (f"s{at}", f"Compute it, way {at}.", data.draw(st.sampled_from(WORKERS)), [f"s{n}" for n in range(at) if draws])
        for at, draws in enumerate(data.draw(st.lists(st.booleans(), min_size=1, max_size=4)))
    ]
    limit = data.draw(st.sampled_from([None, "0.02", "0.08"]), label="limit")

    run = drive(submit(admin, mini, workflow=workflow(*steps), limit_usd=limit and Decimal(limit)))

    assert run.status in (*Run.ENDED, Run.Status.HELD)
    account = account_of(run)
    assert in_ledger(run) == billed(run) == run.cost_usd == account.spent_usd
    assert account.reserved_usd == 0
    assert limit is None or account.spent_usd <= Decimal(limit)
    assert Line.objects.filter(run=run.code).count() == run.attempts.count()
