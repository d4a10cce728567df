"""Live text: what Redis holds and what viewers are sent, in order, without a gap they could not see."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis.asyncio
from redis.exceptions import ConnectionError as RedisDown

from apps.runs.live import Typist, draft_so_far, key_of, text_so_far

pytestmark = pytest.mark.usefixtures("redis_url")


class FakeLayer:
    """Keeps what would be sent to each group."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.sent.append((group, message))

    def deltas(self, stream: str) -> list[tuple[int, str]]:
        return [
            (offset, text)
            for _, message in self.sent
            if message["type"] == "run.deltas"
            for name, offset, text in message["deltas"]
            if name == stream
        ]


class Flaky(redis.asyncio.Redis):
    """A Redis that can be away."""

    away = False

    def pipeline(self, *args: Any, **kwargs: Any) -> Any:
        if self.away:
            raise RedisDown("away")
        return super().pipeline(*args, **kwargs)


@asynccontextmanager
async def typing(url: str) -> AsyncIterator[tuple[Typist, FakeLayer, Flaky]]:
    client: Any = Flaky.from_url(url)
    layer = FakeLayer()
    typist = Typist(client=client, layer=layer)
    task = asyncio.ensure_future(typist.run())
    try:
        yield typist, layer, client
    finally:
        task.cancel()
        await asyncio.wait([task])
        await client.aclose()


async def settle() -> None:
    await asyncio.sleep(0.15)


async def test_what_is_sent_and_what_is_kept_are_the_same_text(redis_url: str) -> None:
    async with typing(redis_url) as (typist, layer, client):
        for piece in ["Grüße ", "🎼", " an alle", "!"] * 20:
            typist.say(code="abc", stream="a1", piece=piece)
            await asyncio.sleep(0.003)
        await settle()

        kept = await text_so_far(client, "a1")

    deltas = layer.deltas("a1")
    assert kept == "".join(text for _, text in deltas) == "Grüße 🎼 an alle!" * 20
    assert [offset for offset, _ in deltas] == [sum(len(t) for _, t in deltas[:at]) for at in range(len(deltas))]


async def test_the_first_piece_is_sent_at_once_and_later_ones_in_frames(redis_url: str) -> None:
    async with typing(redis_url) as (typist, layer, _):
        for number in range(50):
            typist.say(code="abc", stream="a1", piece=f"{number} ")
            await asyncio.sleep(0)
        await settle()

    assert len(layer.deltas("a1")) <= 3


async def test_a_redis_that_was_away_gets_the_whole_text_later(redis_url: str) -> None:
    async with typing(redis_url) as (typist, _, client):
        typist.say(code="abc", stream="a1", piece="before ")
        await settle()
        client.away = True
        typist.say(code="abc", stream="a1", piece="meanwhile ")
        await settle()
        client.away = False
        typist.say(code="abc", stream="a1", piece="after")
        await asyncio.sleep(0.8)

        assert await text_so_far(client, "a1") == "before meanwhile after"


async def test_a_redis_that_forgot_gets_the_whole_text_again(redis_url: str) -> None:
    async with typing(redis_url) as (typist, _, client):
        typist.say(code="abc", stream="a1", piece="before ")
        await settle()
        await client.delete(key_of("a1"))
        typist.say(code="abc", stream="a1", piece="after")
        await settle()

        assert await text_so_far(client, "a1") == "before after"


async def test_a_committed_text_is_forgotten_after_ten_minutes(redis_url: str) -> None:
    async with typing(redis_url) as (typist, _, client):
        typist.say(code="abc", stream="a1", piece="text")
        await settle()
        typist.close("a1")
        await settle()

        assert 0 < await client.ttl(key_of("a1")) <= 600


async def test_drafted_steps_are_there_for_whoever_comes_later(redis_url: str) -> None:
    async with typing(redis_url) as (typist, layer, client):
        typist.draft(code="abc", proposal=7, steps=[{"position": 0}])
        await settle()

        assert await draft_so_far(client, 7) == [{"position": 0}]
    assert ("run.abc", {"type": "run.draft", "proposal": 7, "steps": [{"position": 0}]}) in layer.sent


async def test_many_bells_at_once_ring_once(redis_url: str) -> None:
    async with typing(redis_url) as (typist, layer, _):
        for _ in range(10):
            typist.ring("run.abc", "run.bell")
        await settle()

    assert layer.sent == [("run.abc", {"type": "run.bell"})]


async def test_a_text_closed_while_it_is_being_sent_does_not_silence_the_others(redis_url: str) -> None:
    async with typing(redis_url) as (typist, layer, client):
        for number in range(200):
            stream = f"a{number}"
            typist.say(code="abc", stream=stream, piece="text")
            await asyncio.sleep(0.001)
            typist.close(stream)
        typist.say(code="abc", stream="last", piece="still heard")
        await settle()

        assert await text_so_far(client, "last") == "still heard"
        assert await text_so_far(client, "a7") == "text"
    assert all(layer.deltas(f"a{number}") == [(0, "text")] for number in range(200))
