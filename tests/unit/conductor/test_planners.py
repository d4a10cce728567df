"""Planners, with a conductor that says what it was told to say."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from apps.conductor.examples import SETS
from apps.conductor.planners import PLANNERS, Proposal, UnknownPlanner, planner
from apps.conductor.prompt import VERSIONS
from apps.core.errors import Invalid
from apps.workers.calls import CallFailed
from apps.workers.models import Conductor, Profile
from apps.workflows.graph import Problem
from apps.workflows.workflow import Step, Workflow

from .fakes import POOL, USAGE, FakeConductor, FakeWatch, brief, lists, steps_of

VALID = 'First a draft.\nmodel_id = [1, 0]\nsubtasks = ["Draft it.", "Check it."]\naccess_list = [[], ["all"]]'


@pytest.fixture
def watch() -> FakeWatch:
    return FakeWatch()


async def test_a_valid_reply_becomes_a_workflow(watch: FakeWatch) -> None:
    ask = FakeConductor(VALID)

    proposal = await planner("conductor").plan(brief(), ask=ask, watch=watch)

    assert proposal.workflow == Workflow(
        steps=(
            Step(key="s1", instruction="Draft it.", worker="birch"),
            Step(key="s2", instruction="Check it.", worker="atlas", access=("s1",)),
        )
    )
    assert (proposal.raw, proposal.thinking, proposal.repairs, proposal.problems) == (VALID, "First a draft.", (), ())
    assert (proposal.usage, proposal.cost_usd) == (USAGE, Decimal("0.002"))
    assert (proposal.duration_ms, proposal.ttft_ms) == (900.0, 80.0)
    assert watch.proposals == [proposal]
    assert "Write a limerick." in ask.prompts[0]


async def test_steps_are_shown_while_the_conductor_writes(watch: FakeWatch) -> None:
    await planner("conductor").plan(brief(), ask=FakeConductor(VALID), watch=watch)

    assert [step.worker_index for _, step in watch.drafts][:2] == [1, 0]
    assert watch.drafts[-1][1].access == (0,)
    assert all(proposals_by_then == 0 for proposals_by_then, _ in watch.drafts)


INVALID = {
    "nothing": ("", "is empty"),
    "prose": ("I would rather not.", "holds no lists"),
    "a-list-missing": ("model_id = [0]\nsubtasks = ['a']", "access_list is missing"),
    "lengths-differ": (lists([0, 1], ["a"], [[]]), "equally long"),
    "unknown-worker": (lists([0, 2], ["a", "b"], [[], []]), "names worker 2"),
    "negative-worker": (lists([-1], ["a"], [[]]), "names worker -1"),
    "reads-itself": (lists([0, 1], ["a", "b"], [[], [1]]), "which is itself"),
    "reads-a-later-step": (lists([0, 1], ["a", "b"], [[1], []]), "comes later"),
    "reads-no-step": (lists([0, 1], ["a", "b"], [[], [7]]), "no position"),
    "empty-subtask": (lists([0, 1], ["a", " "], [[], []]), "no instruction"),
    "no-steps": (lists([], [], []), "no steps"),
    "forty-steps": (lists([0] * 40, ["a"] * 40, [[]] * 40), "40 steps"),
    "two-thousand-steps": (lists([0] * 2000, ["a"] * 2000, [[]] * 2000), "brackets"),
    "an-endless-subtask": (lists([0], ["a" * 30_000], [[]]), "30,000 characters"),
    "a-million-characters": ("na " * 333_334, "holds no lists"),
    "broken-brackets": ("model_id = [0, 1]\nsubtasks = ['a', 'b']\naccess_list = [[],[", "breaks off"),
}


@pytest.mark.parametrize(("reply", "why"), INVALID.values(), ids=INVALID.keys())
async def test_an_invalid_reply_is_kept_with_its_problems_and_asked_for_again(
    reply: str, why: str, watch: FakeWatch
) -> None:
    ask = FakeConductor(reply, VALID)

    proposal = await planner("conductor").plan(brief(), ask=ask, watch=watch)

    first, second = watch.proposals
    assert first.workflow is None
    assert why in first.error
    assert first.raw == reply
    assert why in ask.prompts[1]
    assert why not in ask.prompts[0]
    assert proposal is second
    assert proposal.is_valid


async def test_replies_of_other_manners_are_valid_workflows_too(watch: FakeWatch) -> None:
    reply = """Sure!
- **Models**: [“Atlas”, 'birch', 0]
- Subtasks: ['Don't.', “b”, 'c']
- Access: [[],["all"],[["ALL"]]"""

    proposal = await planner("conductor").plan(brief(), ask=FakeConductor(reply), watch=watch)

    assert [step.worker for step in steps_of(proposal)] == ["atlas", "birch", "atlas"]
    assert [step.access for step in steps_of(proposal)] == [(), ("s1",), ("s1", "s2")]
    assert "a missing closing bracket was added" in proposal.repairs


async def test_a_dead_step_is_a_warning_and_no_reason_to_ask_again(watch: FakeWatch) -> None:
    reply = lists([0, 1], ["a", "b"], [[], []])

    proposal = await planner("conductor").plan(brief(), ask=FakeConductor(reply), watch=watch)

    assert proposal.is_valid
    assert [problem.code for problem in proposal.problems if isinstance(problem, Problem)] == ["dead-step"]


async def test_after_the_last_attempt_the_last_invalid_proposal_is_given_back(watch: FakeWatch) -> None:
    ask = FakeConductor("one", "two", "three", VALID)

    proposal = await planner("conductor").plan(brief(), ask=ask, watch=watch)

    assert not proposal.is_valid
    assert proposal.raw == "three"
    assert [each.raw for each in watch.proposals] == ["one", "two", "three"]


@pytest.mark.parametrize("attempts", [1, 2, 5])
async def test_the_number_of_attempts_is_an_option(attempts: int, watch: FakeWatch) -> None:
    ask = FakeConductor(*["no"] * 9)

    await planner("conductor").plan(brief(attempts=attempts), ask=ask, watch=watch)

    assert len(watch.proposals) == attempts


@pytest.mark.parametrize(
    ("given", "first", "again"),
    [({}, None, None), ({"temperature": 0}, 0.0, 0.1), ({"temperature": 0.8}, 0.8, 0.8)],
)
async def test_asking_again_is_never_without_chance(
    given: Any, first: float | None, again: float, watch: FakeWatch
) -> None:
    ask, frozen = FakeConductor("no", "no", VALID), FakeConductor("no", "no", VALID)

    await planner("conductor").plan(brief(**given), ask=ask, watch=watch)
    await planner("conductor").plan(brief(params=given), ask=frozen, watch=watch)

    assert ask.temperatures == frozen.temperatures == [first, again, again]


async def test_every_attempt_has_a_seed_of_its_own_and_the_same_brief_the_same_ones(watch: FakeWatch) -> None:
    ask, other = FakeConductor("no", "no", VALID), FakeConductor("no", "no", VALID)

    await planner("conductor").plan(brief(seed=2**40), ask=ask, watch=watch)
    await planner("conductor").plan(brief(seed=2**40), ask=other, watch=watch)

    seeds = [extra["seed"] for extra in ask.extras]
    assert len(set(seeds)) == 3
    assert seeds == [extra["seed"] for extra in other.extras]
    assert all(0 <= seed < 2**31 for seed in seeds)


async def test_a_reply_that_met_its_token_limit_is_told_so(watch: FakeWatch) -> None:
    ask = FakeConductor(VALID[:60], VALID, finish_reason="length")

    await planner("conductor").plan(brief(), ask=ask, watch=watch)

    assert "cut off" in ask.prompts[1]
    assert watch.proposals[1].is_valid


async def test_a_call_that_failed_is_not_the_planners_to_hide(watch: FakeWatch) -> None:
    ask = FakeConductor("no", CallFailed("timeout", "no token in 60 s", retryable=True))

    with pytest.raises(CallFailed, match="no token"):
        await planner("conductor").plan(brief(), ask=ask, watch=watch)

    assert [each.raw for each in watch.proposals] == ["no"]


async def test_names_are_revealed_only_on_request(watch: FakeWatch) -> None:
    hidden, revealed = FakeConductor(VALID), FakeConductor(VALID)

    await planner("conductor").plan(brief(), ask=hidden, watch=watch)
    await planner("conductor").plan(brief(reveal_names=True), ask=revealed, watch=watch)

    assert "Atlas" not in hidden.prompts[0]
    assert "Atlas. strong" in revealed.prompts[0]


@pytest.mark.parametrize(
    ("examples", "shown"), [(None, 4), ("general", 4), (True, 4), ("", 4), ("none", 0), (False, 0)]
)
async def test_the_set_of_examples_is_chosen_by_name(examples: Any, shown: int, watch: FakeWatch) -> None:
    ask = FakeConductor(VALID)
    given = {} if examples is None else {"examples": examples}

    await planner("conductor").plan(brief(**given), ask=ask, watch=watch)

    assert ask.prompts[0].count("<example>") == shown


UNUSABLE = {
    "examples": ("mathematics", "general, none"),
    "prompt_version": ("0.9", "no prompt version “0.9”"),
    "encoding": ("yaml", "lists, json"),
    "attempts": (0, "whole number from 1"),
    "temperature": ("hot", "number of zero or more"),
    "reveal_names": ("yes", "true or false"),
}


@pytest.mark.parametrize(("name", "given", "why"), [(name, *case) for name, case in UNUSABLE.items()])
async def test_an_option_that_cannot_be_used_is_refused_before_anybody_is_asked(
    name: str, given: Any, why: str, watch: FakeWatch
) -> None:
    ask = FakeConductor(VALID)

    with pytest.raises(Invalid, match=why) as refused:
        await planner("conductor").plan(brief(**{name: given}), ask=ask, watch=watch)

    assert refused.value.field == "options"
    assert ask.prompts == []


async def test_what_a_conductor_is_frozen_with_can_be_used_as_it_stands(watch: FakeWatch) -> None:
    frozen = Conductor(slug="c", name="C", model="m", base_url="http://localhost/v1").freeze()

    as_frozen = replace(brief(), options=frozen)
    proposal = await planner("conductor").plan(as_frozen, ask=FakeConductor(VALID), watch=watch)

    assert proposal.is_valid


async def test_a_conductor_that_writes_json_is_asked_for_it(watch: FakeWatch) -> None:
    ask = FakeConductor(
        '{"thinking": "Easy.", "steps": [{"worker": "Model 1", "instruction": "Do it.", "access": []}]}'
    )

    proposal = await planner("conductor").plan(brief(encoding="json"), ask=ask, watch=watch)

    assert ask.extras[0]["response_format"]["type"] == "json_schema"
    assert [(step.worker, step.instruction) for step in steps_of(proposal)] == [("birch", "Do it.")]
    assert (proposal.thinking, proposal.repairs) == ("Easy.", ())


async def test_lists_are_asked_for_without_a_response_format(watch: FakeWatch) -> None:
    ask = FakeConductor(VALID)

    await planner("conductor").plan(brief(), ask=ask, watch=watch)

    assert "response_format" not in ask.extras[0]


@pytest.mark.parametrize("name", ["conductor", "direct"])
async def test_without_a_pool_there_is_nothing_to_plan(name: str, watch: FakeWatch) -> None:
    with pytest.raises(Invalid, match="no worker"):
        await planner(name).plan(brief(pool=()), ask=FakeConductor(), watch=watch)


async def test_direct_gives_the_task_to_the_first_worker_and_calls_nobody(watch: FakeWatch) -> None:
    proposal = await planner("direct").plan(brief(), ask=FakeConductor(), watch=watch)

    assert [(step.worker, step.access) for step in steps_of(proposal)] == [("atlas", ())]
    assert proposal.workflow is not None
    assert proposal.workflow.show_task
    assert (proposal.raw, proposal.usage, proposal.cost_usd) == ("", None, None)


async def test_direct_gives_the_task_to_the_worker_it_is_told(watch: FakeWatch) -> None:
    chosen = await planner("direct").plan(brief(worker="birch"), ask=FakeConductor(), watch=watch)
    unknown = await planner("direct").plan(brief(worker="oak"), ask=FakeConductor(), watch=watch)

    assert steps_of(chosen)[0].worker == "birch"
    assert unknown.workflow is None
    assert "oak" in unknown.error


SAVED = Workflow(steps=(Step(key="s4", instruction="Do it.", worker="birch"),))


@pytest.mark.parametrize("given", [SAVED, SAVED.model_dump(), SAVED.model_dump_json()], ids=["value", "data", "text"])
async def test_a_saved_workflow_is_the_proposal(given: Any, watch: FakeWatch) -> None:
    proposal = await planner("saved").plan(brief(workflow=given), ask=FakeConductor(), watch=watch)

    assert proposal.workflow == SAVED


async def test_a_saved_workflow_is_checked_against_the_pool_of_today(watch: FakeWatch) -> None:
    proposal = await planner("saved").plan(brief(workflow=SAVED, pool=POOL[:1]), ask=FakeConductor(), watch=watch)

    assert proposal.workflow is None
    assert "birch" in proposal.error


@pytest.mark.parametrize("given", [None, {}, "{", {"steps": [{"key": "s1"}]}, 5])
async def test_what_is_no_workflow_is_refused(given: Any, watch: FakeWatch) -> None:
    with pytest.raises(Invalid, match="cannot be read"):
        await planner("saved").plan(brief(workflow=given), ask=FakeConductor(), watch=watch)


def test_an_unknown_planner_is_refused_by_name() -> None:
    with pytest.raises(UnknownPlanner, match=r"oracle.*conductor, direct"):
        planner("oracle")


def test_every_planner_says_whether_it_asks_a_conductor() -> None:
    asking = {name for name, made in PLANNERS.items() if getattr(made, "asks_conductor", False)}

    assert asking >= {"conductor", "trinity"}
    assert asking <= set(Profile.CONDUCTED) | {"untrained"}


def test_a_proposal_without_problems_has_nothing_to_say() -> None:
    assert Proposal(workflow=SAVED).error == ""


def test_a_profile_offers_every_planner_but_the_one_for_given_workflows() -> None:
    assert set(Profile.Planner.values) == set(PLANNERS) - {"saved"}


def test_a_conductor_offers_every_set_of_examples_and_a_prompt_that_there_is() -> None:
    assert set(Conductor.Examples.values) == set(SETS)
    assert Conductor().prompt_version in VERSIONS
