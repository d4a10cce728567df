"""Places at workers over several drivers, on a real Redis: how many, in which order, and whatever goes wrong."""

import asyncio
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis.asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from apps.workers.places import Limits, Turnstile, Waiting
from studio.embedded import ports
from studio.embedded.redis import Redis
from tests.integration.workers.doors import HURRIED, NEVER, ONE, SOON_S, Guests, Making, stands, turnstile, until
from tests.services import ROOT, running

__all__ = ["turnstile"]


# --- how many, and in which order -----------------------------------------------------------------------------------


async def test_there_are_never_more_inside_than_the_limit_and_all_come_through(turnstile: Making) -> None:
    drivers = [turnstile() for _ in range(3)]
    guests = Guests(Limits(concurrency=4))

    async def brief(number: int) -> None:
        task = guests.send(str(number), drivers[number % 3])
        await until(lambda: str(number) in guests.inside)
        await guests.call_out(str(number))
        await task

    await asyncio.gather(*(brief(number) for number in range(60)))

    assert guests.most == 4
    assert len(guests.came) == 60


async def test_who_came_first_goes_first_whichever_driver_it_came_to(turnstile: Making) -> None:
    drivers = [turnstile(look_s=NEVER) for _ in range(3)]
    guests = Guests(ONE)
    names = [f"guest-{number}" for number in range(9)]
    for number, name in enumerate(names):
        guests.send(name, drivers[number % 3])
        await until(guests.is_seen, name)

    for name in names:
        await until(guests.is_inside, name)
        await guests.call_out(name)

    assert guests.came == names


async def test_leaving_lets_the_next_in_at_another_driver_without_any_look(turnstile: Making) -> None:
    here, there = turnstile(look_s=NEVER), turnstile(look_s=NEVER)
    guests = Guests(ONE)
    guests.send("first", here)
    await until(lambda: guests.inside)
    guests.send("second", there)
    await until(lambda: guests.told["second"])

    await guests.call_out("first")

    await until(lambda: "second" in guests.inside)
    await guests.all_out()


async def test_workers_have_lines_of_their_own(turnstile: Making) -> None:
    driver = turnstile()
    busy, free = Guests(ONE, "busy"), Guests(ONE, "free")
    busy.send("first", driver)
    await until(lambda: busy.inside)

    free.send("other", driver)

    await until(lambda: free.inside)
    assert free.told == {"other": []}
    await busy.all_out()
    await free.all_out()


async def test_who_waits_is_told_how_many_are_ahead_and_whenever_that_changes(turnstile: Making) -> None:
    driver = turnstile()
    guests = Guests(ONE)
    for name in ("inside", "first", "second", "third"):
        guests.send(name, driver)
        await until(guests.is_seen, name)

    assert guests.told["third"] == [Waiting(2, "place")]
    await guests.call_out("inside")
    await until(lambda: guests.told["third"][-1] == Waiting(1, "place"))
    await guests.all_out()


async def test_one_who_cannot_be_told_waits_all_the_same(turnstile: Making) -> None:
    driver = turnstile()
    first = await driver.enter("gpt", ONE)

    def cannot(waiting: Waiting) -> None:
        raise RuntimeError("no ears")

    with capture_logs() as logs:
        second = asyncio.create_task(driver.enter("gpt", ONE, on_wait=cannot))
        await stands(driver, waiting=1)
        await first.leave()
        await (await second).leave()

    assert [entry["event"] for entry in logs] == ["one who waits could not be told"]


async def test_without_limits_nothing_is_asked_of_redis(turnstile: Making, redis_url: str) -> None:
    driver = turnstile(renew_s=NEVER)
    await (await driver.enter("own", Limits())).leave()  # the first one learns who is in trouble
    client = redis.asyncio.from_url(redis_url)

    async def scripts_run() -> int:
        return int((await client.info("commandstats")).get("cmdstat_evalsha", {}).get("calls", 0))

    before = await scripts_run()
    for _ in range(5):
        async with await driver.enter("own", Limits(), tokens=100) as place:
            await place.heard(None)

    assert await scripts_run() == before
    await client.aclose()


async def test_calls_at_a_worker_without_limits_are_seen_by_others_after_a_renewal(turnstile: Making) -> None:
    here, there = turnstile(), turnstile()
    place = await here.enter("own", Limits())

    await stands(there, "own", in_flight=1)
    await place.leave()

    await stands(there, "own", in_flight=0)


# --- those who give up, and those who die ---------------------------------------------------------------------------


async def test_one_who_is_cancelled_leaves_the_queue_at_once(turnstile: Making) -> None:
    driver = turnstile(look_s=NEVER, renew_s=NEVER)
    guests = Guests(ONE)
    for name in ("inside", "impatient", "next"):
        guests.send(name, driver)
        await until(guests.is_seen, name)

    guests.tasks["impatient"].cancel()
    await stands(driver, in_flight=1, waiting=1)
    await guests.call_out("inside")

    await until(lambda: "next" in guests.inside)
    await guests.all_out()


async def test_one_who_is_cancelled_before_the_answer_came_holds_nothing(turnstile: Making) -> None:
    driver = turnstile(look_s=NEVER, renew_s=NEVER)
    await (await driver.enter("gpt", ONE)).leave()
    hasty = asyncio.create_task(driver.enter("gpt", ONE))
    await asyncio.sleep(0)

    hasty.cancel()
    await asyncio.wait([hasty])

    assert hasty.cancelled()
    await stands(driver, in_flight=0, waiting=0)
    await (await asyncio.wait_for(driver.enter("gpt", ONE), SOON_S)).leave()


async def test_leaving_twice_is_leaving_once(turnstile: Making) -> None:
    driver = turnstile()
    place = await driver.enter("gpt", ONE)
    await place.leave()
    other = await driver.enter("gpt", ONE)

    await place.leave()

    await stands(driver, in_flight=1)
    await other.leave()


async def test_a_driver_that_ends_in_good_order_gives_everything_back_at_once(turnstile: Making) -> None:
    ending, other = turnstile(), turnstile(look_s=NEVER)
    guests = Guests(ONE)
    guests.send("inside", ending)
    await until(lambda: guests.inside)
    guests.send("waiting", ending)
    await until(lambda: guests.told["waiting"])
    guests.send("elsewhere", other)
    await until(lambda: guests.told["elsewhere"])

    await ending.close()

    await until(lambda: "elsewhere" in guests.inside)
    await guests.all_out()


DRIVER = """
import asyncio, sys
import redis.asyncio
from apps.workers.places import Limits, Turnstile
from tests.integration.workers.doors import HURRIED

async def main():
    turnstile = Turnstile(redis.asyncio.from_url(sys.argv[1]), HURRIED)
    entering = [asyncio.create_task(turnstile.enter("gpt", Limits(concurrency=2))) for _ in range(5)]
    await asyncio.wait(entering)

asyncio.run(main())
"""


async def test_what_a_killed_driver_held_and_waited_for_is_free_when_its_leases_end(
    turnstile: Making, redis_url: str
) -> None:
    survivor = turnstile()
    killed = subprocess.Popen([sys.executable, "-c", DRIVER, redis_url], cwd=ROOT)  # noqa: ASYNC220 - it returns at once
    await stands(survivor, in_flight=2, waiting=3)
    await asyncio.sleep(HURRIED.lease_s * 1.2)
    await stands(survivor, in_flight=2, waiting=3)  # for as long as it lives they are its own
    guests = Guests(Limits(concurrency=2))
    for name in ("one", "other"):
        guests.send(name, survivor)
    await until(lambda: guests.told["one"] and guests.told["other"])

    killed.send_signal(signal.SIGKILL)
    killed.wait()

    await until(lambda: len(guests.inside) == 2)
    await guests.all_out()


# --- limits that change ---------------------------------------------------------------------------------------------


async def test_a_higher_limit_lets_those_in_who_wait_already(turnstile: Making) -> None:
    here, there = turnstile(look_s=NEVER), turnstile(look_s=NEVER)
    guests = Guests(ONE)
    for number in range(5):
        guests.send(str(number), here)
    await stands(here, in_flight=1, waiting=4)

    await there.limits("gpt", Limits(concurrency=3))

    await until(lambda: len(guests.inside) == 3)
    await stands(here, in_flight=3, waiting=2)
    await guests.all_out()


async def test_a_lower_limit_keeps_the_next_out_until_enough_have_left(turnstile: Making) -> None:
    driver = turnstile(look_s=NEVER)
    guests = Guests(Limits(concurrency=3))
    for number in range(3):
        guests.send(str(number), driver)
    await until(lambda: len(guests.inside) == 3)
    await driver.limits("gpt", ONE)
    guests.limits = ONE
    guests.send("next", driver)
    await stands(driver, waiting=1)

    for number in range(2):
        await guests.call_out(str(number))

    await stands(driver, in_flight=1, waiting=1)
    await guests.call_out("2")
    await until(lambda: "next" in guests.inside)
    await guests.all_out()


async def test_limits_that_are_taken_away_hold_nobody_back(turnstile: Making) -> None:
    driver = turnstile(look_s=NEVER)
    guests = Guests(ONE)
    for number in range(4):
        guests.send(str(number), driver)
    await stands(driver, in_flight=1, waiting=3)

    await driver.limits("gpt", Limits())

    await until(lambda: len(guests.inside) == 4)
    await guests.all_out()


async def test_a_run_that_knows_older_limits_does_not_bring_them_back(turnstile: Making) -> None:
    here, there = turnstile(), turnstile()
    place = await here.enter("gpt", Limits(concurrency=1, version=2))

    old = asyncio.create_task(there.enter("gpt", Limits(concurrency=5, version=1)))

    await stands(here, in_flight=1, waiting=1)
    await place.leave()
    await (await old).leave()


# --- a Redis that forgets, and one that is away ---------------------------------------------------------------------


class Deaf(Turnstile):
    """A turnstile to which no news come through."""

    def _hear_news(self, word: str, slug: str, ticket: str) -> None:
        pass


async def test_lost_news_cost_a_look_and_nothing_more(turnstile: Making) -> None:
    here, there = turnstile(), turnstile(Deaf)
    guests = Guests(ONE)
    guests.send("first", here)
    await until(lambda: guests.inside)
    guests.send("second", there)
    await until(lambda: guests.told["second"])

    await guests.call_out("first")

    await until(lambda: "second" in guests.inside)
    await guests.all_out()


async def test_a_flush_loses_neither_places_nor_the_order_of_the_waiting(turnstile: Making, redis_url: str) -> None:
    here, there = turnstile(), turnstile()
    guests = Guests(ONE)
    names = ["inside", "first", "second", "third"]
    for number, name in enumerate(names):
        guests.send(name, (here, there)[number % 2])
        await until(guests.is_seen, name)
    client = redis.asyncio.from_url(redis_url)

    await client.flushall()
    await client.aclose()
    await stands(here, in_flight=1, waiting=3)

    for name in names:
        await until(guests.is_inside, name)
        await guests.call_out(name)
    assert guests.came == names


@pytest.fixture
def own_redis(tmp_path: Path) -> Redis:
    """A Redis that a test starts and ends itself."""
    port, held = ports.hold()
    held.close()
    server = Redis(home=tmp_path, port=port, password=secrets.token_hex())
    server.prepare()
    return server


async def test_while_redis_is_away_each_driver_keeps_to_its_share_and_they_share_again_when_it_is_back(
    turnstile: Making, own_redis: Redis
) -> None:
    guests = Guests(Limits(concurrency=4))
    with running("away", own_redis.command(), ready=own_redis.answers):
        here, there = (turnstile(url=own_redis.url) for _ in range(2))
        guests.send("before", here)
        await until(lambda: guests.inside)
        await (await there.enter("other", ONE)).leave()
        await asyncio.sleep(HURRIED.renew_s * 1.5)  # until they know of each other
    with capture_logs() as logs:
        for number in range(4):
            guests.send(f"here-{number}", here)
            guests.send(f"there-{number}", there)
        await until(lambda: len(guests.inside) == 4)
        await asyncio.sleep(HURRIED.look_s)
        assert sorted(name.split("-")[0] for name in guests.inside) == ["before", "here", "there", "there"]
        await guests.call_out("before")
        await until(lambda: len(guests.inside) == 4)
    away = [entry for entry in logs if entry["log_level"] == "warning"]
    assert {entry["event"] for entry in away} == {"the workers' limits wait for Redis"}
    assert len(away) == 2, "each driver says so once"

    with running("back", own_redis.command(), ready=own_redis.answers):
        await stands(here, in_flight=4, waiting=4)
        for _ in range(8):
            await until(lambda: guests.inside)
            await guests.call_out(next(iter(guests.inside)))
        await stands(here, in_flight=0, waiting=0)
    assert guests.most == 4
    assert len(guests.came) == 9


async def test_a_redis_that_hangs_holds_up_neither_those_who_come_nor_those_who_leave(
    turnstile: Making, own_redis: Redis
) -> None:
    guests = Guests(Limits(concurrency=2))
    with running("hung", own_redis.command(), ready=own_redis.answers) as server:
        driver = turnstile(url=own_redis.url, call_s=0.2)
        guests.send("before", driver)
        await until(lambda: guests.inside)
        server.send_signal(signal.SIGSTOP)
        try:
            for number in range(20):
                guests.send(str(number), driver)
            await until(lambda: len(guests.inside) == 2)
            for _ in range(15):
                await until(lambda: guests.inside)
                await guests.call_out(next(iter(guests.inside)))
        finally:
            server.send_signal(signal.SIGCONT)
        for _ in range(6):
            await until(lambda: guests.inside)
            await guests.call_out(next(iter(guests.inside)))
        await stands(driver, in_flight=0, waiting=0)

    assert guests.most == 2
    assert len(guests.came) == 21


async def test_without_any_redis_calls_go_on(turnstile: Making) -> None:
    driver = turnstile(url="redis://127.0.0.1:9/0", call_s=0.1)
    guests = Guests(Limits(concurrency=2, requests_per_minute=1))
    for number in range(4):
        guests.send(str(number), driver)

    await until(lambda: len(guests.inside) == 2)
    await guests.all_out()

    assert len(guests.came) == 4
    assert guests.most == 2


# --- whatever happens -----------------------------------------------------------------------------------------------

visits = st.tuples(
    st.integers(0, 2),  # which driver
    st.integers(0, 6),  # comes after so many milliseconds
    st.integers(0, 4),  # stays so long
    st.none() | st.integers(0, 8),  # is cancelled after so long
)


@settings(max_examples=40, deadline=None)
@given(limit=st.integers(1, 4), plan=st.lists(visits, min_size=1, max_size=30))
def test_whoever_comes_stays_and_gives_up_the_limit_holds_and_nobody_starves(
    redis_server: Redis, limit: int, plan: list[tuple[int, int, int, int | None]]
) -> None:
    asyncio.run(_visits(redis_server.url, limit, plan))


async def _visits(url: str, limit: int, plan: list[tuple[int, int, int, int | None]]) -> None:
    clients = [redis.asyncio.from_url(url) for _ in range(3)]
    slug = f"gpt-{secrets.token_hex(4)}"
    drivers = [Turnstile(client, HURRIED) for client in clients]
    inside = most = through = 0

    async def visit(driver: int, after: int, stays: int) -> None:
        nonlocal inside, most, through
        await asyncio.sleep(after / 1000)
        async with await drivers[driver].enter(slug, Limits(concurrency=limit)):
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(stays / 1000)
            finally:
                inside -= 1
            through += 1

    async def give_up(task: "asyncio.Task[None]", after: int) -> None:
        await asyncio.sleep(after / 1000)
        task.cancel()

    tasks = [asyncio.create_task(visit(driver, after, stays)) for driver, after, stays, _ in plan]
    quitting = [
        asyncio.create_task(give_up(task, quits)) for task, (*_, quits) in zip(tasks, plan, strict=True) if quits
    ]
    async with asyncio.timeout(SOON_S):
        await asyncio.gather(*tasks, *quitting, return_exceptions=True)
    try:
        assert most <= limit
        assert [task for task in tasks if not task.cancelled() and task.exception()] == []
        assert through >= sum(quits is None for *_, quits in plan), "whoever has patience comes through"
        await stands(drivers[0], slug, in_flight=0, waiting=0)
    finally:
        for driver in drivers:
            await driver.close()
        for client in clients:
            await client.aclose()
