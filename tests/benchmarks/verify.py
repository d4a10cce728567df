"""Verifying: how many events a second are re-computed and held against anchors, over trails as runs leave them.

What is verified is what `generated` writes: trails of eleven to three hundred events, with texts of steps and results.
The anchors over them are sealed first, which is measured too. Nothing is cached: each line is parsed and hashed, each
text hashed again, each signature of an anchor checked.
"""

import time

from asgiref.sync import sync_to_async

from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio

RUNS, EVENTS = 2_000, 200_000
TARGET = 20_000
REPETITIONS = 3


async def measure(studio: Studio, setting: Setting) -> list[str]:
    return await sync_to_async(_measure)(setting)


def _measure(setting: Setting) -> list[str]:
    from django.utils import timezone

    from apps.audit.anchors import seal_anchor
    from apps.audit.models import Trail
    from apps.audit.rows import Scope
    from apps.audit.verification import verify_trails
    from tests.benchmarks.generated import generate

    pattern = setting.submit(setting.workflow([("s1", setting.fast, [])]), ring=False)
    setting.stop(pattern)
    generate(pattern, runs=RUNS, events=EVENTS)
    begun = time.perf_counter()
    anchors = seal_anchor(now=timezone.now())
    sealing = time.perf_counter() - begun
    begun = time.perf_counter()
    seal_anchor(now=timezone.now())
    idle = time.perf_counter() - begun
    lines = [
        f"Verifying: {Trail.objects.count():,} trails, at least {TARGET:,} events/s",
        f"  {len(anchors)} anchors sealed over them in {sealing:.2f} s; {idle * 1000:.1f} ms once nothing has moved",
    ]
    for _ in range(REPETITIONS):
        begun, computed = time.perf_counter(), time.process_time()
        found = verify_trails(Scope()).whole
        took, computed = time.perf_counter() - begun, time.process_time() - computed
        rate = found.events / took
        lines.append(
            f"  {found.events:,} events in {took:.1f} s, {computed:.1f} s of them computed: {rate:,.0f} events/s"
            f"{'' if rate >= TARGET else ', under'}; {found.broken or 'none'} of the trails broken"
        )
        lines += [f"    {each.trail}, event {each.seq}: {each.reason}" for each in found.breaks[:3]]
    return lines
