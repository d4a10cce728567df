"""What a planner had read goes with its instructions, into forks, templates and later rounds."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.runs.flow import problems_of
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.runs.services import fork_run
from apps.runs.templates import keep_template, start_template
from apps.workers.models import Conductor, FlowRule, Profile, Worker
from apps.workflows.workflow import Workflow
from tests.integration.runs.ruled import (
    CHAIN,
    TASK,
    approve,
    paths,
    planned,
    stand_ins,
    submit,
    trust,
)
from tests.integration.runs.test_driving import Drive
from tests.pools import workflow
from tests.simulators import Simulator


def test_a_fork_carries_what_its_parent_did_and_is_asked_about_only_what_it_calls(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-atlas")
    parent = drive(submit(admin, mini))
    approve(parent, admin)
    assert drive(parent).status == Run.Status.SUCCEEDED

    def fork(flow: Workflow) -> Run:
        return drive(fork_run(parent=parent, workflow=flow, by=admin, now=timezone.now()))

    assert fork(CHAIN).status == Run.Status.SUCCEEDED, "nobody reads anything anew"
    other = CHAIN.steps[1].model_copy(update={"instruction": "Check it twice."})
    changed = fork(CHAIN.model_copy(update={"steps": (CHAIN.steps[0], other, CHAIN.steps[2])}))
    assert (changed.hold, paths(changed)) == (Run.Hold.RULES, [["task:", "s2"]])


def test_instructions_that_a_planner_wrote_carry_the_task_even_where_a_fork_does_not_show_it(
    admin: User, ultra: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-conductor", *Worker.objects.values_list("slug", flat=True))
    parent = drive(submit(admin, ultra, None))
    assert parent.status == Run.Status.SUCCEEDED, parent.error
    Worker.objects.update(tags=[])
    hidden = parent.workflow.model_copy(update={"show_task": False}) if parent.workflow else None
    assert hidden is not None

    fork = drive(fork_run(parent=parent, workflow=hidden, by=admin, now=timezone.now(), fresh=hidden.keys))

    assert fork.hold == Run.Hold.RULES
    assert all(path[:2] == ["task:", "plan:1"] for path in paths(fork) if len(path) > 2)


FIRST, SECOND = workflow(
    ("s1", "Compute it.", "sim-atlas", []), ("s2", "Check what came of it: 4656.", "sim-birch", [])
).steps
IN_ROUNDS = Workflow(steps=(FIRST, SECOND.model_copy(update={"round": 2})))


def fork_of(parent: Run, flow: Workflow) -> Run:
    return fork_run(parent=parent, workflow=flow, by=parent.owner, now=timezone.now(), fresh=flow.keys)


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(IN_ROUNDS.steps[1:], id="the step that gave it is gone"),
        pytest.param(IN_ROUNDS.steps[::-1], id="it comes later"),
        pytest.param((FIRST.model_copy(update={"worker": "sim-cedar"}), IN_ROUNDS.steps[1]), id="another gives it"),
    ],
)
def test_no_edit_of_a_fork_takes_from_an_instruction_what_its_planner_had_read(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, simulator: Simulator, left: tuple[Any, ...]
) -> None:
    Worker.objects.filter(slug="sim-atlas").update(tags=["secret"])
    parent = drive(planned(submit(admin, mini, IN_ROUNDS, Labels())))
    assert paths(parent) == [["s1", "plan:2", "s2"]]
    simulator.forget()
    edited = Workflow(steps=left)

    fork = drive(fork_of(parent, edited))
    another = drive(fork_of(fork, edited))

    assert (fork.hold, paths(fork)) == (Run.Hold.RULES, [["plan:2", "s2"]])
    assert (another.hold, paths(another)) == (Run.Hold.RULES, [["plan:2", "s2"]])
    assert simulator.log() == []
    assert [each.step for each in problems_of(parent, edited, parent.setup["pool"], is_fork=True)] == ["s2"]


def test_what_a_stand_in_answered_is_carried_into_a_fork_by_what_was_planned_after_it(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, knobs: Callable[..., None], simulator: Simulator
) -> None:
    stand_ins("sim-atlas", "sim-cedar")
    Worker.objects.filter(slug="sim-cedar").update(tags=["secret"])
    knobs("sim-atlas", "fail=400")
    reading = IN_ROUNDS.steps[1].model_copy(update={"access": ("s1",)})  # so that it begins when that has ended
    parent = drive(planned(submit(admin, mini, Workflow(steps=(FIRST, reading)), Labels())))
    assert (parent.held_by["step"], paths(parent)) == ("s2", [["s1", "s2"]])
    simulator.forget()

    fork = drive(fork_of(parent, Workflow(steps=IN_ROUNDS.steps[1:])))

    assert (fork.hold, paths(fork)) == (Run.Hold.RULES, [["plan:2", "s2"]])
    assert simulator.log() == []


def test_a_template_carries_what_the_planner_of_its_instructions_had_read_and_was_itself(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, simulator: Simulator
) -> None:
    Conductor.objects.filter(slug="sim-conductor").update(tags=["secret"])
    alone = Workflow(steps=(FIRST,))
    source = drive(planned(submit(admin, mini, alone, Labels())))
    assert paths(source) == [["plan:1", "s1"]]
    simulator.forget()

    run = drive(started_from(source, mini))

    assert (run.hold, paths(run)) == (Run.Hold.RULES, [["plan:1", "s1"]])
    assert paths(drive(started_from(run, mini, name="Again"))) == [["plan:1", "s1"]]
    assert simulator.log() == []


def test_a_template_of_two_rounds_carries_the_results_that_its_second_was_planned_with(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    Worker.objects.filter(slug="sim-atlas").update(tags=["secret"])
    source = drive(planned(submit(admin, mini, IN_ROUNDS, Labels())))

    run = drive(started_from(source, mini, instead={"sim-atlas": "sim-cedar"}))

    assert paths(run) == [["plan:2", "s2"]]


def test_a_template_of_what_a_person_drew_carries_what_its_task_does_and_no_more(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    hidden = Workflow(steps=(FIRST,), show_task=False)

    run = drive(started_from(submit(admin, mini, hidden), mini))

    assert run.setup["tags"] == ["secret"]
    assert run.status == Run.Status.SUCCEEDED, run.error


def started_from(source: Run, profile: Profile, *, name: str = "Kept", instead: dict[str, str] | None = None) -> Run:
    """A run of the template that is made from `source`."""
    assert source.workflow is not None
    by, now = source.owner, timezone.now()
    template = keep_template(name=name, task=TASK, workflow=source.workflow, source=source, by=by, now=now)
    return start_template(template=template, values={}, profile=profile, by=by, now=now, instead=instead)


def test_a_fork_from_before_rounds_were_told_apart_still_carries_its_planners_tags(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    run = submit(admin, mini, IN_ROUNDS, Labels())
    run.setup |= {"told": ["secret"]}
    run.save()

    assert paths(drive(run)) == [["plan:1", "s1"], ["plan:2", "s2"]]


def test_a_planner_is_not_shown_results_that_it_may_not_read(
    admin: User, ultra: Profile, rule: FlowRule, drive: Drive
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    ultra.rounds = 2
    ultra.save()
    Worker.objects.update(tags=["secret", "trusted"])

    run = drive(submit(admin, ultra, None, labels=Labels()))

    assert (run.hold, run.held_by["rules"][0]["reader"]) == (Run.Hold.RULES, "plan:2")
    approve(run, admin)
    assert drive(run).status == Run.Status.SUCCEEDED, run.error
