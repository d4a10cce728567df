"""Planning while the server is left, overrun or killed: every plan comes, or its failure says what happened."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from apps.workers.calls import CallFailed, Timeouts
from apps.workers.gateway import Gateway
from tests.verification.vllm.asking import Asked, plan
from tests.verification.vllm.serving import AT_ONCE, Server

LONG = 12_000
ENDLESS: dict[str, Any] = {"max_tokens": LONG, "ignore_eos": True}
"""Parameters that keep the server writing for as long as a test needs it to."""
AT_ONCE_ASKED = 40


async def until(holds: Callable[[], bool], *, within_s: float, what: str) -> float:
    """Wait without holding up the loop on which the plans arrive; the seconds it took."""
    began = time.monotonic()
    while not await asyncio.to_thread(holds):
        assert time.monotonic() - began < within_s, f"after {within_s} s still not: {what}"
        await asyncio.sleep(0.02)
    return time.monotonic() - began


class Writing:
    """A plan that has begun to arrive and would not end by itself."""

    def __init__(self, server: Server, gateway: Gateway) -> None:
        self.asked = Asked()
        self.begun = asyncio.Event()
        endpoint = server.endpoint(**ENDLESS)
        self.task = asyncio.create_task(plan(gateway, endpoint, asked=self.asked, on_piece=self._heard))

    def _heard(self, piece: str) -> None:
        if sum(map(len, self.asked.pieces)) > 20:
            self.begun.set()

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.asked.pieces[0])

    async def failure(self) -> CallFailed:
        with pytest.raises(CallFailed) as caught:
            await asyncio.wait_for(self.task, 60)
        return caught.value


@pytest.fixture
async def writing(server: Server, gateway: Gateway) -> Writing:
    plan = Writing(server, gateway)
    await asyncio.wait_for(plan.begun.wait(), 60)
    return plan


class TestCancelling:
    async def test_a_plan_aborts_the_request_on_the_server(self, server: Server, writing: Writing) -> None:
        assert server.running == 1
        before = server.written

        writing.task.cancel()

        took = await until(lambda: server.running == 0, within_s=5, what="the server has stopped writing")
        assert took < 2
        written = server.written
        assert written - before < LONG / 2, "it was stopped, and did not come to its end"
        await asyncio.sleep(0.5)
        assert server.written == written
        with pytest.raises(asyncio.CancelledError):
            await writing.task

    async def test_a_plan_that_waits_for_its_turn_takes_it_off_the_queue(
        self, server: Server, gateway: Gateway
    ) -> None:
        ahead = [Writing(server, gateway) for _ in range(AT_ONCE)]
        await asyncio.wait_for(asyncio.gather(*(each.begun.wait() for each in ahead)), 60)
        behind = Writing(server, gateway)
        await until(lambda: server.waiting == 1, within_s=10, what="one waits for its turn")

        behind.task.cancel()

        await until(lambda: server.waiting == 0, within_s=5, what="nobody waits")
        assert server.running == AT_ONCE
        for each in ahead:
            each.task.cancel()
        await until(lambda: server.running == 0, within_s=5, what="the server has stopped writing")


class TestOverload:
    async def test_makes_plans_wait_for_their_turn_and_all_of_them_come(self, server: Server, gateway: Gateway) -> None:
        endpoint = server.endpoint(max_tokens=200)
        most = {"running": 0, "waiting": 0}

        async def look() -> None:
            while True:
                most["running"] = max(most["running"], await asyncio.to_thread(lambda: server.running))
                most["waiting"] = max(most["waiting"], await asyncio.to_thread(lambda: server.waiting))
                await asyncio.sleep(0.05)

        looking = asyncio.create_task(look())
        plans = [plan(gateway, endpoint, encoding="json", max_steps=1, seed=seed) for seed in range(AT_ONCE_ASKED)]
        done = await asyncio.wait_for(asyncio.gather(*plans), 120)
        looking.cancel()

        assert len(done) == AT_ONCE_ASKED
        assert all(each.last.is_valid or "cut off by the limit" in each.last.error for each in done)
        assert any(each.last.is_valid for each in done)
        assert most["running"] <= AT_ONCE
        assert most["waiting"] > AT_ONCE

    async def test_is_told_to_who_will_not_wait_and_nothing_is_written_for_them(
        self, server: Server, gateway: Gateway
    ) -> None:
        impatient = server.endpoint(timeouts=Timeouts(first_token_s=1.0, whole_s=60), **ENDLESS)
        ahead = [Writing(server, gateway) for _ in range(AT_ONCE)]
        await asyncio.wait_for(asyncio.gather(*(each.begun.wait() for each in ahead)), 60)

        plans = [plan(gateway, impatient, seed=seed) for seed in range(AT_ONCE_ASKED)]
        failures = await asyncio.wait_for(asyncio.gather(*plans, return_exceptions=True), 60)

        assert len(failures) == AT_ONCE_ASKED
        for failure in failures:
            assert isinstance(failure, CallFailed)
            assert (failure.kind, failure.retryable) == ("timeout", True)
            assert failure.message == "no first token within 1 s"
        assert not any(each.task.done() for each in ahead), "those at work are not disturbed"
        await until(lambda: server.waiting == 0, within_s=10, what="nobody waits")
        for each in ahead:
            each.task.cancel()
        await until(lambda: server.running == 0, within_s=5, what="the server has stopped writing")
        written = server.written
        await asyncio.sleep(0.5)
        assert (server.running, server.waiting, server.written) == (0, 0, written)


class TestAServerThatDies:
    """`serve_conductor` starts it again, which here takes as long as its imports."""

    async def test_in_mid_plan_cuts_it_and_plans_again_once_it_is_back(
        self, server: Server, gateway: Gateway, writing: Writing
    ) -> None:
        await asyncio.to_thread(server.kill)

        failure = await writing.failure()
        assert (failure.kind, failure.retryable) == ("cut", True)
        assert failure.partial == writing.text != ""

        with pytest.raises(CallFailed) as away:
            await plan(gateway, server.endpoint(), encoding="json")
        assert (away.value.kind, away.value.retryable) == ("refused", True)

        await asyncio.to_thread(server.wait_until_healthy)
        again = await plan(gateway, server.endpoint(), encoding="json", max_steps=1)
        assert again.last.is_valid or "cut off by the limit" in again.last.error

    async def test_by_its_engine_says_so_in_the_middle_of_the_plan_and_comes_back(
        self, server: Server, gateway: Gateway, writing: Writing
    ) -> None:
        await asyncio.to_thread(server.kill_engine)

        failure = await writing.failure()
        assert failure.kind in ("server", "cut")
        assert failure.retryable
        assert failure.partial == writing.text != ""

        await until(lambda: not server.is_healthy(), within_s=30, what="the server says that it cannot go on")
        await asyncio.to_thread(server.wait_until_healthy)
        again = await plan(gateway, server.endpoint(), encoding="json", max_steps=1)
        assert again.last.is_valid or "cut off by the limit" in again.last.error

    async def test_leaves_no_process_behind(self, server: Server) -> None:
        """After the tests above: one server, one engine, and what they need."""
        commands = [" ".join(process.cmdline()) for process in server.processes()]

        assert sum("EngineCore" in command for command in commands) == 1, commands
        assert sum(" serve " in command for command in commands) == 1, commands
