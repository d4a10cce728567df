"""Waiting for something to happen, on a loop."""

import asyncio
from contextlib import suppress


async def happens(event: asyncio.Event, within_s: float) -> None:
    """Wait for the event, so long at most. (`wait_for` of Python 3.11 may swallow a cancellation in this.)"""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await event.wait()
