"""The rivals whose workflow is known beforehand: the plan each makes, and that every plan can be carried out."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.conductor.planners import planner
from apps.conductor.prompt import PoolEntry
from apps.conductor.proposal import Brief, Proposal
from apps.core.errors import Invalid
from apps.workflows import graph
from apps.workflows.workflow import Select, Vote, Workflow
from tests.unit.conductor.fakes import FakeConductor, FakeWatch

KNOWN_BEFOREHAND = ("random", "self-consistency", "moa", "smoothie")


def brief(*workers: str, seed: int = 1, learnt: dict[str, Any] | None = None, **options: Any) -> Brief:
    pool = tuple(PoolEntry(worker, worker.title()) for worker in workers or ("atlas", "birch", "cedar"))
    return Brief("Add 2 and 3.", pool, max_steps=2, seed=seed, options=options, learnt=learnt)


async def proposed(name: str, given: Brief) -> Proposal:
    ask = FakeConductor()
    proposal = await planner(name).plan(given, ask=ask, watch=FakeWatch())
    assert ask.prompts == [], "no model is called to plan it"
    return proposal


async def planned(name: str, given: Brief) -> Workflow:
    workflow = (await proposed(name, given)).workflow
    assert workflow is not None
    return workflow


async def test_chance_draws_one_worker_by_the_seed() -> None:
    drawn = {(await planned("random", brief(seed=seed))).steps[0].worker for seed in range(30)}
    twice = [(await planned("random", brief(seed=7))) for _ in range(2)]

    assert drawn == {"atlas", "birch", "cedar"}
    assert twice[0] == twice[1]
    assert len(twice[0].steps) == 1


async def test_self_consistency_asks_one_worker_n_times_and_lets_the_answers_vote() -> None:
    workflow = await planned("self-consistency", brief(n=4, worker="birch"))

    assert [step.worker for step in workflow.steps] == ["birch"] * 4
    assert all(step.access == () for step in workflow.steps), "no attempt reads another"
    assert workflow.sink == Vote(over=("s1", "s2", "s3", "s4"))
    assert len({step.instruction for step in workflow.steps}) == 4


async def test_a_mixture_of_agents_has_layers_that_read_the_whole_layer_before_and_an_aggregator() -> None:
    workflow = await planned("moa", brief("atlas", "birch", layers=2, aggregator="birch"))

    assert [(step.key, step.worker, step.access, step.role) for step in workflow.steps] == [
        ("s1", "atlas", (), "proposer"),
        ("s2", "birch", (), "proposer"),
        ("s3", "atlas", ("s1", "s2"), "proposer"),
        ("s4", "birch", ("s1", "s2"), "proposer"),
        ("s5", "birch", ("s3", "s4"), "aggregator"),
    ]
    assert "may be wrong" in workflow.steps[-1].instruction


async def test_smoothie_asks_everybody_and_selects_on_this_tasks_answers() -> None:
    workflow = await planned("smoothie", brief())

    assert [step.worker for step in workflow.steps] == ["atlas", "birch", "cedar"]
    assert workflow.sink == Select(over=("s1", "s2", "s3"))


async def test_smoothies_global_variant_goes_by_what_was_learnt() -> None:
    learnt = {"weights": {"atlas": 0.5, "birch": 2.0, "cedar": 1.0, "gone": 9.0}}

    workflow = await planned("smoothie", brief(variant="global", learnt=learnt))

    assert workflow.sink == Select(over=("s1", "s2", "s3"), weights=(0.5, 2.0, 1.0))


async def test_smoothies_global_variant_says_what_it_has_not_learnt() -> None:
    with pytest.raises(Invalid, match=r"weight for cedar.*train_planner smoothie"):
        await proposed("smoothie", brief(variant="global", learnt={"weights": {"atlas": 1, "birch": 1}}))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("self-consistency", {"n": 0}),
        ("self-consistency", {"n": "many"}),
        ("moa", {"layers": 99}),
        ("smoothie", {"variant": "cosmic"}),
    ],
)
async def test_an_option_that_cannot_be_used_is_named(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=next(iter(options))) as refusal:
        await proposed(name, brief(**options))

    assert refusal.value.field == "options"


@pytest.mark.parametrize("name", KNOWN_BEFOREHAND)
async def test_nobody_plans_for_an_empty_pool(name: str) -> None:
    with pytest.raises(Invalid, match="no worker"):
        await proposed(name, Brief("Add.", (), max_steps=2, seed=1))


@pytest.mark.parametrize(("name", "option"), [("self-consistency", "worker"), ("moa", "aggregator")])
async def test_a_worker_who_is_not_in_the_pool_is_a_problem_of_the_step(name: str, option: str) -> None:
    proposal = await proposed(name, replace(brief(), options={option: "nobody"}))

    assert not proposal.is_valid
    assert "not a worker of this pool" in proposal.error


WORKERS = st.lists(st.sampled_from(["atlas", "birch", "cedar", "delta", "elm"]), min_size=1, max_size=5, unique=True)


@given(workers=WORKERS, seed=st.integers(0, 2**31), n=st.integers(1, 40), layers=st.integers(1, 5))
async def test_whatever_they_plan_can_be_carried_out(workers: list[str], seed: int, n: int, layers: int) -> None:
    for name in KNOWN_BEFOREHAND:
        workflow = await planned(name, brief(*workers, seed=seed, n=n, layers=layers))
        problems = graph.check(workflow, workers=workers, max_steps=len(workflow.steps))
        assert problems == [], "neither an error nor a dead step"
