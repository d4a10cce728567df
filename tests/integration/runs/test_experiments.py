"""Trying edges: one fork each, all that does not depend on the edge taken over, and never beyond the limit."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.audit.verification import verify
from apps.core.errors import Conflict, Invalid
from apps.runs import driver, experiments, forecasts, tasks
from apps.runs.experiments import NotToBeTried, UnderWay
from apps.runs.models import Experiment, Run, Step, Variant
from apps.runs.process import Process
from apps.runs.services import WorkflowInvalid, fork_run, stop_run, submit_run
from apps.spend.models import Account, Budget
from apps.workers.models import Profile, Worker
from apps.workflows.workflow import Workflow
from tests.factories import chain
from tests.integration.runs.drawn import Answering
from tests.pools import workflow

Drive = Callable[[Run], Run]
Edges = list[tuple[str, str]]

TASK = "Which of the two?"
# Step 4 answers the same whatever it reads, so nothing that only it reads can matter.
FLOW = workflow(
    ("s1", "plain 1", "sim-atlas", []),
    ("s2", "plain 2", "sim-birch", []),
    ("s3", "plain 3", "sim-cedar", ["s1"]),
    ("s4", "constant 4", "sim-delta", ["s2", "s3"]),
    ("s5", "plain 5", "sim-atlas", ["s3", "s4"]),
)
EVERY: Edges = [("s1", "s3"), ("s2", "s4"), ("s3", "s4"), ("s3", "s5"), ("s4", "s5")]
ENOUGH = Decimal(100)


@pytest.fixture
def run(admin: User, mini: Profile, drive: Drive, gateway: Answering) -> Run:
    """A run of five steps that came to its answer."""
    done = drive(submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=FLOW))
    gateway.asked.clear()
    return done


def start(run: Run, by: User, edges: Sequence[tuple[str, str]] = EVERY, **options: Any) -> Experiment:
    given: dict[str, Any] = {"baseline": False, "limit_usd": ENOUGH} | options
    return experiments.start_experiment(run=run, edges=edges, by=by, now=timezone.now(), **given)


def going(experiment: Experiment) -> list[Run]:
    return [each.fork for each in experiment.variants.filter(state=Variant.State.RUNNING) if each.fork is not None]


def carried(experiment: Experiment, drive: Drive) -> Experiment:
    """The experiment at its end: its forks driven as a driver does, one after the other."""
    for _ in range(50):
        for fork in going(experiment):
            drive(fork)
            experiments.go_on_after(run_id=fork.pk, now=timezone.now())
        experiment.refresh_from_db()
        if experiment.is_over:
            return experiment
    raise AssertionError("the experiment does not end")


def variant(experiment: Experiment, source: str, reader: str) -> Variant:
    return experiment.variants.select_related("fork").get(source=source, reader=reader)


def events(run: Run, verb: str) -> list[dict[str, Any]]:
    return [dict(event.data) for event in audit.read(run.trail) if event.verb == verb]


# --- what is found -------------------------------------------------------------------------------------------------


def test_every_edge_is_tried_once_and_what_it_does_to_the_answer_is_written_down(
    admin: User, drive: Drive, run: Run
) -> None:
    experiment = carried(start(run, admin), drive)

    found = {(each.source, each.reader): each for each in experiment.variants.all()}
    assert experiment.status == Experiment.Status.DONE
    assert {each.state for each in found.values()} == {Variant.State.DONE}
    assert {edge: each.is_same_answer for edge, each in found.items()} == {
        ("s1", "s3"): False,
        ("s2", "s4"): True,
        ("s3", "s4"): True,
        ("s3", "s5"): False,
        ("s4", "s5"): False,
    }
    assert found["s2", "s4"].likeness == 1.0
    likeness = found["s3", "s5"].likeness
    assert likeness is not None
    assert likeness < 1.0


def test_only_what_depends_on_the_edge_is_called(admin: User, drive: Drive, run: Run, gateway: Answering) -> None:
    experiment = carried(start(run, admin, [("s2", "s4"), ("s1", "s3")]), drive)

    without_2_4, without_1_3 = variant(experiment, "s2", "s4"), variant(experiment, "s1", "s3")
    # Step 4 says the same again, so step 5 is not even asked.
    assert (without_2_4.called, without_2_4.changed) == (["s4"], [])
    assert (without_1_3.called, without_1_3.changed) == (["s3", "s4", "s5"], ["s3", "s5"])
    assert len(gateway.asked) == 4


def test_a_fork_lacks_its_edge_and_nothing_else(admin: User, drive: Drive, run: Run) -> None:
    experiment = carried(start(run, admin, [("s3", "s5")]), drive)

    fork = variant(experiment, "s3", "s5").fork
    assert fork is not None
    assert fork.parent == run
    assert fork.workflow == FLOW.model_copy(
        update={"steps": (*FLOW.steps[:4], FLOW.step("s5").model_copy(update={"access": ("s4",)}))}
    )
    assert "step 5 does not read step 3" in str(audit.read(fork.trail)[0].texts)


def test_the_baseline_runs_every_step_afresh_and_the_others_still_go_by_the_run_itself(
    admin: User, drive: Drive, run: Run, gateway: Answering
) -> None:
    gateway.mood = "another"  # from now on every worker answers otherwise to the same
    experiment = carried(start(run, admin, [("s4", "s5")], baseline=True), drive)

    baseline, without = variant(experiment, "", ""), variant(experiment, "s4", "s5")
    assert baseline.called == ["s1", "s2", "s3", "s4", "s5"]
    assert baseline.is_same_answer is False
    # What the baseline was answered is newer, but it is not what this run came to.
    assert without.called == ["s5"]
    assert without.changed == ["s5"]


def test_what_a_whole_run_without_the_edge_saves_is_reckoned_whatever_was_reused(
    admin: User, drive: Drive, run: Run
) -> None:
    experiment = carried(start(run, admin, [("s3", "s5")]), drive)

    found = variant(experiment, "s3", "s5")
    fork = found.fork
    assert fork is not None
    alone = drive(
        submit_run(task=TASK, profile=fork_profile(run), by=admin, now=timezone.now(), workflow=flow_of(fork))
    )
    assert found.saved_tokens == (run.input_tokens + run.output_tokens) - (alone.input_tokens + alone.output_tokens)
    assert found.saved_usd == run.cost_usd - alone.cost_usd
    assert found.saved_tokens > 0


def fork_profile(run: Run) -> Profile:
    return Profile.objects.get(slug=run.profile)


def flow_of(run: Run) -> Workflow:
    assert run.workflow is not None
    return run.workflow


def test_a_fork_that_fails_is_an_edge_without_which_there_is_no_answer(
    admin: User, mini: Profile, drive: Drive, gateway: Answering
) -> None:
    flow = workflow(("s1", "plain 1", "sim-atlas", []), ("s2", "needy 2", "sim-cedar", ["s1"]))
    run = drive(submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=flow))

    experiment = carried(start(run, admin, [("s1", "s2")]), drive)

    found = variant(experiment, "s1", "s2")
    assert (experiment.status, found.state, found.likeness) == (Experiment.Status.DONE, Variant.State.FAILED, None)
    assert "I would rather not." in found.note


# --- money ---------------------------------------------------------------------------------------------------------


def test_it_ends_at_its_limit_and_never_spends_more(admin: User, drive: Drive, run: Run) -> None:
    dear = Worker.objects.get(slug="sim-atlas")
    dear.input_price_usd = dear.output_price_usd = Decimal(1_000)  # USD for a million tokens
    dear.max_output_tokens = 100
    dear.save()
    limit = Decimal("0.5")

    experiment = carried(start(run, admin, limit_usd=limit), drive)

    spent = sum((each.fork.cost_usd for each in experiment.variants.all() if each.fork), Decimal(0))
    states = [each.state for each in experiment.variants.all()]
    assert experiment.status == Experiment.Status.LIMIT
    assert 0 < spent <= limit
    assert Variant.State.DONE in states
    assert Variant.State.LEFT in states
    assert Variant.State.RUNNING not in states
    assert not Account.objects.filter(reserved_usd__gt=0).exists()


def test_no_more_is_promised_at_once_than_the_limit_allows(admin: User, run: Run) -> None:
    Worker.objects.update(max_output_tokens=1_000)
    experiment = start(run, admin, limit_usd=Decimal("0.05"))

    promised = [fork.limit_usd for fork in going(experiment)]
    assert promised
    assert sum(usd for usd in promised if usd is not None) <= Decimal("0.05")
    assert len(promised) <= experiments.AT_ONCE


def test_where_a_price_is_unknown_forks_go_one_after_the_other_with_all_that_is_left(
    admin: User, drive: Drive, run: Run
) -> None:
    Worker.objects.filter(slug="sim-atlas").update(input_price_usd=None, output_price_usd=None)

    experiment = start(run, admin, limit_usd=Decimal(1))  # steps of sim-atlas run in each of these

    assert [fork.limit_usd for fork in going(experiment)] == [Decimal(1)]
    assert carried(experiment, drive).status == Experiment.Status.DONE


def test_a_budget_of_an_admin_ends_it_and_is_named(admin: User, drive: Drive, run: Run) -> None:
    Budget.objects.create(name="The house", period=Budget.Period.TOTAL, limit_usd=Decimal(0))

    experiment = carried(start(run, admin), drive)

    assert experiment.status == Experiment.Status.LIMIT
    assert {each.note for each in experiment.variants.filter(state=Variant.State.LEFT, fork=None)} == {
        "The limit of “The house” holds its next call."
    }
    assert not Run.objects.filter(parent=run, finished_at=None).exists()


def test_with_money_enough_a_few_are_under_way_at_once(admin: User, run: Run) -> None:
    assert len(going(start(run, admin))) == experiments.AT_ONCE


# --- stopping, and going on ----------------------------------------------------------------------------------------


def test_stopped_it_begins_no_more_and_stops_what_is_under_way(admin: User, drive: Drive, run: Run) -> None:
    experiment = start(run, admin)
    first = going(experiment)[0]
    drive(first)

    stopped = experiments.stop_experiment(experiment=experiment, by=admin, now=timezone.now(), reason="enough")

    assert stopped.status == Experiment.Status.STOPPED
    assert sorted(each.state for each in experiment.variants.all()) == ["done", "left", "left", "left", "left"]
    assert Run.objects.filter(parent=run, finished_at=None).count() == 0
    assert events(run, "experiment.ended")[0]["tried"] == 1
    with pytest.raises(Conflict, match="over already"):
        experiments.stop_experiment(experiment=experiment, by=admin, now=timezone.now())


def test_an_end_that_nobody_noticed_is_noticed_by_the_next_look(admin: User, drive: Drive, run: Run) -> None:
    experiment = start(run, admin)
    for fork in going(experiment):
        drive(fork)  # and its driver dies before it says so

    tasks.go_on_with_experiments()

    states = [each.state for each in experiment.variants.all()]
    assert states == ["done"] * 4 + ["running"]


def test_the_driver_of_a_fork_carries_the_experiment_on_when_it_has_ended(
    admin: User, run: Run, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = start(run, admin)
    first = going(experiment)[0]
    monkeypatch.setattr(driver, "drive", partial(driver.drive, process=process))

    tasks.drive_run(first.pk)

    assert sorted(each.state for each in experiment.variants.all()) == ["done", *["running"] * 4]


def test_the_look_at_what_nobody_noticed_is_on_the_clock() -> None:
    entry: dict[str, Any] = settings.CELERY_BEAT_SCHEDULE["go-on-with-experiments"]

    assert entry["task"] == tasks.go_on_with_experiments.name
    assert entry["schedule"] <= 30


def test_going_on_twice_does_no_harm(admin: User, run: Run) -> None:
    experiment = start(run, admin)
    experiments.go_on(experiment_id=experiment.pk, now=timezone.now())

    assert run.children.count() == experiments.AT_ONCE


def test_a_fork_that_somebody_stopped_is_not_counted_as_tried(admin: User, drive: Drive, run: Run) -> None:
    experiment = start(run, admin, [("s3", "s5")])
    stop_run(run=going(experiment)[0], by=admin, now=timezone.now())
    experiments.go_on_with_all(now=timezone.now())

    found = variant(experiment, "s3", "s5")
    experiment.refresh_from_db()
    assert (experiment.status, found.state, found.note) == ("done", "left", "Its run was stopped.")


def test_the_trail_of_the_run_tells_of_the_experiment_and_verifies(admin: User, drive: Drive, run: Run) -> None:
    experiment = carried(start(run, admin, reason="which matter?", baseline=True), drive)

    [started], [ended] = events(run, "experiment.started"), events(run, "experiment.ended")
    assert (started["experiment"], started["edges"], started["baseline"]) == (experiment.pk, 5, True)
    assert (ended["status"], ended["tried"], ended["of"]) == ("done", 6, 6)
    assert verify(run.trail).first_break is None


# --- what is refused -----------------------------------------------------------------------------------------------


def test_a_run_that_goes_on_or_failed_or_has_no_edge_is_not_tried(
    admin: User, mini: Profile, drive: Drive, gateway: Answering
) -> None:
    def submitted(flow: Workflow) -> Run:
        return submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=flow)

    needy = workflow(("s1", "plain 1", "sim-atlas", []), ("s2", "absent 2", "sim-birch", ["s1"]))
    runs = [submitted(FLOW), drive(submitted(needy)), drive(submitted(workflow(("s1", "plain 1", "sim-atlas", []))))]

    for run, why in zip(runs, ["has not ended yet", "failed: there is no answer", "there is no edge"], strict=True):
        with pytest.raises(NotToBeTried, match=why):
            start(run, admin, [("s1", "s2")])


def test_only_edges_of_the_run_are_tried_each_once_and_not_too_many(admin: User, run: Run) -> None:
    for edges, why in [
        ([], "at least one edge"),
        ([("s1", "s5")], "“s5” does not read “s1”"),
        ([("s1", "s3"), ("s1", "s3")], "chosen twice"),
        ([("s1", "s3")] * 61, "At most 60 edges"),
    ]:
        with pytest.raises(Invalid, match=why):
            start(run, admin, edges)
    with pytest.raises(Invalid, match="Give the most"):
        start(run, admin, limit_usd=Decimal(-1))
    assert not Experiment.objects.exists()


def test_of_a_workflow_with_very_many_edges_fewer_are_tried_at_once() -> None:
    few, many = chain("a", "b", "c"), chain(*(f"Do {number}" for number in range(150)))

    assert forecasts.most_at_once(Run(workflow_body=few.model_dump(mode="json"))) == 60
    assert forecasts.most_at_once(Run(workflow_body=many.model_dump(mode="json"))) == 5


def test_one_at_a_time(admin: User, run: Run) -> None:
    start(run, admin)

    with pytest.raises(UnderWay):
        start(run, admin, [("s3", "s5")])
    assert Experiment.objects.count() == 1


def test_a_worker_that_is_gone_is_named_before_anything_begins(admin: User, run: Run) -> None:
    Worker.objects.filter(slug="sim-cedar").update(enabled=False)

    with pytest.raises(WorkflowInvalid, match="sim-cedar"):
        start(run, admin)
    assert run.children.count() == 0


# --- what a fork takes over ----------------------------------------------------------------------------------------


def test_a_fork_takes_what_its_own_parent_came_to_though_a_newer_answer_is_there(
    admin: User, drive: Drive, run: Run, gateway: Answering
) -> None:
    gateway.mood = "another"
    newer = drive(fork_run(parent=run, workflow=FLOW, by=admin, now=timezone.now(), fresh=FLOW.keys))

    of_the_first = drive(fork_run(parent=run, workflow=FLOW, by=admin, now=timezone.now()))
    of_that_one = drive(fork_run(parent=of_the_first, workflow=FLOW, by=admin, now=timezone.now()))
    of_the_newer = drive(fork_run(parent=newer, workflow=FLOW, by=admin, now=timezone.now()))

    assert newer.answer != run.answer
    assert of_the_first.answer == of_that_one.answer == run.answer
    assert of_the_newer.answer == newer.answer
    assert not of_that_one.steps.exclude(status=Step.Status.REUSED).exists()
