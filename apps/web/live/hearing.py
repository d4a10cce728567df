"""Listens for a socket to what is new: its place in the channel layer's groups, taken again until Redis gives it.

Channels takes it for a consumer before anything else, and a page opened while Redis is away would get no socket at all.
It also asks a thread at every message whether database connections are old, which at thirty frames a second and viewer
costs more than the frames. So our consumers listen by themselves.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

import structlog
from redis.exceptions import RedisError

from apps.core.waiting import happens
from apps.runs.live import channel_layer

logger = structlog.get_logger(__name__)

AGAIN_S = 2.0
FIRST_TRY_S = 3.0  # a Redis that neither takes nor refuses a connection must not keep the page from its events


class Ear:
    """Listens to `groups` and hands every message to `hear`, in order."""

    def __init__(self, groups: Sequence[str], *, hear: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        self.groups = groups
        self.hear = hear
        self.is_listening = False
        self._tried = asyncio.Event()

    async def tried(self) -> bool:
        """Wait until the first try is over; whether it succeeded."""
        await happens(self._tried, FIRST_TRY_S)
        return self.is_listening

    async def listen(self, *, late: Callable[[], Awaitable[None]]) -> None:
        """Listen until cancelled; `late` is awaited where a later try succeeded, for what was not heard before."""
        while True:
            try:
                await self._listen(late if self._tried.is_set() else None)
            except (RedisError, OSError) as error:
                logger.warning("a viewer cannot hear what is new", error=str(error))
            self.is_listening = False
            self._tried.set()
            await asyncio.sleep(AGAIN_S)

    async def _listen(self, late: Callable[[], Awaitable[None]] | None) -> None:
        layer = channel_layer()
        # Not `new_channel`: the layer would keep one that it could not subscribe, or whose owner left while it was busy
        # with a message, for ever. Groups alone are subscribed to; nobody writes to a viewer's own channel.
        channel = f"viewer.{uuid4().hex}"
        layer.channels[channel] = asyncio.Queue()
        try:
            for group in self.groups:
                await layer.group_add(group, channel)
            self.is_listening = True
            self._tried.set()
            if late is not None:
                await late()
            while True:
                await self.hear(await layer.receive(channel))
        finally:
            layer.channels.pop(channel, None)
            with contextlib.suppress(RedisError, OSError):
                for group in self.groups:
                    await layer.group_discard(group, channel)
