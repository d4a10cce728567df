"""Texts over a socket while they are written: deltas in order, gaps filled, late viewers served."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from redis import Redis

from apps.accounts.models import User
from apps.runs.live import Typist, key_of
from apps.runs.models import Attempt, Run
from apps.web.live import following
from tests import factories
from tests.factories import Driving
from tests.functional.web.conftest import Viewer
from tests.functional.web.test_sockets import driving, of, path, run, writing

View = Callable[..., Awaitable[Viewer]]

__all__ = ["driving", "run", "writing"]


async def test_deltas_are_passed_on(
    writing: Attempt, driving: Driving, typist: Typist, browser: Client, view: View
) -> None:
    viewer = await view(browser, path(driving.run))
    await viewer.hello()
    await viewer.until(of("text"))

    typist.say(code=driving.run.code, stream=writing.stream, piece="Süd 🙂")
    frame = await viewer.until(of("deltas"))
    typist.say(code=driving.run.code, stream=writing.stream, piece=" grew")
    second = await viewer.until(of("deltas"))

    assert frame["deltas"] == [[writing.stream, 0, "Süd 🙂"]]
    assert second["deltas"] == [[writing.stream, 5, " grew"]]


async def test_who_comes_late_gets_the_text_so_far_and_then_what_follows(
    writing: Attempt, driving: Driving, typist: Typist, browser: Client, view: View
) -> None:
    early = await view(browser, path(driving.run))
    await early.hello()
    typist.say(code=driving.run.code, stream=writing.stream, piece="South ")
    await early.until(of("deltas"))

    late = await view(browser, path(driving.run))
    await late.hello()
    await late.until(of("text"))
    typist.say(code=driving.run.code, stream=writing.stream, piece="grew most.")
    await late.until(of("deltas"))

    assert late.text(writing.stream) == "South grew most."


async def test_nothing_is_lost_or_out_of_order_while_many_come_and_it_goes_on(
    writing: Attempt, driving: Driving, typist: Typist, browser: Client, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Viewers whose reading of the past is slow, while the text grows under their hands."""
    whole = "".join(f"{number} 🙂 " for number in range(400))
    read = following.text_of

    async def slowly(text: following.Writing) -> str:
        found = await read(text)
        await asyncio.sleep(0.1)  # what is typed now is in nobody's past
        return found

    monkeypatch.setattr(following, "text_of", slowly)

    async def write() -> None:
        for start in range(0, len(whole), 10):
            typist.say(code=driving.run.code, stream=writing.stream, piece=whole[start : start + 10])
            await asyncio.sleep(0.005)

    async def watch(after_s: float) -> Viewer:
        await asyncio.sleep(after_s)
        viewer = await view(browser, path(driving.run))
        await viewer.hello()
        await viewer.until(of("text"))
        while len(viewer.text(writing.stream)) < len(whole):
            await viewer.next()
        return viewer

    *viewers, _ = await asyncio.gather(*(watch(number / 10) for number in range(8)), write())

    for viewer in viewers:
        assert isinstance(viewer, Viewer)
        assert viewer.text(writing.stream) == whole


async def test_a_gap_is_filled_from_redis_while_it_is_being_written(
    writing: Attempt, driving: Driving, typist: Typist, browser: Client, view: View
) -> None:
    viewer = await view(browser, path(driving.run))
    await viewer.hello()
    typist.say(code=driving.run.code, stream=writing.stream, piece="Süd 🙂 grew")
    await viewer.until(of("deltas"))

    await viewer.say({"t": "fill", "stream": writing.stream, "from": 4})

    assert await viewer.until(of("text")) == {"t": "text", "stream": writing.stream, "from": 4, "text": "🙂 grew"}


async def test_a_gap_is_filled_from_the_row_once_it_was_written(
    driving: Driving, browser: Client, redis_url: str, view: View
) -> None:
    attempt = await sync_to_async(driving.finish)("s1", "South grew most.")
    Redis.from_url(redis_url).delete(key_of(attempt.stream))
    plan = await driving.run.proposals.aget()
    viewer = await view(browser, path(driving.run))

    await viewer.say({"t": "fill", "stream": attempt.stream, "from": 6})
    await viewer.say({"t": "fill", "stream": plan.stream, "from": 0})

    assert (await viewer.until(of("text")))["text"] == "grew most."
    assert (await viewer.until(of("text")))["text"] == plan.raw


async def test_a_text_of_a_million_characters_comes_in_pieces(driving: Driving, browser: Client, view: View) -> None:
    whole = "0123456789" * 100_000
    attempt = await sync_to_async(driving.finish)("s1", whole)
    viewer = await view(browser, path(driving.run))

    await viewer.say({"t": "fill", "stream": attempt.stream, "from": 0})
    while len(viewer.text(attempt.stream)) < len(whole):
        frame = await viewer.next()
        assert len(frame["text"]) <= following.PIECE_CHARS

    assert viewer.text(attempt.stream) == whole


async def test_a_text_of_another_run_is_not_filled(
    writing: Attempt, bob: User, other_browser: Client, view: View
) -> None:
    mine = await sync_to_async(factories.make_run)(by=bob)
    viewer = await view(other_browser, path(mine))

    await viewer.say({"t": "fill", "stream": writing.stream, "from": 0})

    assert (await viewer.next())["t"] == "error"


async def test_the_plan_being_written_comes_with_its_draft(
    run: Run, typist: Typist, browser: Client, view: View
) -> None:
    plan = await sync_to_async(lambda: Driving(run).ask())()
    steps = [{"position": 1, "instruction": "Compute", "worker": None, "access": None}]
    early = await view(browser, path(run))
    await early.hello()
    await early.until(of("text"))

    typist.say(code=run.code, stream=plan.stream, piece="model_id = [")
    typist.draft(code=run.code, proposal=plan.pk, steps=steps)
    seen = await early.until(of("draft"))
    late = await view(browser, path(run))
    await late.hello()
    drafted = await late.until(of("draft"))

    assert seen == drafted == {"t": "draft", "proposal": plan.pk, "steps": steps}
    assert late.text(plan.stream) == "model_id = ["
