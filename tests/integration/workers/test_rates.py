"""Requests and tokens a minute, over all drivers: the worst case is taken on entering, and corrected on leaving."""

import asyncio
import secrets
import time

import pytest
import redis.asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.workers.places import Limits, Turnstile
from studio.embedded.redis import Redis
from tests.integration.workers.doors import HURRIED, NEVER, Guests, Making, stands, turnstile, until

__all__ = ["turnstile"]

WINDOW_S = HURRIED.window_s
ABOUT = 0.95  # of it may pass on the clock of whoever measures, who hears of things a little later than Redis


async def test_more_requests_than_the_limit_wait_until_the_window_has_moved_on(turnstile: Making) -> None:
    drivers = [turnstile(), turnstile()]
    came_at: list[float] = []

    async def call(number: int) -> None:
        async with await drivers[number % 2].enter("gpt", Limits(requests_per_minute=3)):
            came_at.append(time.monotonic())

    await asyncio.gather(*(call(number) for number in range(8)))

    for first, fourth in zip(came_at, came_at[3:], strict=False):
        assert fourth - first > WINDOW_S * ABOUT
    assert came_at[-1] - came_at[0] < WINDOW_S * 4


async def test_who_waits_for_a_rate_is_told_so_and_until_when(turnstile: Making) -> None:
    driver = turnstile()
    guests = Guests(Limits(requests_per_minute=1))
    guests.send("first", driver)
    await until(lambda: guests.inside)

    guests.send("second", driver)

    await until(lambda: guests.told["second"])
    waiting = guests.told["second"][0]
    assert (waiting.ahead, waiting.why) == (0, "rate")
    assert waiting.until is not None
    assert abs(waiting.until.timestamp() - time.time()) < WINDOW_S * 2
    await until(lambda: "second" in guests.inside)
    await guests.all_out()


async def test_tokens_are_taken_at_their_worst_and_what_was_not_used_comes_back_on_leaving(turnstile: Making) -> None:
    here, there = turnstile(window_s=NEVER), turnstile(window_s=NEVER)
    limits = Limits(tokens_per_minute=1000)
    place = await here.enter("gpt", limits, tokens=900)
    waiting = asyncio.create_task(there.enter("gpt", limits, tokens=600))
    await stands(here, in_flight=1, waiting=1)

    await place.leave(tokens_used=400)

    await (await asyncio.wait_for(waiting, 5)).leave(tokens_used=600)
    late = asyncio.create_task(there.enter("gpt", limits, tokens=1))
    await stands(here, waiting=1)
    late.cancel()
    await stands(here, waiting=0)


async def test_a_call_that_used_more_than_was_thought_is_counted_in_full(turnstile: Making) -> None:
    driver = turnstile(window_s=NEVER)
    limits = Limits(tokens_per_minute=1000)
    await (await driver.enter("gpt", limits, tokens=100)).leave(tokens_used=950)

    waiting = asyncio.create_task(driver.enter("gpt", limits, tokens=100))

    await stands(driver, waiting=1)
    waiting.cancel()
    await stands(driver, waiting=0)


async def test_without_a_word_the_worst_case_stays_counted(turnstile: Making) -> None:
    driver = turnstile(window_s=NEVER)
    limits = Limits(tokens_per_minute=1000)
    async with await driver.enter("gpt", limits, tokens=900):
        pass

    waiting = asyncio.create_task(driver.enter("gpt", limits, tokens=200))

    await stands(driver, waiting=1)
    waiting.cancel()
    await stands(driver, waiting=0)


async def test_a_call_that_is_larger_than_the_limit_goes_when_nothing_else_is_counted(turnstile: Making) -> None:
    driver = turnstile()
    limits = Limits(tokens_per_minute=1000)
    await (await driver.enter("gpt", limits, tokens=5000)).leave()

    began = time.monotonic()
    await (await driver.enter("gpt", limits, tokens=5000)).leave()

    assert time.monotonic() - began > WINDOW_S * 0.5


async def test_a_small_call_does_not_pass_a_large_one_that_waits(turnstile: Making) -> None:
    driver = turnstile(window_s=NEVER)
    guests = Guests(Limits(tokens_per_minute=1000))
    for name, tokens in (("inside", 900), ("large", 800), ("small", 10)):
        guests.send(name, driver, tokens=tokens)
        await until(guests.is_seen, name)
    assert list(guests.inside) == ["inside"]

    guests.inside["inside"].tokens_used = 0
    await guests.call_out("inside")

    await until(lambda: len(guests.inside) == 2)
    assert guests.came == ["inside", "large", "small"]
    await guests.all_out()


@pytest.mark.parametrize("tokens", [0, -5])
async def test_a_call_without_tokens_is_a_call(turnstile: Making, tokens: int) -> None:
    driver = turnstile()

    async with await driver.enter("gpt", Limits(tokens_per_minute=10), tokens=tokens) as place:
        place.tokens_used = 3

    await stands(driver, in_flight=0)


calls = st.tuples(st.integers(0, 60), st.integers(1, 12), st.integers(0, 12))  # after so many ms, thought, used


@settings(max_examples=10, deadline=None)
@given(plan=st.lists(calls, min_size=1, max_size=12))
def test_no_window_holds_more_than_the_limits_wherever_it_begins(
    redis_server: Redis, plan: list[tuple[int, int, int]]
) -> None:
    asyncio.run(_spend(redis_server.url, plan))


async def _spend(url: str, plan: list[tuple[int, int, int]]) -> None:
    slug, client = secrets.token_hex(4), redis.asyncio.from_url(url)
    driver = Turnstile(client, HURRIED)
    spent: list[tuple[float, int]] = []

    async def call(after: int, thought: int, used: int) -> None:
        await asyncio.sleep(after / 1000)
        limits = Limits(requests_per_minute=4, tokens_per_minute=20)
        async with await driver.enter(slug, limits, tokens=thought) as place:
            spent.append((time.monotonic(), min(used, thought)))
            place.tokens_used = min(used, thought)

    try:
        async with asyncio.timeout(20):
            await asyncio.gather(*(call(*one) for one in plan))
    finally:
        await driver.close()
        await client.aclose()
    spent.sort()
    for began, _ in spent:
        within = [tokens for at, tokens in spent if began <= at < began + WINDOW_S * ABOUT]
        assert len(within) <= 4
        assert sum(within) <= 20
