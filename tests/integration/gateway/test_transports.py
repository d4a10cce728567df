"""What holds for every call, whichever transport carries it: the whole suite runs over both, against the simulator."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apps.workers.calls import CallFailed, Timeouts
from apps.workers.gateway import Gateway
from tests.integration.gateway.conftest import PRICE, At, unheard
from tests.integration.gateway.odd import LAST_WORD, OddServer, event, said
from tests.simulators import Simulator

QUESTION = [{"role": "user", "content": "Why is the sky blue?"}]
# litellm reads its pydantic models in a way that pydantic discourages: not ours to mend, and here warnings are errors.
# The second it silences itself when it is imported, which pytest takes back after the test that happened in.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:litellm\..*"),
    pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning"),
]

QUICK = "sim-cedar:ttft=0,rate=0,tokens=40"


async def failure_of(gateway: Gateway, endpoint: Any, heard: list[str] | None = None) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await gateway.stream(endpoint, QUESTION, on_delta=unheard if heard is None else heard.append)
    return caught.value


async def row_of(simulator: Simulator) -> dict[str, Any]:
    """The one call the simulator has seen to its end, as soon as it has."""
    for _ in range(200):
        if rows := await asyncio.to_thread(simulator.log):
            return rows[-1]
        await asyncio.sleep(0.01)
    raise AssertionError("the simulator saw no call end")


@contextmanager
def deaf_address() -> Iterator[str]:
    """An address where nobody picks up: the queue of a listening socket, filled to the brim."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        for caller in callers:
            caller.close()


class TestAReply:
    async def test_arrives_in_pieces_that_make_up_the_text(
        self, gateway: Gateway, endpoint_at: At, simulator: Simulator
    ) -> None:
        heard: list[str] = []

        completion = await gateway.stream(
            endpoint_at(simulator.base_url, "sim-cedar:ttft=0,rate=400,tokens=40"), QUESTION, on_delta=heard.append
        )

        row = await row_of(simulator)
        assert completion.text == "".join(heard) == row["text"] != ""
        assert len(heard) > 5
        assert completion.finish_reason == "stop" or completion.finish_reason == "length"
        assert completion.ttft_ms is not None
        assert 0 < completion.ttft_ms < completion.duration_ms

    async def test_is_metered_and_paid(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        completion = await gateway.stream(endpoint_at(simulator.base_url, QUICK), QUESTION, on_delta=unheard)

        row, usage = await row_of(simulator), completion.usage
        assert (usage.input_tokens, usage.output_tokens) == (row["prompt_tokens"], row["completion_tokens"])
        assert usage.output_tokens > 0
        assert not usage.estimated
        assert completion.cost_usd == PRICE.cost_usd(usage)

    async def test_is_asked_for_with_the_endpoints_parameters_and_those_of_the_call(
        self, gateway: Gateway, endpoint_at: At, simulator: Simulator
    ) -> None:
        endpoint = endpoint_at(simulator.base_url, QUICK, params={"temperature": 0.2, "seed": 1})

        await gateway.stream(endpoint, QUESTION, on_delta=unheard, extra={"seed": 7})

        row = await row_of(simulator)
        assert row["messages"] == QUESTION
        assert row["params"] == {"temperature": 0.2, "seed": 7}

    async def test_is_never_asked_for_with_a_key_that_lies_in_the_environment(
        self, monkeypatch: pytest.MonkeyPatch, gateway: Gateway, endpoint_at: At, odd: OddServer
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody-elses")
        odd.pieces = [said("Hi", finish="stop"), LAST_WORD]

        await gateway.stream(endpoint_at(odd.base_url, api_key=""), QUESTION, on_delta=unheard)

        assert "sk-somebody-elses" not in odd.requests[0][0]

    async def test_is_one_of_many_at_a_time(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        endpoints = [endpoint_at(simulator.base_url, f"{QUICK},seed={seed}") for seed in range(30)]
        heard: list[list[str]] = [[] for _ in endpoints]

        replies = await asyncio.gather(
            *(gateway.stream(each, QUESTION, on_delta=mine.append) for each, mine in zip(endpoints, heard, strict=True))
        )

        assert [reply.text for reply in replies] == ["".join(mine) for mine in heard]

    async def test_has_no_nul_in_it(self, gateway: Gateway, endpoint_at: At, odd: OddServer) -> None:
        odd.pieces = [said("sk\0y"), said("\0"), said(" blue", finish="stop"), LAST_WORD]
        heard: list[str] = []

        completion = await gateway.stream(endpoint_at(odd.base_url), QUESTION, on_delta=heard.append)

        assert completion.text == "".join(heard) == "sky blue"
        assert not any("\0" in piece or piece == "" for piece in heard)

    async def test_may_say_the_same_thing_over_and_over(
        self, gateway: Gateway, endpoint_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [*[said("-----")] * 150, said(finish="stop"), LAST_WORD]

        assert (await gateway.stream(endpoint_at(odd.base_url), QUESTION, on_delta=unheard)).text == "-----" * 150

    async def test_is_estimated_where_the_provider_does_not_count(
        self, gateway: Gateway, endpoint_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [said("It scatters."), said(finish="stop"), LAST_WORD]

        completion = await gateway.stream(endpoint_at(odd.base_url), QUESTION, on_delta=unheard)

        assert completion.usage.estimated
        assert completion.usage.output_tokens > 0

    async def test_counts_what_was_cached_and_what_was_thought(
        self, gateway: Gateway, endpoint_at: At, odd: OddServer
    ) -> None:
        usage = {
            "prompt_tokens": 1000,
            "completion_tokens": 50,
            "total_tokens": 1050,
            "prompt_tokens_details": {"cached_tokens": 600},
            "completion_tokens_details": {"reasoning_tokens": 30},
        }
        odd.pieces = [
            said(role="assistant", content=""),
            said(reasoning_content="Hm. Rayleigh?"),
            said("It scatters."),
            said(finish="stop"),
            event({"model": "any-2026", "choices": [], "usage": usage}),
            LAST_WORD,
        ]
        heard: list[str] = []

        completion = await gateway.stream(endpoint_at(odd.base_url), QUESTION, on_delta=heard.append)

        assert heard == ["It scatters."]
        counted = completion.usage
        assert (counted.input_tokens, counted.cached_tokens) == (1000, 600)
        assert (counted.output_tokens, counted.reasoning_tokens) == (50, 30)
        assert completion.cost_usd == PRICE.cost_usd(counted)

    async def test_comes_after_a_failure_too(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        endpoint = endpoint_at(simulator.base_url, f"{QUICK},fail=cutx1")
        await failure_of(gateway, endpoint)

        assert (await gateway.stream(endpoint, QUESTION, on_delta=unheard)).text


class TestAFailure:
    @pytest.mark.parametrize(
        ("status", "kind", "retryable"),
        [
            (400, "bad_request", False),
            (401, "auth", False),
            (403, "auth", False),
            (404, "not_found", False),
            (408, "server", True),
            (409, "server", True),
            (422, "bad_request", False),
            (425, "server", True),
            (429, "rate_limited", True),
            (500, "server", True),
            (503, "server", True),
        ],
    )
    async def test_with_a_status_is_sorted_by_it(
        self, gateway: Gateway, endpoint_at: At, simulator: Simulator, status: int, kind: str, retryable: bool
    ) -> None:
        failure = await failure_of(gateway, endpoint_at(simulator.base_url, f"{QUICK},fail={status}"))

        assert (failure.kind, failure.retryable, failure.status) == (kind, retryable, status)
        assert failure.message.endswith("(simulated).")
        assert failure.usage is None

    async def test_says_how_long_to_wait(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        failure = await failure_of(gateway, endpoint_at(simulator.base_url, f"{QUICK},fail=429,retry_after=7"))

        assert failure.retry_after_s == 7

    @pytest.mark.parametrize("kind", ["cut", "malformed"])
    async def test_in_the_middle_keeps_what_had_come(
        self, gateway: Gateway, endpoint_at: At, simulator: Simulator, kind: str
    ) -> None:
        heard: list[str] = []

        failure = await failure_of(gateway, endpoint_at(simulator.base_url, f"{QUICK},fail={kind}"), heard)

        assert (failure.kind, failure.retryable) == (kind, True)
        assert failure.partial == "".join(heard) == (await row_of(simulator))["text"] != ""
        assert failure.usage is not None
        assert failure.usage.output_tokens > 0

    async def test_without_a_word_is_empty(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        failure = await failure_of(gateway, endpoint_at(simulator.base_url, f"{QUICK},fail=empty"))

        assert (failure.kind, failure.retryable) == ("empty", True)

    async def test_to_answer_at_all_is_refused(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        failure = await failure_of(gateway, endpoint_at(simulator.base_url, f"{QUICK},fail=refused"))

        assert (failure.kind, failure.retryable, failure.usage) == ("refused", True, None)

    @pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid"])
    async def test_to_connect_is_refused(self, gateway: Gateway, endpoint_at: At, host: str) -> None:
        failure = await failure_of(gateway, endpoint_at(f"http://{host}/v1"))

        assert (failure.kind, failure.retryable, failure.usage) == ("refused", True, None)

    async def test_of_a_stream_that_just_ends_is_cut(self, gateway: Gateway, endpoint_at: At, odd: OddServer) -> None:
        odd.pieces = [said("It scat")]

        failure = await failure_of(gateway, endpoint_at(odd.base_url))

        assert (failure.kind, failure.retryable, failure.partial) == ("cut", True, "It scat")

    async def test_that_comes_in_the_place_of_a_token_is_the_servers(
        self, gateway: Gateway, endpoint_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [said("It scat"), event({"error": {"message": "the engine died", "type": "internal"}}), LAST_WORD]

        failure = await failure_of(gateway, endpoint_at(odd.base_url))

        assert (failure.kind, failure.retryable, failure.partial) == ("server", True, "It scat")
        assert "the engine died" in failure.message

    async def test_does_not_give_the_key_away(self, gateway: Gateway, endpoint_at: At, odd: OddServer) -> None:
        odd.answer("401 Unauthorized", '{"error": {"message": "Incorrect API key provided: sk-of-the-tests."}}')

        failure = await failure_of(gateway, endpoint_at(odd.base_url))

        assert failure.kind == "auth"
        assert failure.message == "Incorrect API key provided: [removed]."

    async def test_while_another_is_being_handled_is_sorted_for_itself(
        self, gateway: Gateway, endpoint_at: At, simulator: Simulator
    ) -> None:
        try:
            await gateway.stream(endpoint_at("http://127.0.0.1:1/v1"), QUESTION, on_delta=unheard)
        except CallFailed:
            failure = await failure_of(gateway, endpoint_at(simulator.base_url, f"{QUICK},fail=401"))

        assert failure.kind == "auth"

    async def test_of_the_callers_own_code_is_not_taken_for_the_endpoints(
        self, gateway: Gateway, endpoint_at: At, simulator: Simulator
    ) -> None:
        def stumble(text: str) -> None:
            raise OSError("no room left")

        with pytest.raises(OSError, match="no room left"):
            await gateway.stream(
                endpoint_at(simulator.base_url, "sim-cedar:ttft=0,rate=20,tokens=200"), QUESTION, on_delta=stumble
            )

        assert (await row_of(simulator))["outcome"] == "cut by client"


class TestATimeout:
    async def test_while_connecting(self, gateway: Gateway, endpoint_at: At) -> None:
        with deaf_address() as address:
            failure = await failure_of(gateway, endpoint_at(address, timeouts=Timeouts(connect_s=0.2)))

        assert (failure.kind, failure.retryable) == ("timeout", True)
        assert failure.message == "no connection within 0.2 s"

    async def test_before_the_first_token(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        endpoint = endpoint_at(simulator.base_url, f"{QUICK},fail=hang", timeouts=Timeouts(first_token_s=0.3))

        failure = await failure_of(gateway, endpoint)

        assert (failure.kind, failure.retryable) == ("timeout", True)
        assert failure.message == "no first token within 0.3 s"
        assert (await row_of(simulator))["outcome"] == "cut by client"

    async def test_between_tokens(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        endpoint = endpoint_at(
            simulator.base_url, "sim-cedar:ttft=0,rate=0.5,tokens=20", timeouts=Timeouts(between_tokens_s=0.3)
        )

        failure = await failure_of(gateway, endpoint)

        assert (failure.kind, failure.retryable) == ("timeout", True)
        assert failure.message == "no further token for 0.3 s"
        assert failure.partial
        assert failure.ttft_ms is not None

    async def test_of_the_whole(self, gateway: Gateway, endpoint_at: At, simulator: Simulator) -> None:
        endpoint = endpoint_at(
            simulator.base_url, "sim-cedar:ttft=0,rate=20,tokens=400", timeouts=Timeouts(whole_s=0.5)
        )

        failure = await failure_of(gateway, endpoint)

        assert (failure.kind, failure.retryable) == ("timeout", False)
        assert failure.message == "the reply was not finished within 0.5 s"
        assert failure.partial

    async def test_does_not_strike_a_model_that_thinks(self, gateway: Gateway, endpoint_at: At, odd: OddServer) -> None:
        odd.pieces = [*[said(reasoning_content="hm ")] * 8, said("It scatters.", finish="stop"), LAST_WORD]
        odd.pause_s = 0.1
        limits = Timeouts(first_token_s=0.4, between_tokens_s=0.4)

        completion = await gateway.stream(endpoint_at(odd.base_url, timeouts=limits), QUESTION, on_delta=unheard)

        assert completion.text == "It scatters."

    async def test_does_not_wait_for_a_server_that_only_says_it_is_alive(
        self, gateway: Gateway, endpoint_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [b": still here\n\n"] * 50
        odd.pause_s = 0.05

        failure = await failure_of(gateway, endpoint_at(odd.base_url, timeouts=Timeouts(first_token_s=0.3)))

        assert failure.message == "no first token within 0.3 s"
        await asyncio.wait_for(odd.left.wait(), 1)


class TestCancelling:
    @pytest.mark.parametrize("model", ["sim-cedar:ttft=0,rate=50,tokens=400", "sim-cedar:ttft=10000"])
    async def test_closes_the_connection_at_once(
        self, gateway: Gateway, endpoint_at: At, simulator: Simulator, model: str
    ) -> None:
        await gateway.stream(endpoint_at(simulator.base_url, QUICK), QUESTION, on_delta=unheard)
        await asyncio.to_thread(simulator.forget)
        heard: list[str] = []
        call = asyncio.create_task(
            gateway.stream(endpoint_at(simulator.base_url, model), QUESTION, on_delta=heard.append)
        )
        await asyncio.sleep(0.4)

        cancelled_at = time.time()
        call.cancel()
        heard_by_then = list(heard)
        with pytest.raises(asyncio.CancelledError):
            await call

        row = await row_of(simulator)
        assert row["outcome"] == "cut by client"
        assert row["finished"] - cancelled_at < 0.2
        assert bool(heard) == ("rate" in model)
        assert heard == heard_by_then

    async def test_from_within_a_delta_is_the_last_that_is_heard(
        self, gateway: Gateway, endpoint_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [b"".join([*[said("word ")] * 50, said(finish="stop"), LAST_WORD])]
        odd.lingers = True
        heard: list[str] = []

        def hear(text: str) -> None:
            heard.append(text)
            call.cancel()

        call = asyncio.create_task(gateway.stream(endpoint_at(odd.base_url), QUESTION, on_delta=hear))
        with pytest.raises(asyncio.CancelledError):
            await call

        assert len(heard) == 1
        await asyncio.wait_for(odd.left.wait(), 1)
