"""Planning on real vLLM with weights that mean nothing: the form holds where it is enforced, and only there."""

import json
from typing import Any

import pytest

from apps.conductor.prompt_schema import LONGEST_INSTRUCTION, LONGEST_THINKING
from apps.conductor.proposal import Proposal
from apps.workers.calls import CallFailed
from apps.workers.gateway import Gateway
from apps.workflows.graph import Problem
from tests.verification.vllm.asking import LABELS, Asked, plan
from tests.verification.vllm.serving import ADAPTER, KEY, Server

SEEDS = range(10)
BEYOND_A_SCHEMA = {"forward-reference", "self-reference", "unknown-reference", "empty-instruction"}
"""What a schema cannot forbid: who may read whom, and an instruction of blanks."""
AS_IN_FORMULAS = "single backslashes, as in formulas, were kept as they are"
"""The one repair that JSON without a fault can need: random texts hold a backspace before a letter, as \\beta does."""


def of_the_schema(reply: str, *, max_steps: int) -> bool:
    """Whether it is what `prompt_schema.json_schema` describes, read here once more by hand."""
    workflow: dict[str, Any] = json.loads(reply)
    steps = workflow["steps"]
    return (
        list(workflow) == ["thinking", "steps"]
        and len(workflow["thinking"]) <= LONGEST_THINKING
        and 1 <= len(steps) <= max_steps
        and all(list(step) == ["worker", "instruction", "access"] for step in steps)
        and all(step["worker"] in LABELS and 0 < len(step["instruction"]) <= LONGEST_INSTRUCTION for step in steps)
        and all(len(step["access"]) < max_steps for step in steps)
        and all(type(at) is int and 0 <= at <= max_steps - 2 for step in steps for at in step["access"])
    )


def codes(proposal: Proposal) -> set[str]:
    return {problem.code if isinstance(problem, Problem) else problem for problem in proposal.problems}


def text(asked: Asked) -> str:
    return "".join(piece for _, piece in asked.pieces[0])


async def finished(server: Server, gateway: Gateway, *, max_steps: int) -> list[Proposal]:
    """What was written to its end; what a limit ended (random weights can go round in circles) says so."""
    asked = [await plan(gateway, server.endpoint(), encoding="json", max_steps=max_steps, seed=seed) for seed in SEEDS]
    whole = [each.last for each in asked if each.completions[0].finish_reason == "stop"]
    cut = [each.last for each in asked if each.completions[0].finish_reason == "length"]
    assert len(whole) + len(cut) == len(asked)
    assert all("cut off by the limit" in proposal.error for proposal in cut)
    assert len(whole) > len(cut)
    return whole


class TestTheSchema:
    async def test_gives_a_valid_workflow_where_one_step_is_allowed(self, server: Server, gateway: Gateway) -> None:
        """Nothing can then be wrong but what the schema forbids."""
        for proposal in await finished(server, gateway, max_steps=1):
            assert of_the_schema(proposal.raw, max_steps=1)
            assert proposal.is_valid, proposal.error
            assert set(proposal.repairs) <= {AS_IN_FORMULAS}

    async def test_leaves_the_sense_of_the_reads_to_us(self, server: Server, gateway: Gateway) -> None:
        proposals = await finished(server, gateway, max_steps=5)

        assert all(of_the_schema(proposal.raw, max_steps=5) for proposal in proposals)
        invalid = [proposal for proposal in proposals if not proposal.is_valid]
        assert invalid, "random reads are sometimes of a later step"
        for proposal in invalid:
            assert codes(proposal) <= BEYOND_A_SCHEMA
            assert "which is" in proposal.error or "no instruction" in proposal.error

    async def test_is_asked_again_with_what_was_wrong_until_the_workflow_is_valid(
        self, server: Server, gateway: Gateway
    ) -> None:
        options: dict[str, Any] = {"encoding": "json", "max_steps": 2, "attempts": 12, "temperature": 1.0}
        asked = [await plan(gateway, server.endpoint(), seed=seed, **options) for seed in range(4)]

        assert all(each.last.is_valid for each in asked)
        again = next(each for each in asked if len(each.proposals) > 1)
        first, second = again.completions[:2]
        assert second.usage.input_tokens > first.usage.input_tokens, "the second prompt says what was wrong"
        assert all(proposal.raw for proposal in again.proposals)

    async def test_is_cut_off_by_the_limit_on_the_reply_and_says_so(self, server: Server, gateway: Gateway) -> None:
        asked = await plan(gateway, server.endpoint(max_tokens=12), encoding="json")

        assert asked.completions[0].finish_reason == "length"
        assert asked.completions[0].usage.output_tokens == 12
        assert not asked.last.is_valid
        assert "cut off by the limit" in asked.last.error
        assert asked.last.raw.startswith('{"thinking":')


class TestTheThreeLists:
    async def test_are_not_enforced_so_nonsense_is_an_invalid_proposal_that_keeps_every_word(
        self, server: Server, gateway: Gateway
    ) -> None:
        for seed in SEEDS:
            asked = await plan(gateway, server.endpoint(max_tokens=400), encoding="lists", seed=seed)

            assert not asked.last.is_valid
            assert asked.last.error
            assert asked.last.raw == text(asked) == asked.completions[0].text != ""

    async def test_are_asked_for_three_times_and_every_reply_is_kept(self, server: Server, gateway: Gateway) -> None:
        asked = await plan(gateway, server.endpoint(max_tokens=60), encoding="lists", attempts=3)

        assert len({proposal.raw for proposal in asked.proposals}) == 3
        assert not any(proposal.is_valid for proposal in asked.proposals)


class TestTheStream:
    @pytest.mark.parametrize("encoding", ["lists", "json"])
    async def test_brings_the_reply_piece_by_piece_and_nothing_else(
        self, server: Server, gateway: Gateway, encoding: str
    ) -> None:
        endpoint = server.endpoint(max_tokens=300, min_tokens=100)
        asked = await plan(gateway, endpoint, encoding=encoding)

        completion, pieces = asked.completions[0], asked.pieces[0]
        assert text(asked) == completion.text
        assert len(pieces) > 50, "one piece a token, or nearly"
        assert completion.ttft_ms is not None
        assert completion.ttft_ms < completion.duration_ms
        first, half, last = pieces[0][0], pieces[len(pieces) // 2][0], pieces[-1][0]
        assert first < half < last, "half of it was there before the rest"

    async def test_shows_steps_while_later_ones_are_still_being_written(self, server: Server, gateway: Gateway) -> None:
        for seed in SEEDS:
            asked = await plan(gateway, server.endpoint(), encoding="json", seed=seed)
            steps = json.loads(asked.last.raw)["steps"]
            if len(steps) > 1:
                break
        else:
            raise AssertionError("no reply had two steps")

        first_drafted, last_piece = asked.drafts[0], asked.pieces[0][-1]
        assert first_drafted[1].position == 0
        assert first_drafted[0] < last_piece[0]
        assert {step.position for _, step in asked.drafts} == set(range(len(steps)))

    async def test_ends_with_an_account_that_is_the_servers_own(self, server: Server, gateway: Gateway) -> None:
        before = server.count("prompt_tokens_total"), server.count("generation_tokens_total")
        asked = await plan(gateway, server.endpoint(), encoding="json", max_steps=1)
        after = server.count("prompt_tokens_total"), server.count("generation_tokens_total")

        usage = asked.completions[0].usage
        assert not usage.estimated
        assert (usage.input_tokens, usage.output_tokens) == (after[0] - before[0], after[1] - before[1])


class TestTheServer:
    async def test_remembers_the_part_of_the_prompt_that_stays(self, server: Server, gateway: Gateway) -> None:
        await plan(gateway, server.endpoint(max_tokens=1), encoding="json")

        again = await plan(gateway, server.endpoint(max_tokens=1), encoding="json")

        usage = again.completions[0].usage
        assert usage.cached_tokens > usage.input_tokens * 0.9

    async def test_says_the_same_for_the_same_seed_and_something_else_for_another(
        self, server: Server, gateway: Gateway
    ) -> None:
        endpoint = server.endpoint(max_tokens=40)
        await plan(gateway, endpoint)  # from here on the prompt is remembered
        one, same, other = [(await plan(gateway, endpoint, seed=seed)).last.raw for seed in (7, 7, 8)]

        assert one == same
        assert one != other

    async def test_answers_with_the_adapter_that_is_asked_for(self, server: Server, gateway: Gateway) -> None:
        plain = await plan(gateway, server.endpoint(max_tokens=60), seed=7)
        adapted = await plan(gateway, server.endpoint(ADAPTER, max_tokens=60), seed=7)

        assert adapted.completions[0].model == ADAPTER
        assert adapted.last.raw != plain.last.raw

    async def test_refuses_a_wrong_key_and_the_key_is_repeated_nowhere(self, server: Server, gateway: Gateway) -> None:
        with pytest.raises(CallFailed) as caught:
            await plan(gateway, server.endpoint(api_key="sk-of-somebody-else"))

        assert caught.value.kind == "auth"
        assert not caught.value.retryable
        assert "somebody" not in str(caught.value)

    async def test_does_not_know_a_model_that_it_does_not_serve(self, server: Server, gateway: Gateway) -> None:
        with pytest.raises(CallFailed) as caught:
            await plan(gateway, server.endpoint("another"))

        assert caught.value.kind == "not_found"
        assert "another" in caught.value.message

    async def test_says_that_a_prompt_is_too_long(self, server: Server, gateway: Gateway) -> None:
        question = [{"role": "user", "content": "word " * 60_000}]

        with pytest.raises(CallFailed) as caught:
            await gateway.stream(server.endpoint(), question, on_delta=lambda piece: None)

        assert (caught.value.kind, caught.value.retryable) == ("bad_request", False)
        assert "context length" in caught.value.message

    async def test_lists_the_model_and_its_adapter_to_who_has_the_key(self, server: Server) -> None:
        status, body = server.get("/v1/models", key=KEY)

        assert status == 200
        assert {model["id"] for model in json.loads(body)["data"]} == {"tiny", ADAPTER}
        assert server.get("/v1/models")[0] == 401
