"""What the wire transport makes of servers that speak the protocol in their own way, or not at all."""

import asyncio
import json
from typing import Any

import pytest

from apps.workers.calls import CallFailed, Completion, Endpoint, Timeouts
from apps.workers.gateway import Gateway
from tests.integration.gateway.conftest import At, unheard
from tests.integration.gateway.odd import HEAD, LAST_WORD, OddServer, event, said

QUESTION = [{"role": "user", "content": "Why is the sky blue?"}]
WHOLE = {
    "model": "any-2026",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "It scatters."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 4},
}


async def ask(gateway: Gateway, endpoint: Endpoint, heard: list[str] | None = None, **extra: Any) -> Completion:
    return await gateway.stream(endpoint, QUESTION, on_delta=unheard if heard is None else heard.append, extra=extra)


async def failure_of(gateway: Gateway, endpoint: Endpoint) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await ask(gateway, endpoint)
    return caught.value


class TestTheRequest:
    async def test_carries_the_key_the_model_and_the_wish_for_an_account(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [said("Hi", finish="stop"), LAST_WORD]

        await ask(gateway, wire_at(odd.base_url + "/", "atlas-1", api_key=" sk-pasted-with-spaces\n"), top_p=0.5)

        [(head, body)] = odd.requests
        assert head.startswith("POST /v1/chat/completions HTTP/1.1")
        assert "Authorization: Bearer sk-pasted-with-spaces\r\n" in head
        assert "Cookie" not in head
        assert body == {
            "model": "atlas-1",
            "messages": QUESTION,
            "stream": True,
            "stream_options": {"include_usage": True},
            "top_p": 0.5,
        }

    async def test_without_a_key_has_no_authorization(self, gateway: Gateway, wire_at: At, odd: OddServer) -> None:
        odd.pieces = [said("Hi", finish="stop"), LAST_WORD]

        await ask(gateway, wire_at(odd.base_url, api_key=""))

        assert "authorization" not in odd.requests[0][0].lower()

    async def test_leaves_out_what_a_parameter_of_none_takes_away(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [said("Hi", finish="stop"), LAST_WORD]

        await ask(gateway, wire_at(odd.base_url, params={"stream_options": None, "temperature": 1}), temperature=None)

        assert set(odd.requests[0][1]) == {"model", "messages", "stream"}

    async def test_cannot_be_turned_to_another_model_by_a_parameter(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [said("Hi", finish="stop"), LAST_WORD]

        await ask(gateway, wire_at(odd.base_url, "mine"), model="dearer", stream=False)

        assert (odd.requests[0][1]["model"], odd.requests[0][1]["stream"]) == ("mine", True)

    @pytest.mark.parametrize("base_url", ["", "localhost:8000/v1", "http://host:port/v1", "ftp://host/v1", "http://"])
    async def test_to_no_valid_address_is_a_bad_request(self, gateway: Gateway, wire_at: At, base_url: str) -> None:
        failure = await failure_of(gateway, wire_at(base_url))

        assert (failure.kind, failure.retryable) == ("bad_request", False)

    async def test_with_a_key_that_no_header_can_carry_is_not_sent(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        failure = await failure_of(gateway, wire_at(odd.base_url, api_key="sk-one\r\nX-Evil: 1"))

        assert (failure.kind, failure.retryable, odd.requests) == ("auth", False, [])


class TestTheReply:
    async def test_is_put_together_from_bytes_split_anywhere(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        text = "Grüße, 世界 😀"
        raw = json.dumps({"choices": [{"delta": {"content": text}}]}, ensure_ascii=False)
        stream = f": hello\r\n\r\ndata: {raw}\r\n\r\ndata: [DONE]\r\n\r\n".encode()
        odd.pieces = [stream[at : at + 1] for at in range(len(stream))]
        odd.pause_s = 0.001

        assert (await ask(gateway, wire_at(odd.base_url))).text == text

    async def test_is_read_to_the_end_before_the_connection_is_used_again(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.head = HEAD.format(more="Transfer-Encoding: chunked")
        odd.keeps_alive = True
        body = said("Hi", finish="stop") + LAST_WORD
        odd.pieces = [f"{len(body):x}\r\n".encode() + body + b"\r\n", b"0\r\n\r\n"]
        odd.pause_s = 0.005

        for _ in range(3):
            await ask(gateway, wire_at(odd.base_url))

        assert (len(odd.requests), odd.connections) == (3, 1)

    async def test_does_not_wait_for_a_server_that_lingers_after_its_last_word(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [said("Hi", finish="stop"), LAST_WORD]
        odd.lingers = True

        completion = await asyncio.wait_for(ask(gateway, wire_at(odd.base_url)), 1)

        assert completion.text == "Hi"
        await asyncio.wait_for(odd.left.wait(), 1)

    @pytest.mark.parametrize(
        "ending",
        [
            [said(finish="stop")],
            [LAST_WORD],
            [b"data: [DONE]"],
            [said(finish="stop"), b'data: {"choices": ['],
        ],
    )
    async def test_is_whole_once_the_server_said_so(
        self, gateway: Gateway, wire_at: At, odd: OddServer, ending: list[bytes]
    ) -> None:
        odd.pieces = [said("Hi"), *ending]

        assert (await ask(gateway, wire_at(odd.base_url))).text == "Hi"

    async def test_is_whole_although_the_connection_broke_after_its_end(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.head = HEAD.format(more="Content-Length: 100000")
        odd.pieces = [said("Hi", finish="stop")]

        assert (await ask(gateway, wire_at(odd.base_url))).text == "Hi"

    async def test_tells_which_model_wrote_it(self, gateway: Gateway, wire_at: At, odd: OddServer) -> None:
        odd.pieces = [said("Hi", finish="stop"), LAST_WORD]

        assert (await ask(gateway, wire_at(odd.base_url, "any"))).model == "any-2026"

    async def test_may_come_whole_from_a_server_that_does_not_stream(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.answer("200 OK", json.dumps(WHOLE), "Content-Type: application/json")
        heard: list[str] = []

        completion = await ask(gateway, wire_at(odd.base_url), heard)

        assert heard == ["It scatters."]
        assert (completion.finish_reason, completion.usage.output_tokens) == ("stop", 4)

    async def test_may_be_a_list_of_parts(self, gateway: Gateway, wire_at: At, odd: OddServer) -> None:
        parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]
        odd.pieces = [said(content=parts), LAST_WORD]
        heard: list[str] = []

        await ask(gateway, wire_at(odd.base_url), heard)

        assert heard == ["Hi"]

    async def test_may_be_a_refusal_in_the_models_words(self, gateway: Gateway, wire_at: At, odd: OddServer) -> None:
        odd.pieces = [said(content=None, refusal="I would rather not."), LAST_WORD]

        assert (await ask(gateway, wire_at(odd.base_url))).text == "I would rather not."

    async def test_is_not_spoilt_by_bytes_that_are_no_text(self, gateway: Gateway, wire_at: At, odd: OddServer) -> None:
        odd.pieces = [b'data: {"choices": [{"delta": {"content": "a\xff\\ud83db"}}]}\n\n', LAST_WORD]

        assert (await ask(gateway, wire_at(odd.base_url))).text == "a\ufffd\ufffdb"


class TestAFailure:
    @pytest.mark.parametrize(
        "chunk",
        [
            b"data: {oops}\n\n",
            b"data: 3\n\n",
            b"data: []\n\n",
            b'data: {"choices": [7]}\n\n',
            b'data: {"choices": {"0": 1}}\n\n',
            b'data: {"choices": [{"delta": "text"}]}\n\n',
            b'data: {"choices": [{"delta": {"content": 7}}]}\n\n',
            b'data: {"choices": [{"delta": {"content": {"a": 1}}}]}\n\n',
            b'data: {"choices": [{"delta": {"content": [{"type": "text", "text": 7}]}}]}\n\n',
            b'data: {"choices": [], "usage": 7}\n\n',
            b'data: {"model": 7}\n\n',
            b"data: " + b"[" * 100_000 + b"\n\n",
        ],
        ids=lambda chunk: chunk[:40].decode().strip(),
    )
    async def test_of_a_chunk_that_makes_no_sense_is_malformed(
        self, gateway: Gateway, wire_at: At, odd: OddServer, chunk: bytes
    ) -> None:
        odd.pieces = [said("It scat"), chunk, LAST_WORD]

        failure = await failure_of(gateway, wire_at(odd.base_url))

        assert (failure.kind, failure.retryable, failure.partial) == ("malformed", True, "It scat")
        assert len(failure.message) < 300

    async def test_of_a_page_in_the_place_of_a_reply_is_malformed(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.answer("200 OK", "<html>Welcome to nginx!</html>", "Content-Type: text/html")

        failure = await failure_of(gateway, wire_at(odd.base_url))

        assert failure.kind == "malformed"
        assert "Welcome to nginx!" in failure.message

    async def test_of_a_server_that_speaks_no_http_is_malformed(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.head = "SSH-2.0-OpenSSH_9.7\r\n\r\n"

        assert (await failure_of(gateway, wire_at(odd.base_url))).kind == "malformed"

    async def test_of_broken_framing_lasts_no_longer_than_the_timeout(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        token = said("It scat")
        odd.head = HEAD.format(more="Transfer-Encoding: chunked")
        odd.pieces = [f"{len(token):x}\r\n".encode() + token + b"\r\n", b"this is no length\r\n"]
        odd.pause_s = 0.05

        # aiohttp closes the connection without waking the one who reads from it, so the time-out has to
        failure = await failure_of(gateway, wire_at(odd.base_url, timeouts=Timeouts(between_tokens_s=0.3)))

        assert failure.kind in ("cut", "timeout")
        assert (failure.retryable, failure.partial) == (True, "It scat")

    async def test_to_stay_is_not_followed(self, gateway: Gateway, wire_at: At, odd: OddServer) -> None:
        odd.answer("307 Temporary Redirect", "", f"Location: {odd.base_url}/elsewhere")

        failure = await failure_of(gateway, wire_at(odd.base_url))

        assert (failure.kind, failure.retryable, failure.status) == ("bad_request", False, 307)
        assert len(odd.requests) == 1

    async def test_says_until_when_to_wait(self, gateway: Gateway, wire_at: At, odd: OddServer) -> None:
        odd.answer("429 Too Many Requests", "slow down", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT")

        failure = await failure_of(gateway, wire_at(odd.base_url))

        assert (failure.message, failure.retry_after_s) == ("slow down", 0)

    async def test_with_a_body_without_end_is_shown_as_far_as_anyone_reads(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.head = "HTTP/1.1 500 Oh No\r\nConnection: close\r\n\r\n"
        odd.pieces = [b"no " * 20_000] * 1_000

        failure = await failure_of(gateway, wire_at(odd.base_url))

        assert (failure.kind, len(failure.message)) == ("server", 2_000)
        await asyncio.wait_for(odd.left.wait(), 1)

    @pytest.mark.parametrize("status", [429, 400])
    async def test_that_comes_in_the_place_of_a_token_may_name_a_status(
        self, gateway: Gateway, wire_at: At, odd: OddServer, status: int
    ) -> None:
        odd.pieces = [event({"error": {"message": "not now", "code": status}})]

        failure = await failure_of(gateway, wire_at(odd.base_url))

        assert (failure.message, failure.status, failure.retryable) == ("not now", status, status == 429)

    async def test_of_a_reply_without_end_closes_the_connection(
        self, gateway: Gateway, wire_at: At, odd: OddServer
    ) -> None:
        odd.pieces = [said("x" * 100_000)] * 1_000

        failure = await failure_of(gateway, wire_at(odd.base_url))

        assert (failure.kind, failure.retryable, len(failure.partial)) == ("malformed", False, 2_000_000)
        await asyncio.wait_for(odd.left.wait(), 1)


async def test_a_closed_gateway_can_be_closed_again_and_leaves_nothing_open(wire_at: At, odd: OddServer) -> None:
    odd.pieces = [said("Hi", finish="stop"), LAST_WORD]
    gateway = Gateway()
    await ask(gateway, wire_at(odd.base_url))

    await gateway.close()
    await gateway.close()


async def test_a_proxy_of_the_environment_is_used_except_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, gateway: Gateway, wire_at: At, odd: OddServer
) -> None:
    monkeypatch.setenv("http_proxy", odd.base_url.removesuffix("/v1"))
    odd.pieces = [said("Hi", finish="stop"), LAST_WORD]

    await ask(gateway, wire_at("http://models.example/v1"))
    await ask(gateway, wire_at(odd.base_url))

    first, second = (head.split("\r\n")[0] for head, _ in odd.requests)
    assert first == "POST http://models.example/v1/chat/completions HTTP/1.1"
    assert second == "POST /v1/chat/completions HTTP/1.1"
