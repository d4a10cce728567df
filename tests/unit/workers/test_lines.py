"""A worker's line as one process sees it, and what is said about it: without any Redis."""

import asyncio
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from apps.workers.calls import CallFailed, FailureKind
from apps.workers.circuit import CircuitOpen, reason_of, verdict_on
from apps.workers.lines import Limits, Line, Place, Waiting
from apps.workers.news import parsed
from apps.workers.pace import Pace
from apps.workers.places import Turnstile
from apps.workers.scripts import PARTS, source_of
from apps.workers.standing import Standing, standings

NOW_MS = 1_800_000_000_000
NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


def line(limits: Limits = Limits()) -> Line:  # noqa: B008 - frozen
    nobody = cast("Turnstile", None)
    return Line(nobody, "gpt", limits)


def told(ticket: str, **more: Any) -> dict[str, Any]:
    return {"now": NOW_MS, "tickets": [{"ticket": ticket, "trial": False, **more}]}


async def test_whoever_is_admitted_gets_a_place_that_is_held() -> None:
    door = line()
    waiter = door.join("me:1", 10, lambda waiting: None)

    door.hear(told("me:1"), tell_s=0.5, look_s=1)

    place = waiter.answer.result()
    assert isinstance(place, Place)
    assert (door.held, door.waiting) == ({"me:1": place}, {})


async def test_whoever_waits_is_told_why_and_until_when() -> None:
    door, said = line(), list[Waiting]()
    door.join("me:1", 10, said.append)

    door.hear(told("me:1", ahead=3, order="17") | {"why": "rate", "free_at": NOW_MS}, tell_s=0.5, look_s=1)

    assert said == [Waiting(3, "rate", NOW)]
    assert door.waiting["me:1"].order == "17"


async def test_the_same_is_not_told_twice_and_nothing_too_often() -> None:
    door, said = line(), list[Waiting]()
    door.join("me:1", 10, said.append)

    for ahead in (3, 3, 2, 1):
        door.hear(told("me:1", ahead=ahead, order="17") | {"why": "place"}, tell_s=60, look_s=1)

    assert said == [Waiting(3, "place")]


async def test_whoever_the_circuit_keeps_out_is_told_the_reason_and_when_it_is_tried_again() -> None:
    door = line()
    waiter = door.join("me:1", 10, lambda waiting: None)

    door.hear(told("me:1", bar={"reason": "server: down", "next_try": NOW_MS, "wait_ms": 1500}), tell_s=0.5, look_s=1)

    with pytest.raises(CircuitOpen) as refusal:
        waiter.answer.result()
    assert (refusal.value.slug, refusal.value.reason, refusal.value.next_try) == ("gpt", "server: down", NOW)
    assert refusal.value.wait_s == 1.5
    assert str(refusal.value) == f"gpt keeps failing (server: down); it is tried again from {NOW:%H:%M:%S} UTC"


async def test_a_grant_for_one_who_is_gone_holds_nothing() -> None:
    door = line()
    waiter = door.join("me:1", 10, lambda waiting: None)
    waiter.answer.cancel()

    door.grant("me:1")
    door.grant("me:2")

    assert door.held == {}


@pytest.mark.parametrize(("limit", "let_in"), [(None, 3), (1, 2), (2, 2)])
async def test_alone_a_driver_lets_in_its_share_first_come_first_served(limit: int | None, let_in: int) -> None:
    door = line(Limits(concurrency=limit))
    waiters = [door.join(f"me:{number}", 0, lambda waiting: None) for number in range(4)]
    for waiter in waiters[:3]:
        waiter.asked = True  # the fourth's question is still on its way

    assert door.grant_alone(share=2)

    assert [waiter.answer.done() for waiter in waiters] == [number < let_in for number in range(4)]
    assert door.grant_alone(share=2) is False


async def test_when_to_look_again_follows_from_what_is_waited_for() -> None:
    door = line()
    clock = asyncio.get_running_loop().time
    door.join("me:1", 10, lambda waiting: None)

    door.hear(told("me:1", ahead=0, order="1") | {"why": "place"}, tell_s=0.5, look_s=60)
    for_a_place = door.due_at - clock()
    door.hear(told("me:1", ahead=0, order="1") | {"why": "rate", "free_at": NOW_MS + 5000}, tell_s=0.5, look_s=60)
    for_a_rate = door.due_at - clock()

    assert for_a_rate < 6 < 50 < for_a_place


def test_older_limits_do_not_replace_newer_ones() -> None:
    door = line(Limits(concurrency=2, version=3))

    door.learn(Limits(concurrency=9, version=2))
    assert door.limits.concurrency == 2
    door.learn(Limits(concurrency=4, version=3))

    assert door.limits.concurrency == 4


def test_limits_are_none_only_when_all_are() -> None:
    assert Limits(version=7).are_none
    assert not Limits(concurrency=1).are_none
    assert not Limits(requests_per_minute=1).are_none
    assert not Limits(tokens_per_minute=1).are_none
    assert Limits(concurrency=3).told() == {"concurrency": 3, "version": 0}


@pytest.mark.parametrize(
    ("kind", "retryable", "verdict"),
    [
        ("server", True, "down"),
        ("timeout", True, "down"),
        ("refused", True, "down"),
        ("auth", False, "down"),
        ("cut", True, "down"),
        ("rate_limited", True, "busy"),
        ("rate_limited", False, "alive"),
        ("bad_request", False, "alive"),
        ("not_found", False, "alive"),
        ("empty", True, "alive"),
    ],
)
def test_each_failure_says_something_about_the_worker(kind: FailureKind, retryable: bool, verdict: str) -> None:
    failed = CallFailed(kind, "words " * 100, retryable=retryable)

    assert verdict_on(failed) == verdict
    assert len(reason_of(failed)) == 300


def test_a_reply_is_a_reply() -> None:
    assert (verdict_on(None), reason_of(None)) == ("answered", "")


def test_news_are_about_all_or_a_worker_or_a_ticket() -> None:
    assert parsed(b"muster") == ("muster", "", "")
    assert parsed("trouble gpt-5") == ("trouble", "gpt-5", "")
    assert parsed(b"granted gpt-5 ab12:7") == ("granted", "gpt-5", "ab12:7")


def test_standings_are_read_in_order_with_times_as_times() -> None:
    calm = {"in_flight": 2, "waiting": 1, "circuit": "closed", "reason": ""}
    sick = {"in_flight": 0, "waiting": 0, "circuit": "open", "reason": "auth: no", "next_try": NOW_MS}

    assert standings(["a", "b"], [calm, sick]) == {
        "a": Standing(2, 1),
        "b": Standing(circuit="open", reason="auth: no", next_try=NOW),
    }


def test_a_lease_outlives_two_missed_renewals_and_is_over_well_before_fifteen_seconds() -> None:
    pace = Pace()

    assert pace.renew_s * 2 < pace.lease_s
    assert pace.lease_s + 2 * pace.look_s < 15
    assert pace.call_s < pace.renew_s


@pytest.mark.parametrize("name", PARTS)
def test_every_script_stands_beside_its_parts(name: str) -> None:
    assert source_of(name).startswith("-- ")
