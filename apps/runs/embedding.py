"""Vectors from a run's embedding worker: asked for as patiently as any call, paid for, and told of in its trail."""

import struct
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from hashlib import sha256
from secrets import token_hex
from typing import Any, Literal

from django.utils import timezone

from apps.runs.calling import Credit, Door, Tries, Wait, tokens_of
from apps.runs.desk import Desk
from apps.runs.models import Run
from apps.runs.notes import Notes
from apps.runs.process import Process
from apps.runs.purse import embedding_ref
from apps.spend.book import Refusal
from apps.workers.calls import CallFailed, Endpoint, Usage
from apps.workers.embedding import Embeddings, Vector
from apps.workers.places import Place
from apps.workers.services import open_endpoint

Frozen = Mapping[str, Any]
Check = Callable[[], Awaitable[None]]
What = Literal["task", "answers"]


class Embedding:
    """What one driver asks a run's embedding worker."""

    def __init__(self, run: Run, desk: Desk, process: Process, notes: Notes) -> None:
        self.run = run
        self.desk = desk
        self.process = process
        self.notes = notes

    async def vectors(
        self, texts: Sequence[str], *, frozen: Mapping[str, Any], what: What, check: Check
    ) -> tuple[Vector, ...]:
        """The vectors of `texts`, which are the run's task or its answers, by the `frozen` worker.

        `check` says before each call, however long that waited, whether the worker may still read them.

        :raises CallFailed: it gave none, however often it was asked. :raises StudioError: its key cannot be opened.
        :raises StepHeld: it may not read them, or a limit forbids it.
        """
        endpoint = await self.notes.do(partial(open_endpoint, frozen))
        about = {"worker": frozen["slug"], "what": what, "texts": len(texts)}
        door = Door(self.process.turnstile, frozen, limits=self.process.limits, tell=self._say_nothing)
        tries = Tries(self.run.setup["tries"], may_wait=True)
        plain = [{"content": text} for text in texts]
        credit = Credit(tell=self._say_nothing)
        async for trial in tries.again():
            with trial:
                while True:
                    async with door.open(tokens=tokens_of(frozen, plain), may_wait=True) as place:
                        about |= {"number": trial.retry_state.attempt_number, "call": token_hex(8)}
                        await check()
                        refusal = await self._set_aside(frozen, plain, about)
                        if refusal is None:
                            fails = partial(tries.failed, state=trial.retry_state)
                            return (await self._ask(frozen, endpoint, texts, about, place, fails)).vectors
                    await credit.wait(refusal)
        raise AssertionError("tenacity either returns or raises")

    async def _say_nothing(self, wait: Wait) -> None:
        """No step of the run shows this call: there is nowhere to say that it waits."""

    async def _set_aside(self, frozen: Frozen, texts: list[dict[str, str]], about: Mapping[str, Any]) -> Refusal | None:
        purse = self.desk.purse
        if not purse.knows(frozen):
            await self.notes.do(partial(purse.look_up, frozen["slug"], at=timezone.now()))
        ref = embedding_ref(self.run, about["call"])
        set_aside = partial(self.desk.set_aside, ref=ref, frozen=frozen, messages=texts)
        return await self.notes.write(set_aside)

    async def _ask(
        self,
        frozen: Frozen,
        endpoint: Endpoint,
        texts: Sequence[str],
        about: dict[str, Any],
        place: Place,
        fails: Callable[[CallFailed], float | None],
    ) -> Embeddings:
        """One call, written down however it ends."""
        began = time.monotonic()
        place.unused = False
        try:
            found = await self.process.gateway.embed(endpoint, texts)
        except CallFailed as failure:
            await place.heard(failure)
            fails(failure)
            cost_usd = endpoint.price.cost_usd(failure.usage) if failure.usage else Decimal(0)
            told = about | {"kind": failure.kind, "status": failure.status, "retryable": failure.retryable}
            told |= _bill(failure.usage or Usage(0), cost_usd, (time.monotonic() - began) * 1000)
            tell = partial(self.desk.embedding_failed, told=told, failure=failure, cost_usd=cost_usd)
            await self.notes.write(partial(tell, ref=embedding_ref(self.run, about["call"]), frozen=frozen))
            raise
        await place.heard(None)
        told = about | {"dims": found.dims} | _bill(found.usage, found.cost_usd, found.duration_ms)
        digest = digest_of(found.vectors)
        tell = partial(self.desk.embedded, told=told, digest=digest, usage=found.usage, cost_usd=found.cost_usd)
        await self.notes.write(partial(tell, ref=embedding_ref(self.run, about["call"]), frozen=frozen))
        return found


def digest_of(vectors: Sequence[Vector]) -> str:
    """Names the vectors in a trail that does not keep them: their numbers as eight bytes each, little end first.

    It has no salt: whoever guesses what was embedded can tell by it, so it is a text, to be erased with the others.
    """
    digest = sha256()
    for vector in vectors:
        digest.update(struct.pack(f"<{len(vector)}d", *vector))
    return digest.hexdigest()


def _bill(usage: Usage, cost_usd: Decimal | None, duration_ms: float) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "estimated": usage.estimated,
        "cost_usd": None if cost_usd is None else str(cost_usd),
        "duration_ms": round(duration_ms, 1),
    }
