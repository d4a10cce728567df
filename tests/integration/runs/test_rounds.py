"""Planners that see what came of their workflow and go on: rounds, turns and reflections, in runs that really ask."""

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.audit.verification import verify
from apps.runs.models import Proposal, Run
from apps.runs.planning import Planning
from apps.runs.services import submit_run
from apps.workers.models import Conductor, Profile
from apps.workflows import graph
from tests.integration.runs.test_driving import Drive
from tests.simulators import Simulator

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."


@pytest.fixture
def two_rounds(ultra: Profile) -> Profile:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    ultra.rounds = 2
    ultra.save()
    return ultra


def submit(admin: User, profile: Profile, *, task: str = SUM, seed: int = 1, **options: object) -> Run:
    profile.options = dict(options)
    return submit_run(task=task, profile=profile, by=admin, now=timezone.now(), seed=seed)


def planner(profile: Profile, name: str) -> Profile:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    profile.planner = name
    return profile


def test_a_conductor_sees_its_answer_and_keeps_it_or_writes_another_workflow(
    admin: User, two_rounds: Profile, drive: Drive
) -> None:
    runs = [drive(submit(admin, two_rounds, seed=seed)) for seed in range(6)]

    verdicts = set()
    for run in runs:
        assert run.status == Run.Status.SUCCEEDED, run.error
        first, second = run.proposals.all()
        assert (first.round, first.verdict) == (1, "")
        assert second.round == 2
        assert run.workflow is not None
        assert second.verdict == ("changed" if run.workflow.rounds == 2 else "kept")
        assert first.raw.split("\n")[-1][:20] in str(second.sent), "it was shown its own plan"
        verdicts.add(second.verdict)
        assert graph.errors(graph.check(run.workflow, workers=run.pool, max_steps=10)) == []
        assert verify(run.trail).first_break is None
    assert verdicts == {"kept", "changed"}, "both happen, among so many seeds"


def test_steps_of_a_later_round_run_once_and_those_before_are_not_run_again(
    admin: User, two_rounds: Profile, drive: Drive, simulator: Simulator
) -> None:
    runs = (drive(submit(admin, two_rounds, seed=seed)) for seed in range(12))
    run = next(run for run in runs if run.workflow and run.workflow.rounds == 2)

    assert [attempt.number for attempt in run.attempts.all()] == [1] * run.steps.count()
    extended = next(event for event in audit.read(run.trail) if event.verb == "workflow.extended")
    added = [step["key"] for step in extended.data["steps"]]
    assert added == [step.key for step in run.steps.all() if step.round == 2]
    assert run.answer_step in added


def test_where_the_next_round_cannot_be_planned_the_answer_stands_and_people_are_told(
    admin: User, two_rounds: Profile, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_rounds.tries = 1
    extend = Planning.extend

    async def after_its_server_went_down(planning: Planning, *so_far: Any) -> Any:
        planning.run.setup["conductor"]["identity"]["base_url"] = "http://127.0.0.1:9/v1"
        return await extend(planning, *so_far)

    monkeypatch.setattr(Planning, "extend", after_its_server_went_down)
    run = drive(submit(admin, two_rounds))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert "4656" in run.answer
    assert "the answer is the one there was before" in run.notice
    assert [p.status for p in run.proposals.all()] == [Proposal.Status.VALID, Proposal.Status.FAILED]


def test_trinity_extends_the_graph_turn_by_turn(admin: User, ultra: Profile, drive: Drive) -> None:
    run = drive(submit(admin, planner(ultra, "trinity")))

    assert run.status == Run.Status.SUCCEEDED, run.error
    roles = [step.role for step in run.steps.all()]
    assert set(roles) <= {"thinker", "worker", "verifier"}
    assert "worker" in roles
    assert run.steps.get(key=run.answer_step).role == "worker"
    assert run.proposals.filter(status=Proposal.Status.VALID).count() >= len(roles)


def test_self_reflection_stops_when_its_answer_no_longer_changes(admin: User, ultra: Profile, drive: Drive) -> None:
    run = drive(submit(admin, planner(ultra, "self-reflection"), worker="sim-atlas"))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert {step.worker for step in run.steps.all()} == {"sim-atlas"}
    assert 2 <= run.steps.count() <= 5
    assert not run.proposals.exists(), "no conductor is asked"
    assert "4656" in run.answer


@pytest.mark.parametrize("name", ["random", "self-consistency", "moa", "smoothie", "untrained", "direct"])
def test_every_rival_reaches_an_answer_in_the_same_engine(admin: User, ultra: Profile, drive: Drive, name: str) -> None:
    run = drive(submit(admin, planner(ultra, name)))

    if name == "untrained" and run.status == Run.Status.FAILED:
        assert "cannot be run" in run.error, "a simulated worker is no conductor, and it is said"
        return
    assert run.status == Run.Status.SUCCEEDED, run.error
    assert run.planned_by == name
    assert run.answer
