"""What models are writing this very moment: appended to Redis for whoever comes later, sent to whoever watches.

The table is the letter, the socket is the doorbell. A piece of text carries its offset (in Unicode code points), so a
viewer that missed one sees the gap and asks for it: from Redis while the text is being written, later from the row.
"""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import redis.asyncio
import structlog
from channels.layers import BaseChannelLayer, get_channel_layer
from redis.exceptions import RedisError

from apps.core.waiting import happens
from apps.runs.models import group_of

logger = structlog.get_logger(__name__)

SEND_S = 3.0  # a Redis that does not answer must not hold up the frames of every run
KEEP_WRITING_S = 3600  # while a text is being written
KEEP_WRITTEN_S = 600  # after it was committed, for viewers in the middle of a catch-up

# One frame a run every 30 ms, longer when many runs write at once: frames cost, and nobody reads forty runs at 30 Hz.
PACE_S = 0.03
PACE_PER_RUN_S = 0.0025
SLOWEST_S = 0.25


def key_of(stream: str) -> str:
    return f"live:{stream}"


def draft_key_of(proposal: int) -> str:
    return f"draft:{proposal}"


def forget(client: "redis.Redis", *, attempts: Iterable[int], proposals: Iterable[int]) -> None:
    """Take what Redis may still hold of these texts out of it."""
    texts = [key_of(f"a{pk}") for pk in attempts]
    plans = [key for pk in proposals for key in (key_of(f"p{pk}"), draft_key_of(pk))]
    if texts or plans:
        client.unlink(*texts, *plans)


@dataclass
class Text:
    """A text being written, as the driver knows it: what was said, and how much of it was flushed."""

    code: str
    said: list[str] = field(default_factory=list)
    unsent: list[str] = field(default_factory=list)
    sent: int = 0  # code points flushed: the offset of the next piece
    stored_bytes: int = 0  # what Redis must hold of it; -1: unknown, so write it whole
    closing: bool = False

    def take(self) -> str:
        """What was said since the last flush."""
        piece, self.unsent = "".join(self.unsent), []
        self.sent += len(piece)
        return piece

    def flushed(self) -> bytes:
        return "".join(self.said)[: self.sent].encode()


class Typist:
    """Sends pieces of text from the driver's loop, in order, many at a time.

    One flusher serves all runs of the process: a single Redis pipeline and one message per run and frame. The first
    piece of a text is sent at once. While Redis is away nothing is lost: the text is kept here and written whole later.
    """

    def __init__(self, *, client: "redis.asyncio.Redis", layer: BaseChannelLayer) -> None:
        self._client = client
        self._layer = layer
        self._texts: dict[str, Text] = {}
        self._dirty: set[str] = set()
        self._drafts: dict[str, tuple[int, list[dict[str, Any]]]] = {}
        self._bells: dict[str, None] = {}  # in order, each once
        self._something = asyncio.Event()
        self._urgent = asyncio.Event()

    def say(self, *, code: str, stream: str, piece: str) -> None:
        """Append `piece` to `stream` of the run `code`. Cheap: the flusher does the work."""
        text = self._texts.get(stream)
        if text is None:
            text = self._texts[stream] = Text(code)
            self._urgent.set()
        text.said.append(piece)
        text.unsent.append(piece)
        self._dirty.add(stream)
        self._something.set()

    def draft(self, *, code: str, proposal: int, steps: list[dict[str, Any]]) -> None:
        """Show the steps that a conductor has written so far."""
        self._drafts[code] = (proposal, steps)
        self._something.set()

    def close(self, stream: str) -> None:
        """The text is committed: Redis may forget it soon."""
        if text := self._texts.get(stream):
            text.closing = True
            self._dirty.add(stream)
            self._something.set()

    def ring(self, group: str, kind: str) -> None:
        """Tell a group that there is something new to read in the tables."""
        self._bells[f"{kind} {group}"] = None
        self._something.set()
        self._urgent.set()

    async def run(self) -> None:
        """Flush for ever; cancelled when the driver ends."""
        while True:
            await self._something.wait()
            pace = min(SLOWEST_S, max(PACE_S, PACE_PER_RUN_S * len({self._texts[key].code for key in self._dirty})))
            await happens(self._urgent, pace)
            self._urgent.clear()
            self._something.clear()
            try:
                await self._flush()
            except (RedisError, OSError) as error:
                logger.warning("live text waits for Redis", error=str(error))
                await asyncio.sleep(SLOWEST_S)
                self._something.set()
            except Exception:
                logger.exception("a frame was lost to a fault of ours")  # one run's fault must not silence the others

    async def _flush(self) -> None:
        dirty, self._dirty = sorted(self._dirty), set()
        drafts, self._drafts = self._drafts, {}
        bells, self._bells = self._bells, {}
        closing = {stream for stream in dirty if self._texts[stream].closing}
        offsets = {stream: self._texts[stream].sent for stream in dirty}
        pieces = {stream: self._texts[stream].take() for stream in dirty}
        try:
            await self._store(pieces, drafts)
        except (RedisError, OSError):
            for stream in dirty:
                self._texts[stream].stored_bytes = -1
            self._dirty.update(dirty)
            self._drafts = {**drafts, **self._drafts}
            self._bells = {**bells, **self._bells}
            raise
        frames: dict[str, list[list[Any]]] = {}
        for stream, piece in pieces.items():
            text = self._texts[stream]
            if piece:
                frames.setdefault(text.code, []).append([stream, offsets[stream], piece])
            if stream in closing:  # one that was closed while this flush waited is closed by the next
                del self._texts[stream]
                self._dirty.discard(stream)
        for code, deltas in frames.items():
            await self._send(group_of(code), {"type": "run.deltas", "deltas": deltas})
        for code, (proposal, steps) in drafts.items():
            await self._send(group_of(code), {"type": "run.draft", "proposal": proposal, "steps": steps})
        rung = (bell.split(" ", 1) for bell in bells)
        await asyncio.gather(*(self._send(group, {"type": kind}) for kind, group in rung))

    async def _store(self, pieces: dict[str, str], drafts: dict[str, tuple[int, list[dict[str, Any]]]]) -> None:
        if not pieces and not drafts:
            return
        pipe = self._client.pipeline(transaction=False)
        strlen_at: dict[str, int] = {}  # where in the replies Redis says how much it holds
        for stream, piece in pieces.items():
            text, key = self._texts[stream], key_of(stream)
            if text.stored_bytes < 0:
                whole = text.flushed()
                pipe.set(key, whole)
                text.stored_bytes = len(whole)
            elif piece:
                raw = piece.encode()
                pipe.append(key, raw)
                text.stored_bytes += len(raw)
            strlen_at[stream] = len(pipe)
            pipe.strlen(key)
            pipe.expire(key, KEEP_WRITTEN_S if text.closing else KEEP_WRITING_S)
        for proposal, steps in drafts.values():
            pipe.set(draft_key_of(proposal), json.dumps(steps), ex=KEEP_WRITTEN_S)
        answers = await pipe.execute()
        for stream, index in strlen_at.items():
            text = self._texts[stream]
            if answers[index] != text.stored_bytes:  # Redis came back with less than it had: write the text whole
                whole = text.flushed()
                await self._client.set(key_of(stream), whole, ex=KEEP_WRITING_S)
                text.stored_bytes = len(whole)

    async def _send(self, group: str, message: dict[str, Any]) -> None:
        # A lost frame is no loss: viewers see the gap in the offsets, and read events after their own cursor.
        try:
            async with asyncio.timeout(SEND_S):
                await self._layer.group_send(group, message)
        except (RedisError, OSError) as error:
            logger.warning("a frame was not sent", group=group, error=str(error))


async def text_so_far(client: "redis.asyncio.Redis", stream: str) -> str:
    """What Redis holds of a text being written; empty where it has none."""
    raw = await client.get(key_of(stream))
    return raw.decode() if isinstance(raw, bytes) else ""


async def draft_so_far(client: "redis.asyncio.Redis", proposal: int) -> list[dict[str, Any]] | None:
    """The steps a conductor has written so far, for a viewer who comes late."""
    raw = await client.get(draft_key_of(proposal))
    return None if raw is None else json.loads(raw)


def channel_layer() -> BaseChannelLayer:
    layer = get_channel_layer()
    assert layer is not None, "CHANNEL_LAYERS is set in the settings"
    return layer
