"""What the studio adds to the calls themselves, a step on the critical path.

Two workflows on a zero-latency simulator, one run at a time, with a viewer who is there from the start: from the bell
that follows the submit's commit to the viewer's receipt of the run's last event, minus the very same requests made by a
bare aiohttp client along the critical path, in turns within one process. Everything is written and sealed on the way.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from asgiref.sync import sync_to_async

from tests.benchmarks.plot import spread
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio, Viewer

REPETITIONS = 40
WARM_UP = 5
SETTLE_S = 0.15  # until whoever came has been told everything
TARGET_MS = 8

Shape = Sequence[tuple[str, Sequence[str]]]

CHAIN: Shape = (("s1", []), ("s2", ["s1"]), ("s3", ["s2"]))
FAN: Shape = (("s1", []), ("s2", []), ("s3", []), ("s4", ["s1", "s2", "s3"]), ("s5", ["s4"]))
PATH = 3  # steps on the critical path of both


@dataclass
class Times:
    studio_ms: list[float] = field(default_factory=list)
    bare_ms: list[float] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)

    @property
    def per_step_ms(self) -> list[float]:
        return [(studio - bare) / PATH for studio, bare in zip(self.studio_ms, self.bare_ms, strict=True)]


async def measure(studio: Studio, setting: Setting) -> list[str]:
    lines = ["Overhead: submit committed to last event at the viewer, minus the same calls by bare aiohttp"]
    for name, shape in (("chain of 3", CHAIN), ("3 parallel, synthesis, verification", FAN)):
        times = Times()
        async with aiohttp.ClientSession() as session:
            for repetition in range(WARM_UP + REPETITIONS):
                found = await _once(studio, setting, session, shape)
                if repetition >= WARM_UP:
                    for values, value in zip((times.studio_ms, times.bare_ms, times.commits), found, strict=True):
                        values.append(value)
        steps = len(shape)
        lines += [
            f"  {name}:",
            f"    studio {spread(times.studio_ms, 'ms')}, bare calls {spread(times.bare_ms, 'ms')}",
            f"    overhead a step on the critical path: {spread(times.per_step_ms, 'ms')} (at most {TARGET_MS} at p50)",
            f"    commits a step, all of the run's counted: {sum(times.commits) / len(times.commits) / steps:.2f}",
        ]
    return lines


async def _once(
    studio: Studio, setting: Setting, session: aiohttp.ClientSession, shape: Shape
) -> tuple[float, float, float]:
    flow = setting.workflow([(key, setting.fast, access) for key, access in shape])
    before = await sync_to_async(setting.commits)()
    run = await sync_to_async(setting.submit)(flow, ring=False)
    viewer = Viewer(studio, run.code)
    watching = asyncio.ensure_future(viewer.watch())
    await viewer.ready.wait()
    await asyncio.sleep(SETTLE_S)
    began = time.time()  # as if it were committed now: what follows the commit is the bell
    await sync_to_async(setting.ring)(run)
    await watching
    studio_ms = (viewer.ended_at - began) * 1000
    commits = await sync_to_async(setting.commits)() - before
    sent = await sync_to_async(setting.sent)(run)
    began = time.perf_counter()
    if len(shape) == 3:
        for messages in sent:
            await _call(session, setting, messages)
    else:
        await asyncio.gather(*(_call(session, setting, messages) for messages in sent[:3]))
        for messages in sent[3:]:
            await _call(session, setting, messages)
    return studio_ms, (time.perf_counter() - began) * 1000, commits


async def _call(session: aiohttp.ClientSession, setting: Setting, messages: Any) -> None:
    body = {"model": setting.fast_model, "messages": messages, "stream": True}
    async with session.post(f"{setting.simulator}/chat/completions", json=body) as answer:
        async for _ in answer.content:
            pass
