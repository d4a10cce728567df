"""Many at once: 40 runs of 5 parallel steps at 50 tokens a second each, a viewer per run, one driver process.

All must finish, none slower than 1.3 times one alone in the same session, and no viewer may miss or double a piece.
"""

import asyncio
import time

from asgiref.sync import sync_to_async

from tests.benchmarks.plot import percentile, spread
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio, Viewer

RUNS = 40
PARALLEL: list[tuple[str, list[str]]] = [(f"s{number}", []) for number in range(1, 6)]
TARGET = 1.3


async def measure(studio: Studio, setting: Setting) -> list[str]:
    flow = setting.workflow([(key, setting.steady, access) for key, access in PARALLEL])
    alone = [(await _watched(studio, setting, flow, number))[1] for number in range(3)]
    cpu_before, began = studio.cpu_s(), time.monotonic()
    results = await asyncio.gather(*(_watched(studio, setting, flow, 10 + number) for number in range(RUNS)))
    wall_s = time.monotonic() - began
    cpu = {kind: used - cpu_before.get(kind, 0) for kind, used in studio.cpu_s().items()}
    viewers = [viewer for viewer, _ in results]
    took = [seconds for _, seconds in results]
    wrong = sum([await sync_to_async(_wrong)(viewer) for viewer in viewers])
    finished = sum(viewer.events[-1]["verb"] == "run.succeeded" for viewer in viewers)
    one = percentile(alone, 50)
    return [
        f"At once: {RUNS} runs of {len(PARALLEL)} parallel steps at 50 tokens/s, a viewer per run, one driver process",
        f"  finished {finished} of {RUNS}; one alone {one:.2f} s; at once {spread(took, 's')}",
        f"  slowest against one alone: {max(took) / one:.3f} (at most {TARGET})",
        f"  texts at viewers that differ from what is kept: {wrong}; gaps {sum(v.gaps for v in viewers)}; "
        f"pieces a viewer {sum(len(v.delta_at) for v in viewers) // RUNS}",
        f"  CPU over {wall_s:.1f} s: " + ", ".join(f"{kind} {used:.2f} s" for kind, used in sorted(cpu.items())),
        "  memory: " + ", ".join(f"{kind} {mb:.0f} MB" for kind, mb in sorted(studio.memory_mb().items())),
    ]


async def _watched(studio: Studio, setting: Setting, flow: object, number: int) -> tuple[Viewer, float]:
    run = await sync_to_async(setting.submit)(flow, f"Describe warehouse {number}.")  # type: ignore[arg-type]  # a thread
    began = time.time()
    viewer = await Viewer(studio, run.code).watch()
    return viewer, viewer.ended_at - began


def _wrong(viewer: Viewer) -> int:
    from apps.runs.models import Attempt

    kept = {attempt.stream: attempt.text for attempt in Attempt.objects.filter(run__code=viewer.code)}
    return sum(viewer.texts.get(stream) != text for stream, text in kept.items())
