"""Vectors of texts, so that what reads alike lies near: hashed words and pairs of words in a few dimensions.

No trained model: two texts are alike here when they share words. Every word or pair draws one of the 2⁶⁴ vectors of
±1 by its hash, as often as it occurs (dampened), and the sum is brought to length one.
"""

import asyncio
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

from aiohttp import web

from apps.simulator.calls import Refused, named, noted, parsed
from apps.simulator.deliver import half_of, pause
from apps.simulator.knobs import Knobs
from apps.simulator.log import Row
from apps.simulator.models import Model
from apps.simulator.reply import count

DIMS = 64
MOST_INPUTS = 2048  # as OpenAI allows

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Inputs:
    """A request for vectors that was understood. `digest` stands for its texts."""

    model: Model
    knobs: Knobs
    model_string: str
    texts: tuple[str, ...]
    digest: str


def read_inputs(body: bytes, row: Row) -> Inputs:
    """The request as a value, noting in the row what could be read of it.

    :raises Refused: it is not JSON, lacks something, or names no model of ours that makes vectors.
    """
    asked = parsed(body)
    row.input = asked.get("input")
    model_string = noted(asked, row)
    model, knobs = named(model_string)
    if not model.embeds:
        raise Refused(400, f"`{model.id}` makes no vectors; ask it at /v1/chat/completions.")
    texts = [row.input] if isinstance(row.input, str) else row.input
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise Refused(400, "`input` must be a text or a list of texts, none of them empty.")
    if len(texts) > MOST_INPUTS:
        raise Refused(400, f"`input` may hold {MOST_INPUTS} texts at most.")
    row.prompt_tokens = sum(map(count, texts))
    digest = blake2b(json.dumps(texts).encode(), digest_size=16).hexdigest()
    return Inputs(model, knobs, model_string, tuple(texts), digest)


async def give_vectors(request: web.Request, *, asked: Inputs, row: Row, fault: str) -> web.StreamResponse:
    """Send a vector for each text, at the model's pace. `fault` is `cut`, `malformed`, `empty` or nothing."""
    knobs = asked.knobs
    await pause(knobs.ttft_ms / 1000 + (row.prompt_tokens / knobs.rate if knobs.rate else 0))
    vectors = await asyncio.to_thread(lambda: [vector(text) for text in asked.texts if fault != "empty"])
    data = [{"object": "embedding", "index": at, "embedding": numbers} for at, numbers in enumerate(vectors)]
    usage = {"prompt_tokens": row.prompt_tokens, "total_tokens": row.prompt_tokens}
    answer = {"object": "list", "model": asked.model_string, "data": data, "usage": usage}
    payload = json.dumps(answer | {"system_fingerprint": "simulated"}).encode()
    row.outcome = fault or "done"
    if fault in ("cut", "malformed"):
        return await half_of(request, payload, cut=fault == "cut")
    return web.Response(body=payload, content_type="application/json")


def vector(text: str) -> list[float]:
    """The text as `DIMS` numbers, of length one unless there is no word in it."""
    words = _WORD.findall(text.casefold())
    terms = Counter([*words, *(f"{one} {other}" for one, other in pairwise(words))])
    sums = [0.0] * DIMS
    for term, times in terms.items():
        weight = 1 + math.log(times)
        for at, sign in enumerate(signs(term)):
            sums[at] += weight * sign
    length = math.sqrt(sum(value * value for value in sums))
    return [round(value / length, 7) for value in sums] if length else sums


@lru_cache(maxsize=50_000)
def signs(term: str) -> tuple[int, ...]:
    """The term's own vector of ±1."""
    bits = int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=DIMS // 8).digest())
    return tuple(1 if bits >> at & 1 else -1 for at in range(DIMS))
