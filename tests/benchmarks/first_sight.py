"""First sight: from a token's leaving the simulator to a viewer's socket.

The simulator notes when it wrote each piece; viewer and simulator share a clock. The socket here is a client's on
loopback: what a browser draws comes after it.
"""

import asyncio
import json
import urllib.request

from asgiref.sync import sync_to_async

from tests.benchmarks.plot import percentile
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio, Viewer

RUNS = 25
FIRST_MS, LATER_MS = 50, 100


async def measure(studio: Studio, setting: Setting) -> list[str]:
    flow = setting.workflow([("s1", setting.steady, [])])
    first: list[float] = []
    later: list[float] = []
    for number in range(RUNS):
        run = await sync_to_async(setting.submit)(flow, f"Describe parcel {number}.")
        viewer = await Viewer(studio, run.code).watch()
        written = await asyncio.to_thread(_written, setting)
        stream = next(iter(viewer.texts))
        for position, (chars, at) in enumerate(written):
            seen = next((when for name, _, to, when in viewer.delta_at if name == stream and to >= chars), None)
            if seen is not None:
                (later if position else first).append((seen - at) * 1000)
    return [
        f"First sight: token leaves the simulator to viewer's socket, {RUNS} runs",
        f"  first token: p50 {percentile(first, 50):.1f} ms, p95 {percentile(first, 95):.1f} ms (at most {FIRST_MS})",
        f"  later tokens: p50 {percentile(later, 50):.1f} ms, p95 {percentile(later, 95):.1f} ms (at most {LATER_MS})",
    ]


def _written(setting: Setting) -> list[tuple[int, float]]:
    """Of the last call: after how many characters of the reply, and when (seconds since the epoch), for each piece."""
    with urllib.request.urlopen(setting.simulator.removesuffix("/v1") + "/log") as answer:
        last = json.load(answer)[-1]
    return [(chars, at) for chars, at in last["pieces"]]
