"""Vectors over both transports, from servers that keep to the protocol and from those that do not."""

import asyncio
import json
from decimal import Decimal
from typing import Any

import pytest

from apps.workers import embedding
from apps.workers.calls import CallFailed, Endpoint, Timeouts, Usage
from apps.workers.gateway import Gateway
from tests.integration.gateway.conftest import At
from tests.integration.gateway.odd import OddServer

TEXTS = ["Add two numbers.", "Sort these words."]


def answer(*vectors: Any, **more: Any) -> str:
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    usage = {"prompt_tokens": 9, "total_tokens": 9}
    return json.dumps({"object": "list", "model": "vectors-2026", "data": data, "usage": usage} | more)


async def failure_of(gateway: Gateway, endpoint: Endpoint) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await gateway.embed(endpoint, TEXTS)
    return caught.value


def say(odd: OddServer, body: str, status: str = "200 OK") -> None:
    odd.answer(status, body, "Content-Type: application/json")


async def test_every_text_gets_its_vector_and_what_they_cost_is_counted(
    gateway: Gateway, endpoint_at: At, odd: OddServer
) -> None:
    say(odd, answer([1, 0.5], [0.0, -2.25]))

    found = await gateway.embed(endpoint_at(odd.base_url, "vectors"), TEXTS)

    [(head, asked)] = odd.requests
    assert found.vectors == ((1.0, 0.5), (0.0, -2.25))
    assert found.usage == Usage(9)
    assert found.cost_usd == Decimal("0.000027")
    assert found.model == "vectors-2026"
    assert head.startswith("POST /v1/embeddings HTTP/1.1")
    assert "authorization: bearer sk-of-the-tests" in head.lower()
    assert (asked["model"], asked["input"]) == ("vectors", TEXTS)
    assert "stream" not in asked


async def test_litellms_nought_is_no_count(gateway: Gateway, endpoint_at: At, odd: OddServer) -> None:
    say(odd, answer([1.0], [2.0], usage=None))

    assert (await gateway.embed(endpoint_at(odd.base_url), TEXTS)).usage == Usage(8, estimated=True)


async def test_what_a_worker_sends_with_every_call_is_sent_and_none_is_left_out(
    gateway: Gateway, wire_at: At, odd: OddServer
) -> None:
    say(odd, answer([1.0], [2.0]))

    await gateway.embed(wire_at(odd.base_url, "mine", params={"dimensions": 1, "user": None, "model": "dearer"}), TEXTS)

    assert odd.requests[0][1] == {"model": "mine", "input": TEXTS, "dimensions": 1}


async def test_vectors_are_put_in_the_order_of_the_texts(gateway: Gateway, wire_at: At, odd: OddServer) -> None:
    data = [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]
    say(odd, answer(data=data))

    assert (await gateway.embed(wire_at(odd.base_url), TEXTS)).vectors == ((1.0,), (2.0,))


async def test_many_texts_go_in_several_requests(gateway: Gateway, wire_at: At, odd: OddServer) -> None:
    say(odd, answer(*[[1.0, 2.0]] * embedding.MOST_AT_ONCE))

    found = await gateway.embed(wire_at(odd.base_url), [f"text {n}" for n in range(2 * embedding.MOST_AT_ONCE)])

    assert len(found.vectors) == 2 * embedding.MOST_AT_ONCE
    assert found.usage == Usage(18)
    assert [asked["input"][0] for _, asked in odd.requests] == ["text 0", "text 64"]


async def test_no_texts_cost_no_request(gateway: Gateway, wire_at: At, odd: OddServer) -> None:
    found = await gateway.embed(wire_at(odd.base_url), [])

    assert (found.vectors, found.dims, found.cost_usd, odd.requests) == ((), 0, Decimal(0), [])


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "total_tokens": 0}, [9]])
async def test_where_the_provider_does_not_count_it_is_estimated(
    gateway: Gateway, wire_at: At, odd: OddServer, usage: object
) -> None:
    say(odd, answer([1.0], [2.0], usage=usage))

    found = await gateway.embed(wire_at(odd.base_url), TEXTS)

    assert found.usage == Usage(8, estimated=True)


@pytest.mark.parametrize(
    "body",
    [
        answer([1.0]),
        answer([1.0], [1.0], [1.0]),
        answer([1.0], [1.0, 2.0]),
        answer([1.0], []),
        answer([1.0], [float("nan")]),
        answer([1.0], [float("-inf")]),
        answer([1.0], [10**400]),
        answer([1.0], [True]),
        answer([1.0], ["1.0"]),
        answer([1.0], "AACAPw=="),
        answer(data=[{"index": 0, "embedding": [1.0]}] * 2),
        answer(data=[{"index": 3, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]),
        answer(data=[1, 2]),
        answer(data=None),
        "[]",
        "no JSON at all",
        "[" * 100_000,
    ],
)
async def test_what_is_no_sound_vector_for_each_text_is_malformed(
    gateway: Gateway, wire_at: At, odd: OddServer, body: str
) -> None:
    say(odd, body)

    failure = await failure_of(gateway, wire_at(odd.base_url))

    assert (failure.kind, failure.retryable) == ("malformed", True)
    assert failure.usage is not None, "it answered, so it may be billed"


@pytest.mark.parametrize("body", [answer([1.0]), answer([1.0], [1.0, 2.0])])
async def test_it_is_malformed_through_litellm_too(
    gateway: Gateway, endpoint_at: At, odd: OddServer, body: str
) -> None:
    say(odd, body)

    assert (await failure_of(gateway, endpoint_at(odd.base_url))).kind == "malformed"


async def test_vectors_that_have_no_end_are_given_up(
    gateway: Gateway, wire_at: At, odd: OddServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "LONGEST_REPLY_BYTES", 2_000)
    say(odd, answer([0.125] * 1_000, [0.125] * 1_000))

    failure = await failure_of(gateway, wire_at(odd.base_url))

    assert (failure.kind, failure.retryable) == ("malformed", False)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        ("401 Unauthorized", "auth", False),
        ("404 Not Found", "not_found", False),
        ("400 Bad Request", "bad_request", False),
        ("429 Too Many Requests", "rate_limited", True),
        ("503 Service Unavailable", "server", True),
    ],
)
async def test_a_refusal_is_sorted_by_its_status_without_the_key_in_it(
    gateway: Gateway, endpoint_at: At, odd: OddServer, status: str, kind: str, retryable: bool
) -> None:
    say(odd, json.dumps({"error": {"message": "not with sk-of-the-tests"}}), status)

    failure = await failure_of(gateway, endpoint_at(odd.base_url))

    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert "sk-of-the-tests" not in failure.message
    assert failure.usage is None


async def test_an_error_under_status_200_is_one(gateway: Gateway, wire_at: At, odd: OddServer) -> None:
    say(odd, json.dumps({"error": {"message": "overloaded"}}))

    failure = await failure_of(gateway, wire_at(odd.base_url))

    assert (failure.kind, failure.message) == ("server", "overloaded")


async def test_redirects_are_not_followed(gateway: Gateway, wire_at: At, odd: OddServer) -> None:
    odd.answer("307 Temporary Redirect", "", f"Location: {odd.base_url}/elsewhere")

    failure = await failure_of(gateway, wire_at(odd.base_url))

    assert (failure.kind, failure.retryable, len(odd.requests)) == ("bad_request", False, 1)


async def test_with_a_key_that_no_header_can_carry_nothing_is_sent(
    gateway: Gateway, wire_at: At, odd: OddServer
) -> None:
    failure = await failure_of(gateway, wire_at(odd.base_url, api_key="sk-one\r\nX-Evil: 1"))

    assert (failure.kind, odd.requests) == ("auth", [])


async def test_nobody_there_is_refused(gateway: Gateway, endpoint_at: At) -> None:
    failure = await failure_of(gateway, endpoint_at("http://127.0.0.1:9/v1"))

    assert (failure.kind, failure.retryable) == ("refused", True)


async def test_a_server_that_says_nothing_is_waited_for_only_so_long(
    gateway: Gateway, wire_at: At, odd: OddServer
) -> None:
    odd.pieces, odd.lingers = [b"{"], True

    slow = await failure_of(gateway, wire_at(odd.base_url, timeouts=Timeouts(first_token_s=0.1)))
    whole = await failure_of(gateway, wire_at(odd.base_url, timeouts=Timeouts(whole_s=0.1)))

    assert (slow.kind, slow.retryable) == ("timeout", True)
    assert (whole.kind, whole.retryable) == ("timeout", False)


async def test_what_was_consumed_before_a_failure_is_on_it(gateway: Gateway, wire_at: At, odd: OddServer) -> None:
    say(odd, answer(*[[1.0]] * embedding.MOST_AT_ONCE))

    with pytest.raises(CallFailed) as caught:
        await gateway.embed(wire_at(odd.base_url), ["four"] * (embedding.MOST_AT_ONCE + 1))

    assert caught.value.kind == "malformed", "64 vectors came for the one text of the second request"
    assert caught.value.usage == Usage(18)


async def test_cancelling_hangs_up_at_once(gateway: Gateway, wire_at: At, odd: OddServer) -> None:
    odd.pieces, odd.lingers = [b"{"], True
    call = asyncio.create_task(gateway.embed(wire_at(odd.base_url), TEXTS))
    await odd.asked.wait()

    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(odd.left.wait(), 2)
