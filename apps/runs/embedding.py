"""Vectors from a run's embedding worker: asked for as patiently as any call, paid for, and told of in its trail."""

import struct
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from hashlib import sha256
from secrets import token_hex
from typing import Any, Literal

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

from apps.audit.models import Event
from apps.runs.calls import spend
from apps.runs.desk import Page
from apps.runs.models import Run
from apps.runs.process import Process
from apps.workers.calls import CallFailed, Endpoint, Usage
from apps.workers.embedding import Embeddings, Vector
from apps.workers.patience import is_worth_retrying, wait_for_call
from apps.workers.services import open_endpoint

VERBS = ("embedding.done", "embedding.failed")

Write = Callable[[Callable[[Page], Any]], Awaitable[Any]]
Do = Callable[[Callable[[], Any]], Awaitable[Any]]
What = Literal["task", "answers"]


class Embedding:
    """What one driver asks a run's embedding worker."""

    def __init__(self, run: Run, process: Process, write: Write, do: Do) -> None:
        self.run = run
        self.process = process
        self.write = write
        self.do = do

    async def vectors(self, texts: Sequence[str], *, frozen: Mapping[str, Any], what: What) -> tuple[Vector, ...]:
        """The vectors of `texts`, which are the run's task or its answers, by the `frozen` worker.

        :raises CallFailed: it gave none, however often it was asked. :raises StudioError: its key cannot be opened.
        """
        endpoint = await self.do(partial(open_endpoint, frozen))
        about = {"worker": frozen["slug"], "what": what, "texts": len(texts)}
        async for trial in AsyncRetrying(
            stop=stop_after_attempt(self.run.setup["tries"]),
            retry=retry_if_exception(is_worth_retrying),
            wait=wait_for_call,
            reraise=True,
        ):
            with trial:
                number = trial.retry_state.attempt_number
                return (await self._ask(endpoint, texts, about | {"number": number})).vectors
        raise AssertionError("tenacity either returns or raises")

    async def _ask(self, endpoint: Endpoint, texts: Sequence[str], about: dict[str, Any]) -> Embeddings:
        """One call, written down however it ends."""
        about["call"] = token_hex(8)
        began = time.monotonic()
        try:
            found = await self.process.gateway.embed(endpoint, texts)
        except CallFailed as failure:
            cost_usd = endpoint.price.cost_usd(failure.usage) if failure.usage else Decimal(0)
            told = about | {"kind": failure.kind, "status": failure.status, "retryable": failure.retryable}
            told |= _bill(failure.usage or Usage(0), cost_usd, (time.monotonic() - began) * 1000)
            await self.write(partial(self._fail, told=told, failure=failure, cost_usd=cost_usd))
            raise
        told = about | {"dims": found.dims, "digest": digest_of(found.vectors)}
        told |= _bill(found.usage, found.cost_usd, found.duration_ms)
        await self.write(partial(self._keep, told=told, found=found))
        return found

    def _keep(self, page: Page, *, told: dict[str, Any], found: Embeddings) -> None:
        if self._is_new(told["call"]):
            spend(self.run, found.usage, found.cost_usd)
            page.tell("embedding.done", told)

    def _fail(self, page: Page, *, told: dict[str, Any], failure: CallFailed, cost_usd: Decimal | None) -> None:
        if self._is_new(told["call"]):
            spend(self.run, failure.usage, cost_usd)
            page.tell("embedding.failed", told, {"error": failure.message})

    def _is_new(self, call: str) -> bool:
        """Whether it was not written before: the database may go away between a commit and its answer."""
        events = Event.objects.filter(trail__name=self.run.trail, verb__in=VERBS)
        return not events.filter(line__contains=call).exists()


def digest_of(vectors: Sequence[Vector]) -> str:
    """Names the vectors in a trail that does not keep them: their numbers as eight bytes each, little end first."""
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
