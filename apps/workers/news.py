"""What turnstiles tell each other through Redis: whose turn it is, and which workers are in trouble."""

import asyncio
import time
from collections.abc import Callable

import redis.asyncio
import structlog
from redis.exceptions import RedisError

from apps.workers.pace import Pace

logger = structlog.get_logger(__name__)

NEWS = "places:news"


async def listen(
    client: "redis.asyncio.Redis",
    turnstile: str,
    hear: Callable[[str, str, str], None],
    begun: asyncio.Event,
    pace: Pace,
) -> None:
    """Call `hear(word, slug, ticket)` for what is told to all and to `turnstile`, for ever. Lost connections are made
    anew; what was told meanwhile is lost, so nobody may rely on news alone."""
    while True:
        try:
            async with client.pubsub() as channel:
                await channel.subscribe(NEWS, f"{NEWS}:{turnstile}")
                await _read(channel, hear, begun, pace)
        except (RedisError, OSError) as error:
            logger.info("news from other drivers are missed", error=str(error))
            await asyncio.sleep(pace.retry_s)


def parsed(data: str | bytes) -> tuple[str, str, str]:
    """The word, and the worker and ticket where it is about any."""
    told = data.decode() if isinstance(data, bytes) else data
    word, _, rest = told.partition(" ")
    slug, _, ticket = rest.partition(" ")
    return word, slug, ticket


async def _read(
    channel: "redis.asyncio.client.PubSub", hear: Callable[[str, str, str], None], begun: asyncio.Event, pace: Pace
) -> None:
    """Read until the connection breaks, or has been silent although it was asked for a sign of life."""
    heard_at = time.monotonic()
    while True:
        message = await channel.get_message(timeout=pace.renew_s)
        if message is None:
            if time.monotonic() - heard_at > pace.lease_s:
                raise OSError("no answer")
            await channel.ping()
            continue
        heard_at = time.monotonic()
        if message["type"] == "subscribe":
            begun.set()
        elif message["type"] == "message":
            hear(*parsed(message["data"]))
