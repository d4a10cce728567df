"""Turnstiles in a hurry, on a real Redis: what the tests of places, rates and circuits share."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
import redis.asyncio

from apps.workers.calls import CallFailed, FailureKind
from apps.workers.places import Limits, Pace, Place, Turnstile, Waiting

HURRIED = Pace(
    lease_s=0.9,
    renew_s=0.3,
    look_s=0.1,
    tell_s=0.01,
    call_s=1.0,
    retry_s=0.05,
    muster_s=0.15,
    window_s=0.6,
    open_after=3,
    first_pause_s=0.2,
    first_cool_s=0.2,
    steady_s=0.4,
    gap_s=0.02,
)
NEVER = 60.0  # a look that does not come within any test: what happens before it is due to news
SOON_S = 5.0  # how long anything may take on a busy machine

ONE = Limits(concurrency=1)
Making = Callable[..., Turnstile]


@pytest.fixture
async def turnstile(redis_url: str) -> AsyncIterator[Making]:
    """Makes turnstiles, each as in a driver of its own; they are closed after the test."""
    made: list[tuple[Turnstile, redis.asyncio.Redis]] = []
    async with redis.asyncio.from_url(redis_url) as client:
        await client.set("places:mustered", 0)  # a Redis that has been up for long

    def make(kind: type[Turnstile] = Turnstile, url: str = redis_url, **pace: Any) -> Turnstile:
        client = redis.asyncio.from_url(url)
        made.append((kind(client, replace(HURRIED, **pace)), client))
        return made[-1][0]

    yield make
    for each, client in made:
        await each.close()
        await client.aclose()


class Guests:
    """Steps that go to one worker, and what can be seen of them from outside: counted here, not in Redis."""

    def __init__(self, limits: Limits, slug: str = "gpt") -> None:
        self.slug = slug
        self.limits = limits
        self.inside: dict[str, Place] = {}
        self.came: list[str] = []
        self.most = 0
        self.told: dict[str, list[Waiting]] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._may_go: dict[str, asyncio.Event] = {}

    def send(self, name: str, turnstile: Turnstile, *, tokens: int = 0) -> "asyncio.Task[None]":
        """Let a step go in, and stay until it is `called` out."""
        self._may_go[name] = asyncio.Event()
        self.told[name] = []
        self.tasks[name] = asyncio.create_task(self._visit(name, turnstile, tokens))
        return self.tasks[name]

    def is_inside(self, name: str) -> bool:
        return name in self.inside

    def is_seen(self, name: str) -> bool:
        """Whether it is inside, or was told that it waits."""
        return name in self.inside or bool(self.told[name])

    def are_inside(self, count: int) -> bool:
        """Whether as many as `count` are inside."""
        return len(self.inside) >= count

    async def _visit(self, name: str, turnstile: Turnstile, tokens: int) -> None:
        place = await turnstile.enter(self.slug, self.limits, tokens=tokens, on_wait=self.told[name].append)
        async with place:
            self.inside[name] = place
            self.came.append(name)
            self.most = max(self.most, len(self.inside))
            try:
                await self._may_go[name].wait()
            finally:
                del self.inside[name]

    async def call_out(self, name: str) -> None:
        self._may_go[name].set()
        await self.tasks[name]

    async def all_out(self) -> None:
        for may_go in self._may_go.values():
            may_go.set()
        await asyncio.wait_for(asyncio.gather(*self.tasks.values(), return_exceptions=True), SOON_S)


async def until(holds: Callable[..., object], *given: object) -> None:
    """Wait until it holds of what is given."""
    async with asyncio.timeout(SOON_S):
        while not holds(*given):  # noqa: ASYNC110 - what is waited for is anything that can be seen
            await asyncio.sleep(0.005)


async def stands(turnstile: Turnstile, slug: str = "gpt", **expected: object) -> None:
    """Wait until it stands so at the worker."""
    async with asyncio.timeout(SOON_S):
        while True:
            found = (await turnstile.standing([slug]))[slug]
            if all(getattr(found, name) == value for name, value in expected.items()):
                return
            await asyncio.sleep(0.005)


def failure(kind: FailureKind = "server", *, retry_after_s: float | None = None, retryable: bool = True) -> CallFailed:
    return CallFailed(kind, "the model is not well", retryable=retryable, retry_after_s=retry_after_s)
