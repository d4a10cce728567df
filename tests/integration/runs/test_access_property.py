"""The access list holds: no step is ever shown an instruction or a result that it may not read.

Every instruction carries a mark of its own, and the simulated models quote theirs, so whatever a worker was shown can
be told from its prompt: as it was recorded, and as it reached the endpoint.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.runs.holding import set_breakpoints, write_result
from apps.runs.models import Run, Step
from apps.runs.services import fork_run, go_on, submit_run
from apps.workers.models import Conductor, Profile
from apps.workflows.workflow import Workflow
from tests.integration.runs.drawn import edited, workflows
from tests.pools import workflow
from tests.simulators import Simulator

Drive = Callable[[Run], Run]

TASK = "Weigh two kinds of tea against each other: green, black."
MARKS = [f"mark{number}q" for number in range(40)]


def marked(flow: Workflow, marks: Iterator[str]) -> Workflow:
    """The workflow, with a mark of its own in the place of every instruction that has none yet."""
    steps = [
        step if step.instruction.startswith("Describe") else _marked(step, next(marks))  # an edit leaves marks alone
        for step in flow.steps
    ]
    return flow.model_copy(update={"steps": tuple(steps)})


def _marked(step: Any, mark: str) -> Any:
    return step.model_copy(update={"instruction": f"Describe {mark}"})


def mark_of(instruction: str) -> str:
    return instruction.removeprefix("Describe ")


def shown(content: str, results: list[str]) -> set[str]:
    """The marks in a prompt, but for those inside of the results that the step may read."""
    for result in sorted(results, key=len, reverse=True):
        assert result in content, "what it may read is there, whole"
        content = content.replace(result, "")
    return {mark for mark in [*MARKS, "by-hand"] if mark in content}


def check(run: Run) -> None:
    """Each prompt of the run shows the step's own subtask and what stands on its access list, and nothing else."""
    steps = {step.key: step for step in run.steps.all()}
    for attempt in run.attempts.exclude(sent=[]).select_related("step"):
        step = attempt.step
        read = [steps[key] for key in step.access if steps[key].result]
        may_show = {mark_of(each.instruction) for each in [step, *read]}
        assert shown(attempt.sent[0]["content"], [each.result for each in read]) == may_show


def check_log(runs: list[Run], simulator: Simulator) -> None:
    """What reached the endpoint is what the rows say was sent, word for word."""
    called = [attempt.sent for run in runs for attempt in run.attempts.exclude(source__isnull=False).exclude(sent=[])]
    assert sorted(str(row["messages"]) for row in simulator.log()) == sorted(map(str, called))


@dataclass(frozen=True)
class Drawn:
    """A workflow, an edit of it, and what happens on the way."""

    flow: Workflow
    other: Workflow
    knob: str
    pauses: str  # the step whose result is written by hand; empty: none


@st.composite
def drawings(draw: st.DrawFn) -> Drawn:
    marks, unmarked = iter(MARKS), st.just("new")
    flow = marked(draw(workflows(unmarked, max_steps=6)), marks)
    other = marked(edited(draw, flow, unmarked), marks)
    pauses = draw(st.sampled_from(["", *flow.keys]))
    return Drawn(flow, other, draw(st.sampled_from(["seed=1", "fail=400"])), pauses)


# Drawn before anything runs; but a database pool's threads, too, use the `random` that hypothesis watches.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=drawings())
def test_no_step_of_a_run_or_of_its_fork_sees_what_is_not_on_its_access_list(
    drawn: Drawn, admin: User, mini: Profile, drive: Drive, simulator: Simulator, knobs: Callable[..., None]
) -> None:
    simulator.forget()
    knobs("sim-cedar", drawn.knob)
    run = submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=drawn.flow)
    if drawn.pauses:
        set_breakpoints(run=run, keys=[drawn.pauses], by=admin, now=timezone.now())

    if drive(run).status == Run.Status.HELD:
        write_result(run=run, key=drawn.pauses, text="by-hand", by=admin, now=timezone.now())
        go_on(run=run, by=admin, now=timezone.now())
        drive(run)
    fork = drive(fork_run(parent=run, workflow=drawn.other, by=admin, now=timezone.now()))

    assert run.is_ended
    assert fork.is_ended
    check(run)
    check(fork)
    check_log([run, fork], simulator)


def test_a_step_that_is_a_run_of_its_own_sees_no_more_than_the_step_may(
    admin: User, ultra: Profile, drive: Drive, simulator: Simulator
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,seed=1")
    ultra.nesting = 1
    ultra.save()
    flow = workflow(
        ("s1", "Describe mark1q", "sim-atlas", []),
        ("s2", "Describe mark2q", "sim-birch", []),
        ("s3", "Weigh mark3q against mark4q", "sim-conductor", ["s1"]),
    )

    run = drive(submit_run(task=TASK, profile=ultra, by=admin, now=timezone.now(), workflow=flow))

    nested = Run.objects.get(nested_in__run=run)
    assert nested.attempts.exists()
    assert run.steps.get(key="s3").status == Step.Status.SUCCEEDED
    told = [*nested.attempts.values_list("sent", flat=True), *nested.proposals.values_list("sent", flat=True)]
    within = [row["messages"] for row in simulator.log() if "mark3q" in str(row["messages"])]
    assert len(within) >= len(told)
    assert all("mark1q" in str(each) for each in nested.proposals.values_list("sent", flat=True))
    assert not any("mark2q" in str(each) for each in [*told, *within])
