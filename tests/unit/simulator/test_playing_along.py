"""Whole runs of the planners that go on from results, every reply by a simulated model: no server, no database."""

from collections import Counter
from typing import Any

import pytest

from apps.conductor.planners import planner
from apps.conductor.proposal import Brief, Extending, Progress, Proposal
from apps.simulator.claims import claimed
from apps.simulator.models import MODELS
from apps.workflows.graph import check, errors
from apps.workflows.workflow import Workflow
from tests.unit.conductor.fakes import FakeWatch

from .prompts import POOL, SimulatedConductor, carry_out
from .tasks import EVERY_TASK, OPEN_ENDED, SAMPLES

Ran = tuple[Workflow, dict[str, str], FakeWatch]


async def run(name: str, task: str, *, seed: int = 0, rounds: int = 1, **options: Any) -> Ran:
    """The last workflow, the results of its steps, and all proposals."""
    brief = Brief(task=task, pool=POOL, max_steps=5, seed=seed, options=options, rounds=rounds)
    planning, ask, watch = planner(name), SimulatedConductor(), FakeWatch()
    assert isinstance(planning, Extending)
    results: dict[str, str] = {}
    proposal: Proposal | None = await planning.plan(brief, ask=ask, watch=watch)
    while proposal is not None and proposal.workflow is not None:
        workflow = proposal.workflow
        carry_out(workflow, task, results)
        answer = results[workflow.answered_by[-1]]
        proposal = await planning.extend(brief, Progress(workflow, results, answer), ask=ask, watch=watch)
    assert errors(check(workflow, workers=brief.workers, max_steps=99)) == []
    return workflow, results, watch


@pytest.mark.parametrize(("task", "answer"), SAMPLES.items())
@pytest.mark.parametrize("name", ["conductor", "trinity"])
async def test_every_planner_comes_to_the_right_answer_nearly_always(name: str, task: str, answer: str) -> None:
    right = 0
    for seed in range(8):
        workflow, results, watch = await run(name, task, seed=seed, rounds=2)
        right += claimed(results[workflow.answered_by[-1]]) == answer
        assert all(proposal.is_valid for proposal in watch.proposals)

    assert right >= 6


async def test_in_a_second_round_workflows_are_kept_and_changed() -> None:
    verdicts = Counter[str]()
    for task in EVERY_TASK:
        workflow, _, watch = await run("conductor", task, rounds=2)
        verdicts[watch.proposals[-1].verdict] += 1
        assert workflow.rounds == (2 if watch.proposals[-1].verdict == "changed" else 1)

    assert verdicts["kept"] > verdicts["changed"] > 0
    assert set(verdicts) == {"kept", "changed"}


async def test_turns_end_when_a_verifier_accepts() -> None:
    shapes = Counter([tuple(step.role for step in (await run("trinity", task))[0].steps) for task in EVERY_TASK])

    assert shapes["worker", "verifier"] > 0
    assert shapes["thinker", "worker", "verifier"] > 0
    assert all(1 < len(shape) <= 5 for shape in shapes)


@pytest.mark.parametrize("task", OPEN_ENDED)
async def test_reflection_ends_where_there_is_nothing_to_improve(task: str) -> None:
    workflow, _, _ = await run("self-reflection", task, worker="sim-delta")

    assert len(workflow.steps) == 2


async def test_a_weak_model_changes_its_mind_now_and_then() -> None:
    steps = Counter([len((await run("self-reflection", task, worker="sim-delta"))[0].steps) for task in EVERY_TASK])

    assert steps[2] > steps[3] + steps[4] + steps[5] > 0


async def test_an_untrained_model_writes_workflows_that_are_often_invalid_and_sometimes_never_valid() -> None:
    seen = Counter[bool]()
    for task in EVERY_TASK:
        brief = Brief(task=task, pool=POOL, max_steps=5, seed=1, options={"attempts": 1})
        watch = FakeWatch()
        await planner("conductor").plan(brief, ask=SimulatedConductor(MODELS["sim-cedar"]), watch=watch)
        seen[watch.proposals[0].is_valid] += 1

    assert 0.55 < seen[True] / seen.total() < 0.95
