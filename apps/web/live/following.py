"""Reads what a socket tells of a run, as plain data: events after a place, and texts that are being written.

Events come from the table, a text from Redis while it is being written and from its row once it was.
"""

import asyncio
import re
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import redis.asyncio
from channels.db import database_sync_to_async
from django.conf import settings

from apps.audit import log
from apps.runs.live import draft_so_far, text_so_far
from apps.runs.models import Attempt, Proposal, Run

TEXT_CHARS = 2_000  # of a text in an event; the whole is fetched with the page's parts
EVENTS_AT_ONCE = 1_000
PIECE_CHARS = 100_000  # of a text being written: a frame a browser takes in without a hitch
REDIS_PATIENCE_S = 5

STREAM = re.compile(r"(?P<kind>[ap])(?P<id>[0-9]{1,18})")

# Reads of all sockets, a few at once; apart from the pages' threads, which a database that is away must not fill.
_readers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="sockets")

Found = TypeVar("Found")


async def read(job: "partial[Found]") -> Found:
    """Do `job` in a thread that gives its database connection back afterwards."""
    found: Found = await database_sync_to_async(job, thread_sensitive=False, executor=_readers)()
    return found


# --- events --------------------------------------------------------------------------------------------------------


def events_after(trail: str, after: int, *, limit: int = EVENTS_AT_ONCE) -> list[dict[str, Any]]:
    """The next events of a trail, at most `limit`, as a browser reads them."""
    return [_told(event) for event in log.read(trail, after=after, limit=limit, texts_limit=TEXT_CHARS)]


def _told(event: log.Read) -> dict[str, Any]:
    # What was sent to a model is long and seldom looked at; an erased text is no text.
    texts = {name: text for name, text in event.texts.items() if name != "request" and text is not None}
    return {
        "seq": event.seq,
        "at": event.at.isoformat(),
        "verb": event.verb,
        "actor": {"kind": event.actor.kind, "label": event.actor.label},
        "data": event.data,
        "texts": texts,
    }


# --- texts being written -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Writing:
    """A text of a run: what its row holds of it, and whether that is all there will be."""

    stream: str
    written: str
    is_over: bool
    proposal: int | None = None  # whose draft of steps goes with it


def being_written(run: Run) -> list[Writing]:
    """The texts that models are writing for `run` this moment."""
    proposals = run.proposals.filter(status=Proposal.Status.WRITING).only("pk")
    attempts = run.attempts.filter(status=Attempt.Status.RUNNING).only("pk")
    return [
        *(Writing(proposal.stream, "", False, proposal.pk) for proposal in proposals),
        *(Writing(attempt.stream, "", False) for attempt in attempts.order_by("pk")),
    ]


def written(run: Run, stream: str) -> Writing | None:
    """What the rows say of a text of `run`; None where it is no text of this run."""
    name = STREAM.fullmatch(stream)
    if name is None:
        return None
    pk = int(name["id"])
    if name["kind"] == "a":
        attempt = run.attempts.filter(pk=pk).only("pk", "status", "text").first()
        return None if attempt is None else Writing(stream, attempt.text, attempt.status != Attempt.Status.RUNNING)
    proposal = run.proposals.filter(pk=pk).only("pk", "status", "raw").first()
    if proposal is None:
        return None
    return Writing(stream, proposal.raw, proposal.status != Proposal.Status.WRITING, pk)


async def text_of(writing: Writing) -> str:
    """The text, as far as it is known: the row's once it is over, before that what Redis holds.

    :raises RedisError: it is still being written, and Redis does not answer.
    """
    if writing.is_over and writing.written:
        return writing.written
    return await text_so_far(live_client(), writing.stream) or writing.written


async def draft_of(proposal: int) -> list[dict[str, Any]] | None:
    """The steps a conductor has written so far.

    :raises RedisError: Redis does not answer.
    """
    return await draft_so_far(live_client(), proposal)


def text_frames(stream: str, text: str, start: int) -> Iterator[dict[str, Any]]:
    """`text` from code point `start` on; at least one frame, since somebody waits for an answer."""
    rest = text[start:]
    for offset in range(0, max(1, len(rest)), PIECE_CHARS):
        piece = rest[offset : offset + PIECE_CHARS]
        yield {"t": "text", "stream": stream, "from": start + offset, "text": piece}


# --- Redis ---------------------------------------------------------------------------------------------------------

_clients: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, redis.asyncio.Redis]" = weakref.WeakKeyDictionary()


def live_client() -> "redis.asyncio.Redis":
    """The one client of this event loop; more viewers than connections wait for their turn."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        pool = redis.asyncio.BlockingConnectionPool.from_url(
            settings.REDIS_URL,
            max_connections=16,
            timeout=REDIS_PATIENCE_S,
            socket_connect_timeout=REDIS_PATIENCE_S,
            socket_timeout=REDIS_PATIENCE_S,
        )
        _clients[loop] = redis.asyncio.Redis.from_pool(pool)
    return _clients[loop]


async def close_live_client() -> None:
    """Close this loop's client, where one was opened: for a loop that ends before its process does."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()
