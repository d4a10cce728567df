"""What a viewer's ear leaves behind in the channel layer: nothing, however it ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from django.conf import LazySettings

from apps.runs.live import channel_layer
from apps.web.live import hearing
from apps.web.live.hearing import Ear

Hear = Callable[[dict[str, Any]], Awaitable[None]]


@pytest.fixture(autouse=True)
async def layer(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    monkeypatch.setattr(hearing, "AGAIN_S", 0.01)
    yield
    await channel_layer().flush()


@contextlib.asynccontextmanager
async def listening(hear: Hear) -> AsyncIterator[Ear]:
    async def late() -> None:
        return None

    ear = Ear(["run.hearing"], hear=hear)
    task = asyncio.create_task(ear.listen(late=late))
    await ear.tried()
    yield ear
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_it_hears_what_is_sent_to_its_group() -> None:
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async with listening(heard.put) as ear:
        await channel_layer().group_send("run.hearing", {"type": "run.bell"})
        message = await asyncio.wait_for(heard.get(), 5)

    assert ear.is_listening
    assert message == {"type": "run.bell"}
    assert (channel_layer().channels, channel_layer().groups) == ({}, {})


async def test_one_that_is_cut_off_in_the_middle_of_a_message_is_forgotten() -> None:
    busy = asyncio.Event()

    async def hear(message: dict[str, Any]) -> None:
        busy.set()
        await asyncio.sleep(60)

    async with listening(hear):
        await channel_layer().group_send("run.hearing", {"type": "run.bell"})
        await asyncio.wait_for(busy.wait(), 5)

    assert (channel_layer().channels, channel_layer().groups) == ({}, {})


async def test_trying_again_and_again_without_redis_heaps_nothing_up(
    settings: LazySettings, unused_tcp_port: int
) -> None:
    away = {"address": f"redis://127.0.0.1:{unused_tcp_port}", "socket_timeout": None}
    layer: dict[str, Any] = settings.CHANNEL_LAYERS["default"]
    settings.CHANNEL_LAYERS = {"default": {**layer, "CONFIG": {**layer["CONFIG"], "hosts": [away]}}}

    async def hear(message: dict[str, Any]) -> None:
        raise AssertionError("there is nobody to hear")

    async with listening(hear) as ear:
        await asyncio.sleep(0.3)
        assert not ear.is_listening
        assert len(channel_layer().channels) <= 1

    assert (channel_layer().channels, channel_layer().groups) == ({}, {})
