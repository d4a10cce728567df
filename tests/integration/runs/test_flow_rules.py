"""Flow rules hold a run before any call that they forbid: of planner, steps, stand-ins, judges and runs within runs."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.accounts.models import Membership, User
from apps.accounts.permits import NotAllowed
from apps.core.errors import Conflict, Invalid
from apps.runs.experiments import go_on as carry_on
from apps.runs.experiments import start_experiment
from apps.runs.labels import Attachment, Labels, attach
from apps.runs.models import Run, Step
from apps.runs.services import go_on, submit_run
from apps.workers.models import FlowRule, Profile, Tag, Worker
from apps.workers.rules import change_rule
from apps.workflows.workflow import Select
from tests.factories import make_person
from tests.integration.runs.ruled import (
    CHAIN,
    NESTED,
    TASK,
    approve,
    asked,
    paths,
    stand_ins,
    submit,
    told,
    trust,
)
from tests.integration.runs.test_driving import Drive
from tests.simulators import Simulator

# --- held before any call --------------------------------------------------------------------------------------------


def test_a_run_is_held_before_any_call_and_says_by_which_path(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, simulator: Simulator
) -> None:
    trust("sim-atlas")
    simulator.forget()

    run = drive(submit(admin, mini))

    assert (run.status, run.hold) == (Run.Status.HELD, Run.Hold.RULES)
    assert paths(run) == [["task:", "s2"]]
    assert run.held_by["steps"] == ["s2"]
    event = told(run, "run.held")
    assert (event.data["reason"], event.data["step"]) == ("rules", "s2")
    assert event.data["rules"] == run.held_by["rules"]
    assert simulator.log() == []
    assert set(run.steps.values_list("status", flat=True)) == {Step.Status.WAITING}


def test_a_run_that_no_rule_is_about_goes_to_its_end(admin: User, mini: Profile, rule: FlowRule, drive: Drive) -> None:
    trust("sim-atlas", "sim-birch")

    assert drive(submit(admin, mini)).status == Run.Status.SUCCEEDED
    trust()
    Worker.objects.update(tags=[])
    assert drive(submit(admin, mini, labels=Labels())).status == Run.Status.SUCCEEDED


def test_a_planner_that_may_not_read_the_task_is_not_asked(
    admin: User, ultra: Profile, rule: FlowRule, drive: Drive, simulator: Simulator
) -> None:
    trust(*Worker.objects.values_list("slug", flat=True))
    simulator.forget()

    run = drive(submit(admin, ultra, None))

    assert (run.status, run.hold) == (Run.Status.HELD, Run.Hold.RULES)
    assert paths(run) == [["task:", "plan:1"]]
    assert run.held_by["rules"][0]["model"] == "sim-conductor"
    assert run.workflow is None
    assert simulator.log() == []


def test_the_plan_is_checked_before_its_first_step_is_carried_out(
    admin: User, ultra: Profile, rule: FlowRule, drive: Drive, simulator: Simulator
) -> None:
    trust("sim-conductor")
    simulator.forget()

    run = drive(submit(admin, ultra, None))

    assert (run.status, run.hold) == (Run.Status.HELD, Run.Hold.RULES)
    assert {path[0] for path in paths(run)} == {"task:"}
    assert set(asked(simulator)) == {"sim-conductor"}


def test_what_an_attachment_carries_holds_the_run_and_is_the_beginning_of_the_path(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    files = [Attachment("plain.txt", "1847"), Attachment("offer.txt", "392 and 16", ("secret",))]
    task, labels = attach(TASK, files)

    run = submit_run(task=task, profile=mini, by=admin, now=timezone.now(), workflow=CHAIN, labels=labels)
    drive(run)

    assert paths(run)[0] == ["file:2", "s1"]
    assert run.setup["attachments"][1] == {"name": "offer.txt", "chars": 10, "tags": ["secret"]}
    submitted = told(run, "run.submitted")
    assert submitted.data["attachments"] == [{"chars": 4, "tags": []}, {"chars": 10, "tags": ["secret"]}]
    assert submitted.texts["attachment:2"] == "offer.txt"
    assert "392 and 16" in run.task


def test_a_workers_own_tag_is_carried_by_its_replies(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, simulator: Simulator
) -> None:
    Worker.objects.filter(slug="sim-birch").update(tags=["secret"])
    simulator.forget()

    run = drive(submit(admin, mini, labels=Labels()))

    assert paths(run) == [["s2", "s3"]]
    assert simulator.log() == []


def test_whoever_compares_answers_is_asked_about_before_they_are_made(
    admin: User, ultra: Profile, rule: FlowRule, drive: Drive, simulator: Simulator
) -> None:
    ultra.planner = "smoothie"
    ultra.save()
    trust("sim-atlas", "sim-birch", "sim-cedar", "sim-delta")
    simulator.forget()

    run = drive(submit(admin, ultra, None))

    assert {each["reader"] for each in run.held_by["rules"]} == {"sink:"}
    assert run.held_by["rules"][0]["model"] == "sim-embed"
    assert simulator.log() == []
    assert isinstance(run.workflow and run.workflow.sink, Select)


# --- at the time of calling ------------------------------------------------------------------------------------------


def test_a_stand_in_that_may_not_read_it_is_passed_over_for_one_that_may(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, knobs: Callable[..., None]
) -> None:
    stand_ins("sim-atlas", "sim-cedar", "sim-delta")
    trust("sim-atlas", "sim-birch", "sim-delta")
    knobs("sim-atlas", "fail=400")

    run = drive(submit(admin, mini))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert told(run, "step.fellback").data["to"] == "sim-delta"


def test_a_run_whose_only_stand_in_may_not_read_it_is_held_at_the_step(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, knobs: Callable[..., None], simulator: Simulator
) -> None:
    stand_ins("sim-birch", "sim-cedar")
    trust("sim-atlas", "sim-birch")
    knobs("sim-birch", "fail=400")
    simulator.forget()

    run = drive(submit(admin, mini))

    assert (run.hold, run.held_by["step"]) == (Run.Hold.RULES, "s2")
    assert run.held_by["rules"][0]["model"] == "sim-cedar"
    assert asked(simulator) == ["sim-atlas", "sim-birch"]
    assert run.steps.get(key="s2").status == Step.Status.WAITING

    approve(run, admin)
    drive(run)

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert run.attempts.filter(step__key="s2", worker="sim-cedar", status="succeeded").exists()


def test_what_a_stand_in_adds_is_held_against_those_that_read_it(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, knobs: Callable[..., None], simulator: Simulator
) -> None:
    stand_ins("sim-birch", "sim-cedar")
    Worker.objects.filter(slug="sim-cedar").update(tags=["secret"])
    knobs("sim-birch", "fail=400")

    run = drive(submit(admin, mini, labels=Labels()))

    assert (run.hold, run.held_by["step"]) == (Run.Hold.RULES, "s3")
    assert paths(run) == [["s2", "s3"]]
    go_on(run=run, by=admin, now=timezone.now())
    assert drive(run).hold == Run.Hold.RULES, "the next driver knows who answered"


def test_a_rule_holds_runs_that_were_submitted_before_it_was_made(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, simulator: Simulator
) -> None:
    FlowRule.objects.update(enabled=False)
    run = submit(admin, mini)
    FlowRule.objects.update(enabled=True)
    simulator.forget()

    assert drive(run).hold == Run.Hold.RULES
    assert simulator.log() == []


def test_a_tag_that_a_worker_has_lost_since_is_not_relied_on(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-atlas", "sim-birch")
    run = submit(admin, mini)
    Worker.objects.filter(slug="sim-birch").update(tags=[])

    assert paths(drive(run)) == [["task:", "s2"]]


# --- runs within runs, forks and rounds ------------------------------------------------------------------------------


def test_a_run_within_a_run_carries_what_its_step_reads_and_is_approved_with_the_outer_one(
    admin: User, nesting: Profile, rule: FlowRule, drive: Drive, simulator: Simulator
) -> None:
    trust("sim-conductor")

    run = drive(submit(admin, nesting, NESTED))

    nested = Run.objects.get(nested_in__run=run)
    assert nested.setup["tags"] == ["secret"]
    assert (run.hold, run.held_by["within"], nested.hold) == (Run.Hold.RULES, [nested.code], Run.Hold.RULES)
    with pytest.raises(Conflict, match=run.code):
        approve(nested, admin)

    approve(run, admin)
    drive(run)

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert told(nested, "run.excepted").data["with"] == run.code
    assert told(run, "run.excepted").data["within"] == [nested.code]


def test_a_step_given_to_a_conductor_that_may_not_read_it_does_not_become_a_run(
    admin: User, nesting: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-atlas")

    run = drive(submit(admin, nesting, NESTED))

    assert run.held_by["rules"][0]["model"] == "sim-conductor"
    assert not Run.objects.filter(nested_in__run=run).exists()


# --- approving, and going on -----------------------------------------------------------------------------------------


def test_an_admin_approves_with_a_reason_what_was_held_and_the_run_goes_on(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, rung: list[int]
) -> None:
    trust("sim-atlas")
    run = drive(submit(admin, mini))
    names = [each["name"] for each in run.held_by["rules"]]

    approve(run, admin)

    assert (run.status, run.hold, run.excepted) == (Run.Status.QUEUED, "", names)
    event = told(run, "run.excepted")
    assert event.texts["reason"] == "The client has agreed."
    assert [each["name"] for each in event.data["rules"]] == names
    assert rung[-1] == run.pk
    assert drive(run).status == Run.Status.SUCCEEDED


def test_nobody_but_an_admin_approves_and_nobody_without_a_reason(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    run = drive(submit(admin, mini))
    analyst = make_person("analyst", project=run.project)
    auditor = make_person("auditor", project=run.project)
    Membership.objects.filter(user=auditor).update(role=Membership.Role.AUDITOR)

    for person in (analyst, auditor):
        with pytest.raises(NotAllowed):
            approve(run, person)
    with pytest.raises(Invalid, match="Say why"):
        approve(run, admin, reason="  ")
    run.refresh_from_db()
    assert (run.status, run.excepted) == (Run.Status.HELD, [])


def test_an_approval_goes_no_further_than_what_was_shown(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-atlas")
    run = drive(submit(admin, mini))
    approve(run, admin)
    Worker.objects.filter(slug="sim-atlas").update(tags=[])

    drive(run)

    assert run.hold == Run.Hold.RULES
    assert paths(run) == [["task:", "s1"], ["task:", "s3"]]


def test_a_run_may_go_on_by_itself_once_the_rule_is_switched_off(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    run = drive(submit(admin, mini))
    go_on(run=run, by=admin, now=timezone.now())
    assert drive(run).hold == Run.Hold.RULES, "going on alone changes nothing"
    change_rule(
        rule=rule,
        seen=1,
        carries=rule.carries,
        needs=rule.needs,
        words="",
        enabled=False,
        by=admin,
        now=timezone.now(),
    )

    go_on(run=run, by=admin, now=timezone.now())

    assert drive(run).status == Run.Status.SUCCEEDED


def test_a_task_cannot_carry_a_tag_that_no_rule_could_be_about(admin: User, mini: Profile) -> None:
    Tag.objects.all().delete()

    with pytest.raises(Invalid, match="“secret” is no tag"):
        submit(admin, mini)


def test_an_experiment_does_not_wait_for_a_fork_that_rules_hold(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-atlas")
    run = drive(submit(admin, mini))
    approve(run, admin)
    assert drive(run).status == Run.Status.SUCCEEDED
    now = timezone.now()
    experiment = start_experiment(
        run=run, edges=[("s1", "s2")], baseline=False, limit_usd=Decimal(1), by=admin, now=now
    )
    fork = experiment.variants.get().fork
    assert fork is not None
    assert drive(fork).hold == Run.Hold.RULES

    carry_on(experiment_id=experiment.pk, now=now)

    experiment.refresh_from_db()
    assert (experiment.is_over, experiment.variants.get().note) == (True, "Its run was stopped.")
