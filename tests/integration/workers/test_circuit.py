"""Circuits and coolings, shared by the drivers: when they keep calls out, who may try again, and what ends them."""

import asyncio
from datetime import UTC, datetime

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from apps.workers.calls import FailureKind
from apps.workers.places import CircuitOpen, Limits, Turnstile
from apps.workers.scripts import RedisAway
from apps.workers.standing import Standing, forgive, read_standings
from tests.integration.workers.doors import NEVER, ONE, Guests, Making, failure, stands, turnstile, until

__all__ = ["turnstile"]

FREE = Limits()


async def call(driver: Turnstile, kind: FailureKind | None, *, limits: Limits = FREE) -> None:
    """A call that ends so."""
    async with await driver.enter("gpt", limits) as place:
        await place.heard(failure(kind) if kind else None)


async def opened(driver: Turnstile) -> CircuitOpen:
    """Open the circuit, and say what the next one is told."""
    for _ in range(driver.pace.open_after):
        await call(driver, "server")
    with pytest.raises(CircuitOpen) as refusal:
        await driver.enter("gpt", FREE)
    return refusal.value


async def passed(refusal: CircuitOpen) -> None:
    await asyncio.sleep(refusal.wait_s + 0.01)


# --- opening --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["server", "timeout", "refused", "auth", "cut"])
async def test_failures_in_a_row_open_the_circuit_for_every_driver(turnstile: Making, kind: FailureKind) -> None:
    here, there = turnstile(), turnstile()
    await there.start()

    for driver in (here, there, here):
        await call(driver, kind)

    await stands(there, circuit="open", in_flight=0)
    for driver in (here, there):
        with pytest.raises(CircuitOpen, match=f"gpt keeps failing \\({kind}: the model is not well\\)") as refusal:
            await driver.enter("gpt", FREE)
        assert refusal.value.next_try > datetime.now(UTC)


async def test_a_reply_in_between_begins_the_count_anew(turnstile: Making) -> None:
    here, there = turnstile(), turnstile()
    await there.start()
    for _ in range(4):
        await call(here, "server")
        await call(here, "server")
        await until(lambda: "gpt" in there.troubled)
        await call(there, None)

    await stands(here, circuit="closed")


@pytest.mark.parametrize("kind", ["bad_request", "rate_limited", "not_found", "empty", "malformed"])
async def test_what_a_living_worker_says_never_opens_the_circuit(turnstile: Making, kind: FailureKind) -> None:
    driver = turnstile(first_cool_s=0.0, steady_s=0.0)

    for _ in range(6):
        await call(driver, kind)

    await stands(driver, circuit="closed")


async def test_those_who_wait_already_are_told_that_it_has_opened(turnstile: Making) -> None:
    here, there = turnstile(look_s=NEVER), turnstile(look_s=NEVER)
    guests = Guests(ONE)
    guests.send("inside", here)
    await until(lambda: guests.inside)
    waiting = [guests.send(f"waiting-{number}", driver) for number, driver in enumerate((here, there))]
    await stands(here, waiting=2)

    for _ in range(3):
        await here.heard("gpt", failure())

    found = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
    assert [type(one) for one in found] == [CircuitOpen, CircuitOpen]
    await stands(here, in_flight=1, waiting=0)
    await guests.all_out()


# --- half open ------------------------------------------------------------------------------------------------------


async def test_after_the_pause_one_call_alone_may_try_and_its_reply_closes_the_circuit(turnstile: Making) -> None:
    here, there = turnstile(), turnstile()
    await passed(await opened(here))

    trial = await there.enter("gpt", FREE)
    await stands(here, circuit="half-open", in_flight=1)
    for driver in (here, there):
        with pytest.raises(CircuitOpen):
            await driver.enter("gpt", FREE)
    await trial.heard(None)
    await trial.leave()

    await stands(here, circuit="closed", reason="", next_try=None)
    await call(here, None)


async def test_a_trial_that_fails_makes_the_pause_longer(turnstile: Making) -> None:
    driver = turnstile(first_pause_s=0.1)
    pauses = []
    refusal = await opened(driver)
    for _ in range(3):
        await passed(refusal)
        began = datetime.now(UTC)
        await call(driver, "timeout")
        with pytest.raises(CircuitOpen) as again:
            await driver.enter("gpt", FREE)
        refusal = again.value
        pauses.append((refusal.next_try - began).total_seconds())

    assert [pause >= 0.8 * wanted for pause, wanted in zip(pauses, (0.2, 0.4, 0.8), strict=True)] == [True] * 3
    assert refusal.reason.startswith("timeout"), "the reason is the last failure's"


async def test_the_pause_grows_no_further_than_its_longest(turnstile: Making) -> None:
    driver = turnstile(first_pause_s=0.1, longest_pause_s=0.1)
    refusal = await opened(driver)
    for _ in range(3):
        await passed(refusal)
        began = datetime.now(UTC)
        await call(driver, "server")
        with pytest.raises(CircuitOpen) as again:
            await driver.enter("gpt", FREE)
        refusal = again.value

    assert (refusal.next_try - began).total_seconds() < 0.5, "doubled three times it were 0.64 at least"


async def test_a_bad_request_as_trial_shows_that_somebody_answers(turnstile: Making) -> None:
    driver = turnstile()
    await passed(await opened(driver))

    await call(driver, "bad_request")

    await stands(driver, circuit="closed")


async def test_what_calls_bring_that_began_before_it_opened_is_old(turnstile: Making) -> None:
    driver = turnstile()
    late = [await driver.enter("gpt", FREE) for _ in range(2)]
    await passed(await opened(driver))
    trial = await driver.enter("gpt", FREE)

    await late[0].heard(None)
    await stands(driver, circuit="half-open")
    await late[1].heard(failure())
    await stands(driver, circuit="half-open")

    await trial.heard(None)
    await stands(driver, circuit="closed")
    for place in (*late, trial):
        await place.leave()


async def test_a_trial_that_is_cancelled_leaves_the_next_to_try(turnstile: Making) -> None:
    here, there = turnstile(), turnstile()
    await passed(await opened(here))
    await (await here.enter("gpt", FREE)).leave()

    await call(there, None)

    await stands(here, circuit="closed")


async def test_a_trial_whose_driver_died_is_given_to_another_when_its_lease_ends(turnstile: Making) -> None:
    here, dying = turnstile(), turnstile(renew_s=NEVER)
    await passed(await opened(here))
    await dying.enter("gpt", FREE)

    await stands(here, in_flight=0)

    await call(here, None)
    await stands(here, circuit="closed")


async def test_a_trial_waits_for_a_place_as_all_do(turnstile: Making) -> None:
    driver = turnstile()
    late = await driver.enter("gpt", ONE)
    for _ in range(3):
        await driver.heard("gpt", failure())
    with pytest.raises(CircuitOpen) as refusal:
        await driver.enter("gpt", ONE)
    await passed(refusal.value)

    trial = asyncio.create_task(driver.enter("gpt", ONE))
    await stands(driver, in_flight=1, waiting=1, circuit="half-open")
    await late.leave()
    async with await trial:
        await driver.heard("gpt", None)  # without a word which call it was: it can only be the trial

    await stands(driver, circuit="closed")


async def test_a_person_can_close_the_circuit_at_once(turnstile: Making) -> None:
    here, there = turnstile(), turnstile()
    await opened(here)

    await there.forgive("gpt")

    await stands(here, circuit="closed")
    await call(here, None)


async def test_whoever_waits_for_the_circuit_goes_on_as_soon_as_it_is_closed(turnstile: Making) -> None:
    here, there = turnstile(), turnstile(first_pause_s=60.0)
    await here.start()
    refusal = await opened(there)
    with pytest.raises(CircuitOpen) as seen:
        await here.enter("gpt", FREE)
    waiting = [asyncio.create_task(driver.outwait(each)) for driver, each in ((there, refusal), (here, seen.value))]
    await asyncio.sleep(0.05)
    assert not any(task.done() for task in waiting)

    await there.forgive("gpt")

    await asyncio.wait_for(asyncio.gather(*waiting), 5)


async def test_whoever_waits_for_the_circuit_goes_on_when_it_may_be_tried(turnstile: Making) -> None:
    driver = turnstile()

    await driver.outwait(await opened(driver))

    await call(driver, None)
    await stands(driver, circuit="closed")


async def test_pages_read_how_it_stands_and_close_a_circuit_with_a_plain_client(
    turnstile: Making, redis_url: str
) -> None:
    driver = turnstile()
    with redis.Redis.from_url(redis_url) as client:
        assert read_standings(client, []) == {}
        await opened(driver)
        found = read_standings(client, ["gpt", "other"])
        assert found == await driver.standing(["gpt", "other"])
        assert (found["gpt"].circuit, found["gpt"].reason) == ("open", "server: the model is not well")
        assert found["other"] == Standing()

        forgive(client, "gpt")

        assert read_standings(client, ["gpt"]) == {"gpt": Standing()}


def test_pages_are_told_where_nobody_can_say_how_it_stands() -> None:
    with redis.Redis.from_url("redis://127.0.0.1:9/0", retry=Retry(NoBackoff(), 0)) as client:
        with pytest.raises(RedisAway):
            read_standings(client, ["gpt"])
        with pytest.raises(RedisAway):
            forgive(client, "gpt")


# --- cooling --------------------------------------------------------------------------------------------------------


async def test_a_429_makes_all_drivers_wait_and_says_until_when(turnstile: Making) -> None:
    here, there = turnstile(), turnstile()
    await there.start()
    began = datetime.now(UTC)
    await here.heard("gpt", failure("rate_limited", retry_after_s=0.3))
    await until(lambda: "gpt" in there.troubled)
    guests = Guests(FREE)
    for number, driver in enumerate((here, there)):
        guests.send(str(number), driver)

    await until(lambda: len(guests.inside) == 2)

    assert (datetime.now(UTC) - began).total_seconds() > 0.3
    waiting = guests.told["1"][0]
    assert waiting.why == "cooling"
    assert waiting.until is not None
    assert 0.25 < (waiting.until - began).total_seconds() < 1
    await guests.all_out()


async def test_after_a_cooling_they_return_one_by_one(turnstile: Making) -> None:
    driver = turnstile(gap_s=0.04, steady_s=2.0)
    await driver.heard("gpt", failure("rate_limited", retry_after_s=0.1))
    guests = Guests(FREE)
    came_at: list[float] = []
    for number in range(5):
        guests.send(str(number), driver)
    for count in range(1, 6):
        await until(guests.are_inside, count)
        came_at.append(asyncio.get_running_loop().time())

    assert came_at[-1] - came_at[0] > 4 * 0.04 * 0.5
    await guests.all_out()


async def test_429s_of_calls_that_ran_together_count_once_and_later_ones_make_it_longer(turnstile: Making) -> None:
    driver = turnstile(first_cool_s=0.3, steady_s=0.0)
    lasted = []
    for _ in range(2):
        began = datetime.now(UTC)
        await asyncio.gather(*(driver.heard("gpt", failure("rate_limited")) for _ in range(4)))
        standing = (await driver.standing(["gpt"]))["gpt"]
        assert standing.cooling_until is not None
        lasted.append((standing.cooling_until - began).total_seconds())
        await stands(driver, cooling_until=None)

    assert 0.3 <= lasted[0] < 0.6 <= lasted[1]


async def test_a_retry_after_of_hours_is_no_reason_to_never_ask_again(turnstile: Making) -> None:
    driver = turnstile(longest_cool_s=0.2)

    await driver.heard("gpt", failure("rate_limited", retry_after_s=86_400))

    await stands(driver, cooling_until=None)


async def test_a_spent_balance_does_not_cool_for_no_waiting_brings_it_back(turnstile: Making) -> None:
    driver = turnstile()

    await driver.heard("gpt", failure("rate_limited", retryable=False, retry_after_s=100))

    await stands(driver, cooling_until=None, circuit="closed")


async def test_a_worker_that_is_well_again_is_asked_without_redis_again(turnstile: Making) -> None:
    driver = turnstile(steady_s=0.0)
    await driver.heard("gpt", failure("rate_limited", retry_after_s=0.05))
    await call(driver, None)

    await until(lambda: "gpt" not in driver.troubled)

    assert not (await driver.enter("gpt", FREE)).registered
