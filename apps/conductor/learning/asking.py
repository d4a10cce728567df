"""Vectors of all that a planner is to learn from, asked of an embedding worker."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

from apps.workers.calls import CallFailed, Endpoint
from apps.workers.embedding import MOST_AT_ONCE, Embeddings, Vector
from apps.workers.gateway import Gateway
from apps.workers.patience import is_worth_retrying, wait_for_call
from apps.workers.services import open_endpoint

TRIES: Final = 3


@dataclass(frozen=True)
class Asked:
    """The vector of each text, all with `dims` numbers, and what they took; the cost is None where it is unknown."""

    vectors: Mapping[str, Vector]
    dims: int
    input_tokens: int
    cost_usd: Decimal | None


def ask_vectors(frozen: Mapping[str, Any], texts: Sequence[str]) -> Asked:
    """The vectors of `texts` by a frozen embedding worker, each text asked for once; a batch that fails is tried again.

    :raises CallFailed: it gave none. :raises StudioError: its key cannot be opened.
    """
    different = list(dict.fromkeys(texts))
    parts = asyncio.run(_ask(open_endpoint(frozen), different))
    if len({part.dims for part in parts}) > 1:
        raise CallFailed("malformed", "the endpoint sent vectors of unequal lengths", retryable=False)
    vectors = (vector for part in parts for vector in part.vectors)
    costs = [part.cost_usd for part in parts]
    return Asked(
        vectors=dict(zip(different, vectors, strict=True)),
        dims=parts[0].dims if parts else 0,
        input_tokens=sum(part.usage.input_tokens for part in parts),
        cost_usd=sum((cost for cost in costs if cost is not None), Decimal(0)) if None not in costs else None,
    )


async def _ask(endpoint: Endpoint, texts: Sequence[str]) -> list[Embeddings]:
    gateway = Gateway()
    try:
        starts = range(0, len(texts), MOST_AT_ONCE)
        return [await _patiently(gateway, endpoint, texts[start : start + MOST_AT_ONCE]) for start in starts]
    finally:
        await gateway.close()


async def _patiently(gateway: Gateway, endpoint: Endpoint, texts: Sequence[str]) -> Embeddings:
    async for trial in AsyncRetrying(
        stop=stop_after_attempt(TRIES), retry=retry_if_exception(is_worth_retrying), wait=wait_for_call, reraise=True
    ):
        with trial:
            return await gateway.embed(endpoint, texts)
    raise AssertionError("tenacity either returns or raises")
