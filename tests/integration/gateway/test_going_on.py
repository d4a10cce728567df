"""Planners that go on from results, asking the simulated conductor over HTTP in both encodings."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from apps.conductor.planners import Brief, Proposal, planner
from apps.conductor.prompt import PoolEntry
from apps.conductor.proposal import Extending, Progress
from apps.workers.calls import Completion
from apps.workers.gateway import Gateway
from apps.workflows.workflow import Workflow
from tests.integration.gateway.conftest import At
from tests.simulators import Simulator
from tests.unit.conductor.fakes import FakeWatch

TASK = "Compute (1847 - 392) * 16 / 5. Answer with the number."
POOL = tuple(PoolEntry(f"sim-{name}", name.title()) for name in ("atlas", "birch", "cedar", "delta"))
SEEDS = range(12)


class Conductor:
    """The planners' `ask`, over the gateway."""

    def __init__(self, gateway: Gateway, at: At, base_url: str) -> None:
        self.gateway = gateway
        self.endpoint = at(base_url, "sim-conductor:ttft=0,rate=0")

    async def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
        on_delta: Callable[[str], None],
    ) -> Completion:
        given = [dict(message) for message in messages]
        return await self.gateway.stream(self.endpoint, given, on_delta=on_delta, extra=dict(extra or {}))


@pytest.fixture
def ask(gateway: Gateway, wire_at: At, simulator: Simulator) -> Conductor:
    return Conductor(gateway, wire_at, simulator.base_url)


async def two_rounds(ask: Conductor, *, encoding: str, seed: int, answer: str) -> tuple[Workflow, Proposal, FakeWatch]:
    """The workflow of the first round, and what the second made of it when its steps answered so."""
    brief = Brief(TASK, POOL, max_steps=5, seed=seed, options={"encoding": encoding}, rounds=2)
    planning, watch = planner("conductor"), FakeWatch()
    assert isinstance(planning, Extending)
    first = await planning.plan(brief, ask=ask, watch=watch)
    assert first.workflow is not None, first.error
    results = dict.fromkeys(first.workflow.keys, answer)
    second = await planning.extend(brief, Progress(first.workflow, results, answer), ask=ask, watch=watch)
    assert second is not None
    assert len(watch.proposals) == 2, "nothing had to be asked for again"
    return first.workflow, second, watch


@pytest.mark.parametrize("encoding", ["lists", "json"])
async def test_a_second_round_keeps_a_right_answer_and_replaces_a_wrong_one_in_either_encoding(
    ask: Conductor, encoding: str
) -> None:
    verdicts: dict[str, list[str]] = {"4656": [], "4566": []}
    for answer in verdicts:
        for seed in SEEDS:
            first, second, watch = await two_rounds(ask, encoding=encoding, seed=seed, answer=f"Answer: {answer}")
            verdicts[answer].append(second.verdict)
            if second.workflow is not None:
                assert second.workflow.steps[: len(first.steps)] == first.steps
                assert first.steps[-1].key in second.workflow.steps[-1].access
                assert watch.drafts[-1][1].position == len(second.workflow.steps) - 1
            assert second.repairs == ()

    assert verdicts["4656"].count("kept") > len(SEEDS) * 0.7
    assert verdicts["4566"].count("changed") > len(SEEDS) * 0.5


async def test_a_schema_travels_to_the_server_and_its_reply_is_of_that_schema(
    ask: Conductor, simulator: Simulator
) -> None:
    simulator.forget()

    _, second, _ = await two_rounds(ask, encoding="json", seed=1, answer="Answer: 4656")

    sent = [row["params"]["response_format"]["json_schema"]["schema"] for row in simulator.log()]
    assert [schema["properties"]["steps"]["minItems"] for schema in sent] == [1, 0]
    assert list(json.loads(second.raw)) == ["thinking", "steps"]


@pytest.mark.parametrize("encoding", ["lists", "json"])
async def test_a_coordinator_takes_turn_after_turn(ask: Conductor, encoding: str) -> None:
    brief = Brief(TASK, POOL, max_steps=5, seed=3, options={"encoding": encoding})
    planning, watch = planner("trinity"), FakeWatch()
    assert isinstance(planning, Extending)
    said = {"thinker": "Multiply last.", "worker": "Answer: 4656", "verifier": "REJECT: show the working."}

    proposal: Proposal | None = await planning.plan(brief, ask=ask, watch=watch)
    while proposal is not None:
        assert proposal.workflow is not None, proposal.error
        workflow = proposal.workflow
        results = {step.key: said[step.role] for step in workflow.steps}
        proposal = await planning.extend(brief, Progress(workflow, results, "4656"), ask=ask, watch=watch)

    assert len(workflow.steps) == len(watch.proposals) == 5
    assert {step.role for step in workflow.steps} >= {"worker", "verifier"}
    assert workflow.answered_by == tuple(step.key for step in workflow.steps if step.role == "worker")
