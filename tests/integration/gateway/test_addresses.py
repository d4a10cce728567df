"""An endpoint that leads where no model may be asked is not connected to, whatever its name said before."""

import socket
from typing import Any

import pytest
from django.conf import LazySettings

from apps.workers import wire
from apps.workers.calls import CallFailed
from apps.workers.embedding import Embeddings
from apps.workers.gateway import Gateway
from tests.integration.gateway.conftest import At, unheard
from tests.integration.gateway.odd import LAST_WORD, OddServer, said

QUESTION = [{"role": "user", "content": "Why is the sky blue?"}]
REAL_LOOK_UP = socket.getaddrinfo


@pytest.fixture
def nothing_allowed(settings: LazySettings) -> None:
    settings.ENDPOINT_NETWORKS = []


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names stand for, one answer after the other: the last one stays."""
    known: dict[str, list[str]] = {}

    def look_up(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        if host in known:
            answers = known[host]
            host = answers.pop(0) if len(answers) > 1 else answers[0]
        return REAL_LOOK_UP(host, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


async def refusal(gateway: Gateway, endpoint: Any) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await gateway.stream(endpoint, QUESTION, on_delta=unheard)
    return caught.value


async def test_a_private_address_is_refused_by_both_transports(
    gateway: Gateway, endpoint_at: At, odd: OddServer, nothing_allowed: None
) -> None:
    failure = await refusal(gateway, endpoint_at(odd.base_url))

    assert (failure.kind, failure.retryable) == ("bad_request", False)
    assert "127.0.0.1 is an address of this machine itself" in failure.message
    assert "STUDIO_ENDPOINT_NETWORKS" in failure.message
    assert odd.requests == []


async def test_a_name_that_turns_to_a_private_address_is_refused_at_the_connection(
    gateway: Gateway, wire_at: At, odd: OddServer, nothing_allowed: None, names: dict[str, list[str]]
) -> None:
    names["rebound.test"] = ["93.184.215.14", "127.0.0.1"]
    socket.getaddrinfo("rebound.test", 80)  # the form looked: it was public then

    failure = await refusal(gateway, wire_at(odd.base_url.replace("127.0.0.1", "rebound.test")))

    assert "127.0.0.1 is an address of this machine itself" in failure.message
    assert odd.requests == []


async def test_an_allowed_network_is_connected_to(
    gateway: Gateway, wire_at: At, odd: OddServer, settings: LazySettings, names: dict[str, list[str]]
) -> None:
    settings.ENDPOINT_NETWORKS = ["127.0.0.0/8"]
    names["vllm"] = ["127.0.0.1"]
    odd.pieces = [said("Hi", finish="stop"), LAST_WORD]

    completion = await gateway.stream(wire_at(odd.base_url.replace("127.0.0.1", "vllm")), QUESTION, on_delta=unheard)

    assert completion.text == "Hi"


async def test_vectors_and_lists_of_models_are_asked_for_nowhere_else_either(
    gateway: Gateway, wire_at: At, odd: OddServer, nothing_allowed: None
) -> None:
    session = wire.open_session()
    with pytest.raises(CallFailed, match="this machine itself"):
        await wire.models_of(session, wire_at(odd.base_url), within_s=2)
    with pytest.raises(CallFailed, match="this machine itself"):
        _: Embeddings = await gateway.embed(wire_at(odd.base_url), ["a text"])
    await session.close()

    assert odd.requests == []


async def test_metadata_is_refused_though_everything_is_allowed(
    gateway: Gateway, endpoint_at: At, settings: LazySettings
) -> None:
    settings.ENDPOINT_NETWORKS = ["0.0.0.0/0"]

    failure = await refusal(gateway, endpoint_at("http://169.254.169.254/latest"))

    assert "always refused" in failure.message


async def test_a_proxy_may_be_anywhere_but_is_asked_for_no_metadata(
    wire_at: At, odd: OddServer, nothing_allowed: None, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    names["provider.test"] = ["93.184.215.14"]
    monkeypatch.setenv("http_proxy", odd.base_url.removesuffix("/v1"))
    odd.pieces = [said("Hi", finish="stop"), LAST_WORD]
    gateway = Gateway()

    refused = await refusal(gateway, wire_at("http://169.254.169.254/v1"))
    assert odd.requests == []
    completion = await gateway.stream(wire_at("http://provider.test/v1"), QUESTION, on_delta=unheard)
    await gateway.close()

    assert "always refused" in refused.message
    assert completion.text == "Hi"
    assert odd.requests[0][0].startswith("POST http://provider.test/v1/chat/completions")
