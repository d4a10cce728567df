"""The Lua scripts at the workers' doors: JSON in, JSON out, and the knowledge whether Redis is there at all.

Every script begins with the parts it is built on; `lua/line.lua` explains the keys.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import random
from typing import Any, cast

import redis.asyncio
import structlog
from redis.exceptions import RedisError

from apps.core.errors import Unavailable
from apps.workers.pace import Pace

logger = structlog.get_logger(__name__)

FOLDER = Path(__file__).parent / "lua"
QUEUED = ("line", "trouble", "rates", "queue")
PARTS: Mapping[str, Sequence[str]] = {
    "enter": QUEUED,
    "look": QUEUED,
    "leave": QUEUED,
    "limits": QUEUED,
    "heard": ("line", "trouble"),
    "forgive": ("line", "trouble"),
    "renew": (),
    "standing": (),
    "unsay": (),
}


class RedisAway(Unavailable):
    """Redis does not answer. Calls of models go on without it."""

    def __init__(self) -> None:
        super().__init__("Redis does not answer, so nobody can say how it stands at the workers.")


def source_of(name: str) -> str:
    """The whole text of a script, its parts first."""
    return "\n".join((FOLDER / f"{part}.lua").read_text() for part in (*PARTS[name], name))


def line_of(slug: str) -> str:
    """The key under which everything about a worker's line begins."""
    return f"places:{{{slug}}}"


class Scripts:
    """Runs the scripts. Once one could not be run, Redis is away until it is `found`; meanwhile none is tried
    but by who `probes`."""

    def __init__(self, client: "redis.asyncio.Redis", pace: Pace) -> None:
        self._scripts = {name: client.register_script(source_of(name)) for name in PARTS}
        self._pace = pace.told()
        self._call_s = pace.call_s
        self.away = asyncio.Event()

    async def at(self, slug: str, name: str, given: Mapping[str, Any]) -> Any:
        """Run a script at one worker's line.

        :raises RedisAway:
        """
        common = {"slug": slug, "pace": self._pace, "luck": random()}  # noqa: S311 - it spreads load and guards nothing
        return await self.run(name, [line_of(slug)], {**common, **given})

    async def run(self, name: str, keys: Sequence[str], given: Mapping[str, Any], *, probes: bool = False) -> Any:
        """:raises RedisAway:"""
        if self.away.is_set() and not probes:
            raise RedisAway
        try:
            async with asyncio.timeout(self._call_s):
                reply = await self._scripts[name](keys=keys, args=[json.dumps(given)])
        except (RedisError, OSError, TimeoutError) as error:
            self._lost(error)
            raise RedisAway from error
        return None if reply is None else json.loads(cast("str | bytes", reply))

    def _lost(self, error: Exception) -> None:
        if not self.away.is_set():
            logger.warning("the workers' limits wait for Redis", error=str(error) or type(error).__name__)
            self.away.set()

    def found(self) -> None:
        """Redis is back, and knows again what this process holds."""
        if self.away.is_set():
            logger.info("the workers' limits are shared again")
            self.away.clear()
