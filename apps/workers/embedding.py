"""Texts as vectors, by a model that makes them: what a call of one brings, and how the OpenAI protocol carries it.

A call is a `Batch` of texts, as a stream is a `Reply`: whatever transport carries it pours in what came, and the batch
checks it. No texts are better than a wrong vector, so what is not exactly one sound vector for each text is malformed.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from time import monotonic
from typing import Any, Final

import aiohttp

from apps.workers import wire
from apps.workers.calls import CallFailed, Endpoint, Reply, Usage, clean, refusal

MOST_AT_ONCE: Final = 64
# 64 vectors of 8,192 numbers, each written with its 20 digits.
LONGEST_REPLY_BYTES: Final = 16_000_000

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Embeddings:
    """A vector for each text, in their order, all of one length; and what they took."""

    vectors: tuple[Vector, ...]
    usage: Usage
    cost_usd: Decimal | None
    duration_ms: float
    model: str

    @property
    def dims(self) -> int:
        return len(self.vectors[0]) if self.vectors else 0


class Batch(Reply):
    """One call for the vectors of a few texts: as with a stream, what comes is poured in and accounted for."""

    def __init__(self, endpoint: Endpoint, texts: Sequence[str]) -> None:
        super().__init__(endpoint, [{"role": "user", "content": text} for text in texts], _unheard)
        self.texts = texts
        self.vectors: tuple[Vector, ...] = ()

    @property
    def consumed(self) -> Usage:
        """What the provider counted, or an estimate; nothing is written but vectors."""
        return replace(self.usage or self._estimate(), output_tokens=0, reasoning_tokens=0)

    def take(self, answer: object) -> None:
        """Pour in the whole answer of the protocol.

        :raises CallFailed: it is an error, or not one vector of finite numbers for each text.
        """
        if not isinstance(answer, Mapping):
            raise malformed("no answer of the protocol")
        if answer.get("error"):
            raise refusal(500, json.dumps(answer, default=str), secret=self.endpoint.api_key)
        usage = answer.get("usage")
        if isinstance(usage, Mapping) and usage.get("prompt_tokens"):  # litellm writes 0 where nobody counted
            self.meter(usage)
        if model := answer.get("model"):
            self.model = clean(str(model))[:200]
        self.vectors = vectors_in(answer.get("data"), len(self.texts))


Ask = Callable[[Batch], Awaitable[None]]


async def embed(endpoint: Endpoint, texts: Sequence[str], *, ask: Ask) -> Embeddings:
    """The vectors of `texts`, a few at a time. `ask` carries one batch.

    :raises CallFailed: for everything else; what was consumed until then is on it.
    """
    began = monotonic()
    done: list[Batch] = []
    limits = endpoint.timeouts
    try:
        async with within(limits.whole_s, f"the vectors were not there within {limits.whole_s:g} s", retryable=False):
            for start in range(0, len(texts), MOST_AT_ONCE):
                done.append(batch := Batch(endpoint, texts[start : start + MOST_AT_ONCE]))
                async with within(limits.first_token_s, f"no answer within {limits.first_token_s:g} s"):
                    await ask(batch)
        vectors = tuple(vector for batch in done for vector in batch.vectors)
        if len({len(vector) for vector in vectors}) > 1:
            raise malformed("vectors of unequal lengths")
    except CallFailed as failure:
        failure.usage = total(done)
        raise
    usage = total(done) or Usage(0)
    return Embeddings(
        vectors=vectors,
        usage=usage,
        cost_usd=endpoint.price.cost_usd(usage),
        duration_ms=(monotonic() - began) * 1000,
        model=done[-1].model if done else endpoint.model,
    )


async def ask_over_wire(session: aiohttp.ClientSession, batch: Batch, params: Mapping[str, Any]) -> None:
    """Ask the endpoint of `batch` for its vectors. A parameter of None is left out of the request.

    :raises CallFailed: for whatever the endpoint or the network did wrong.
    """
    endpoint = batch.endpoint
    key, url = wire.key_of(endpoint), wire.address_of(endpoint, "/embeddings")
    body = {**params, "model": endpoint.model, "input": list(batch.texts)}
    try:
        async with session.post(
            url,
            data=json.dumps({name: value for name, value in body.items() if value is not None}).encode(),
            headers=wire.headers(key) | {"Accept": "application/json"},
            proxy=wire.proxy_of(url),
            timeout=aiohttp.ClientTimeout(total=None, connect=endpoint.timeouts.connect_s),
            allow_redirects=False,
        ) as response:
            try:
                await wire.check(response, endpoint)
                batch.answered = True
                batch.take(decoded(await wire.read(response, LONGEST_REPLY_BYTES + 1)))
            except BaseException:
                response.close()  # at once, as with a stream
                raise
    except aiohttp.ClientError as error:
        raise wire.failure_of(error, batch) from None


def decoded(body: bytes) -> object:
    """:raises CallFailed: it is too long, or no JSON."""
    if len(body) > LONGEST_REPLY_BYTES:
        raise CallFailed("malformed", "the endpoint sends vectors that have no end", retryable=False)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise malformed("no JSON") from None


def vectors_in(data: object, wanted: int) -> tuple[Vector, ...]:
    """The vectors of an answer, in the order of the texts, which the answer may list in another.

    :raises CallFailed: they are not `wanted` vectors of finite numbers, all of one length.
    """
    if not isinstance(data, list) or len(data) != wanted:
        told = f"{len(data):,} vectors" if isinstance(data, list) else "no vectors"
        raise malformed(f"{told} for {wanted:,} texts")
    found: dict[int, Vector] = {}
    for place, entry in enumerate(data):
        if not isinstance(entry, Mapping):
            raise malformed("no vectors")
        index = entry.get("index", place)
        found[index if isinstance(index, int) else place] = numbers(entry.get("embedding"))
    if found.keys() != set(range(wanted)):
        raise malformed("vectors that are not numbered as the texts are")
    if len({len(vector) for vector in found.values()}) > 1:
        raise malformed("vectors of unequal lengths")
    return tuple(found[place] for place in range(wanted))


def numbers(embedding: object) -> Vector:
    """:raises CallFailed: there are none, or one that is not finite."""
    if not isinstance(embedding, list) or not embedding:
        raise malformed("a vector that is no list of numbers")
    try:
        vector = tuple(float(value) for value in embedding if type(value) in (int, float))
    except OverflowError:
        vector = ()
    if len(vector) != len(embedding) or not all(map(math.isfinite, vector)):
        raise malformed("a vector with something in it that is no finite number")
    return vector


def total(batches: Sequence[Batch]) -> Usage | None:
    """What all of them consumed that were taken on; None where none was."""
    consumed = [batch.consumed for batch in batches if batch.answered]
    if not consumed:
        return None
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in consumed),
        cached_tokens=sum(usage.cached_tokens for usage in consumed),
        estimated=any(usage.estimated for usage in consumed),
    )


@asynccontextmanager
async def within(seconds: float, message: str, *, retryable: bool = True) -> AsyncIterator[None]:
    """:raises CallFailed: it took longer."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise CallFailed("timeout", message, retryable=retryable) from None


def malformed(what: str) -> CallFailed:
    return CallFailed("malformed", f"the endpoint sent {what}", retryable=True)


def _unheard(text: str) -> None:
    """Vectors come whole: nobody listens."""
