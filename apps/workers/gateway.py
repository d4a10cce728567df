"""The one way to a model: whatever transport reaches it, a call streams, is metered, is bounded and can be cancelled.

This is the only module that imports litellm, and it does so when the first call needs it: the import takes two
seconds and 160 MB, which a driver that only talks to OpenAI-compatible endpoints never pays.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from time import monotonic
from types import TracebackType
from typing import Any, Self

import aiohttp

from apps.workers import addresses, embedding, wire
from apps.workers.calls import CallFailed, Completion, Endpoint, FailureKind, Reply, Timeouts, clean, refusal, tidy
from apps.workers.embedding import Batch, Embeddings

# litellm puts its own names before the provider's words: "litellm.RateLimitError: RateLimitError: OpenAIException - …".
LITELLM_PREFIX = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)(?::\s*|\s+-\s+))+")

# By name, because importing httpx for them would cost every process that never uses litellm.
HTTPX_FAILURES: Mapping[str, FailureKind] = {
    "ConnectTimeout": "timeout",
    "ReadTimeout": "timeout",
    "WriteTimeout": "timeout",
    "PoolTimeout": "timeout",
    "ConnectError": "refused",
    "ReadError": "refused",
    "WriteError": "refused",
    "RemoteProtocolError": "refused",
}


class Gateway:
    """Calls models, all of them over one session on one event loop, until it is closed."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._litellm: Any = None

    async def stream(
        self,
        endpoint: Endpoint,
        messages: list[dict[str, str]],
        *,
        on_delta: Callable[[str], None],
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Ask the model for a reply to `messages` and hand each piece of it to `on_delta` as it arrives.

        `extra` goes over the endpoint's own parameters. Cancelling the task closes the connection at once, and
        `on_delta` is not called again.

        :raises CallFailed: for everything that is not a whole reply.
        """
        await self._ready_for(endpoint)
        reply = Reply(endpoint, messages, until_cancelled(on_delta))
        params = {**endpoint.params, **(extra or {})}
        try:
            async with Patience(reply, endpoint.timeouts):
                if endpoint.transport == "litellm":
                    await stream_through_litellm(self._litellm, reply, params)
                else:
                    await wire.stream(self._open(), reply, params)
            return reply.completion()
        except CallFailed as failure:
            raise reply.account(failure) from None

    async def embed(self, endpoint: Endpoint, texts: Sequence[str]) -> Embeddings:
        """A vector for each of `texts`, all of one length, by a model that makes them; 64 texts go in one request.

        :raises CallFailed: for everything that is not one sound vector for each text.
        """
        await self._ready_for(endpoint)

        async def ask(batch: Batch) -> None:
            if endpoint.transport == "litellm":
                await embed_through_litellm(self._litellm, batch)
            else:
                await embedding.ask_over_wire(self._open(), batch, endpoint.params)

        return await embedding.embed(endpoint, texts, ask=ask)

    async def close(self) -> None:
        """Close every connection. Calls that are still under way fail."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        if self._litellm is not None:
            await self._litellm.close_litellm_async_clients()
            self._litellm.in_memory_llm_clients_cache.flush_cache()
            self._litellm = None

    async def _ready_for(self, endpoint: Endpoint) -> None:
        if endpoint.transport != "litellm":
            return
        try:  # litellm connects by itself; over wire the connection is judged
            await addresses.check(endpoint.base_url)
        except addresses.AddressRefused as refused:
            raise CallFailed("bad_request", addresses.refusal_in(refused), retryable=False) from None
        if self._litellm is None:
            self._litellm = await asyncio.to_thread(import_litellm)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = wire.open_session()
        return self._session


def until_cancelled(on_delta: Callable[[str], None]) -> Callable[[str], None]:
    """`on_delta`, deaf from the moment the running task is cancelled.

    Many tokens can lie in one network packet: without this a callback that cancels its own call would be handed
    the rest of them.
    """
    task = asyncio.current_task()
    assert task is not None, "a coroutine that awaits runs in a task"
    cancellations = task.cancelling()

    def deliver(text: str) -> None:
        if task.cancelling() == cancellations:
            on_delta(text)

    return deliver


class Patience:
    """Ends a call that has waited too long for its first token, for its next one, or in all.

    The timer is not moved with every token, which would cost more than the token: when it rings it looks whether
    one has come meanwhile, and is wound up again for the rest.
    """

    def __init__(self, reply: Reply, timeouts: Timeouts) -> None:
        self._reply = reply
        self._timeouts = timeouts
        self._limit = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None
        self._lost: CallFailed | None = None

    async def __aenter__(self) -> Self:
        await self._limit.__aenter__()
        self._look()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError:
            assert self._lost is not None, "only _look sets the limit"
            raise self._lost from None

    def _look(self) -> None:
        left_s, failure = self._left()
        loop = asyncio.get_running_loop()
        if left_s > 0:
            # The first token can bring the end nearer, so never look away for longer than the shortest wait.
            self._timer = loop.call_later(min(left_s, self._timeouts.between_tokens_s), self._look)
        else:
            self._lost = failure
            self._limit.reschedule(loop.time())

    def _left(self) -> tuple[float, CallFailed]:
        now, reply, limits = monotonic(), self._reply, self._timeouts
        whole_s = reply.begun_at + limits.whole_s - now
        if reply.heard_at is None:
            silent_s = reply.begun_at + limits.first_token_s - now
            message = f"no first token within {limits.first_token_s:g} s"
        else:
            silent_s = reply.heard_at + limits.between_tokens_s - now
            message = f"no further token for {limits.between_tokens_s:g} s"
        if silent_s <= whole_s:
            return silent_s, CallFailed("timeout", message, retryable=True)
        # The same question would take as long again, and cost as much.
        message = f"the reply was not finished within {limits.whole_s:g} s"
        return whole_s, CallFailed("timeout", message, retryable=False)


def import_litellm() -> Any:
    # Without these, importing it fetches a price map over the network and reads a .env file from the working directory.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    # It takes a hundred like pieces for a model gone mad, and a reply with a long ruler or table in it has them.
    os.environ["REPEATED_STREAMING_CHUNK_LIMIT"] = str(sys.maxsize)
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


async def stream_through_litellm(litellm: Any, reply: Reply, params: Mapping[str, Any]) -> None:
    """Ask for `reply` through litellm, which speaks every provider's own protocol, and pour in what comes.

    :raises CallFailed: for whatever the endpoint or the network did wrong.
    """
    async with aclosing(chunks_of(litellm, reply, params)) as chunks:
        async for chunk in chunks:
            take(chunk, reply)


async def chunks_of(litellm: Any, reply: Reply, params: Mapping[str, Any]) -> AsyncGenerator[Any]:
    # A generator of its own, so that what the caller's on_delta raises is never taken for a failure of the endpoint.
    stream: Any = None
    handled = sys.exception()
    try:
        stream = await litellm.acompletion(**request_of(reply, params))
        reply.answered = True
        async for chunk in stream:
            yield chunk
            if usage := getattr(chunk, "usage", None):
                # Where the provider gave no account litellm makes one up with a tokenizer.
                given = any(getattr(each, "usage", None) for each in stream.chunks)
                reply.meter(usage.model_dump(), estimated=not given)
        # litellm ends every stream with "stop", also one that broke off; what the provider said is kept beside it.
        if stream.received_finish_reason is None and stream.intermittent_finish_reason is None:
            reply.finish_reason = None
    except Exception as error:
        raise failure_of(error, handled, reply) from None
    finally:
        if stream is not None:
            await stream.aclose()


def request_of(reply: Reply, params: Mapping[str, Any]) -> dict[str, Any]:
    streamed = {"messages": reply.messages, "stream": True}
    return {"stream_options": {"include_usage": True}, **params, **streamed, **address_of(reply.endpoint)}


def address_of(endpoint: Endpoint) -> dict[str, Any]:
    """Whom litellm asks, with which key, and how long it waits."""
    import httpx  # litellm's own HTTP client, which it has loaded by now

    # litellm falls back to keys in the environment: none of them may go to an address that was given without a key.
    key = endpoint.api_key.strip() or ("none" if endpoint.base_url else None)
    return {
        "model": endpoint.model,
        "api_base": endpoint.base_url or None,
        "api_key": key,
        "timeout": httpx.Timeout(endpoint.timeouts.whole_s, connect=endpoint.timeouts.connect_s),
        "max_retries": 0,  # the driver tries again, and records each attempt
    }


async def embed_through_litellm(litellm: Any, batch: Batch) -> None:
    """Ask for the vectors of `batch` through litellm.

    :raises CallFailed: for whatever the endpoint or the network did wrong.
    """
    handled = sys.exception()
    endpoint = batch.endpoint
    try:
        answer = await litellm.aembedding(**{**endpoint.params, "input": list(batch.texts), **address_of(endpoint)})
    except Exception as error:
        raise failure_of(error, handled, batch) from None
    batch.answered = True
    batch.take(answer.model_dump())


def take(chunk: Any, reply: Reply) -> None:
    if model := getattr(chunk, "model", None):
        reply.model = clean(model)[:200]
    if not chunk.choices:
        return
    choice = chunk.choices[0]
    if thought := getattr(choice.delta, "reasoning_content", None):
        reply.think(thought)
    if text := choice.delta.content:
        reply.hear(text)
    if choice.finish_reason:
        reply.finish(choice.finish_reason)


def failure_of(error: Exception, handled: BaseException | None, reply: Reply) -> CallFailed:
    """Sort what litellm raised. It wraps a failure several times over, so what began it is looked for beneath."""
    secret = reply.endpoint.api_key
    layers = list(layers_of(error, until=handled))
    for layer in layers:
        if isinstance(layer, aiohttp.ClientError):
            return wire.failure_of(layer, reply)
    for layer in layers:
        if isinstance(layer, ValueError) and reply.answered:
            shown = f"the endpoint sent something that is no chunk of a reply: {layer}"
            return CallFailed("malformed", tidy(shown, secret), retryable=True)
        if failure := HTTPX_FAILURES.get(type(layer).__name__):
            return failure_beneath(failure, layer, reply)

    status = next((layer.status_code for layer in layers if isinstance(getattr(layer, "status_code", None), int)), None)
    if status is None:
        return CallFailed("bad_request", tidy(f"{type(error).__name__}: {error}", secret), retryable=False)
    bodies = (layer.body for layer in layers if isinstance(getattr(layer, "body", None), Mapping))
    body = next((json.dumps({"error": body}, default=str) for body in bodies), None)
    headers: Mapping[str, str] = next(
        filter(None, (getattr(layer, "litellm_response_headers", None) for layer in layers)), {}
    )
    said = body or LITELLM_PREFIX.sub("", str(error))
    return refusal(status, said, retry_after=headers.get("retry-after"), secret=secret)


def failure_beneath(kind: FailureKind, error: BaseException, reply: Reply) -> CallFailed:
    """A failure of the HTTP client that litellm uses where it does not use aiohttp."""
    if kind == "refused" and reply.answered:
        kind = "cut"
    return CallFailed(kind, tidy(f"{type(error).__name__}: {error}", reply.endpoint.api_key), retryable=True)


def layers_of(error: BaseException, *, until: BaseException | None) -> Iterator[Any]:
    """`error` and what it was raised from, down to what the caller was already handling when it called us."""
    layer: BaseException | None = error
    seen: set[int] = set()
    while layer is not None and layer is not until and id(layer) not in seen:
        yield layer
        seen.add(id(layer))
        layer = getattr(layer, "original_exception", None) or layer.__cause__ or layer.__context__
