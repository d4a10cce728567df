"""Sealing: how many events a second eight writers at once get into the log, each with its text and its commit.

The writers are processes, as web server and drivers are, and each of their transactions does what a service's does: it
takes the trail's head, seals, and commits durably. Nothing else is written, so this is what the log allows, not what a
studio does in a second. All at one trail is the worst case: everybody waits for the one before.
"""

import multiprocessing
from dataclasses import dataclass

from asgiref.sync import sync_to_async

from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio
from tests.benchmarks.writing import READY_WITHIN_S, TEXT, write

WRITERS = 8
TARGET = 2_000


async def measure(studio: Studio, setting: Setting) -> list[str]:
    return await sync_to_async(_measure)(studio)


def _measure(studio: Studio) -> list[str]:
    from apps.audit.log import verify

    lines = [f"Sealing: {WRITERS} processes write events with a text of {len(TEXT)} characters, at least {TARGET:,}/s"]
    for name, trails, entries in (
        ("a trail each, an event a commit", WRITERS, 1),
        ("a trail each, four events a commit", WRITERS, 4),
        ("all to one trail, an event a commit", 1, 1),
    ):
        marked = f"bench:{trails}:{entries}"
        done = _write(studio, marked, trails=trails, entries=entries)
        verified = [verify(f"{marked}:{number}") for number in range(trails)]
        expected = done.events + WRITERS * entries  # each wrote once before it was ready
        holds = sum(each.events for each in verified) == expected and not any(each.first_break for each in verified)
        rate = done.events / done.took_s
        lines.append(
            f"  {name}: {rate:,.0f} events/s, {rate / entries:,.0f} commits/s{'' if rate >= TARGET else ', under'}; "
            f"computed {done.computed_s / done.events * 1000:.2f} ms an event, {done.cores:.1f} cores in use; "
            f"{'all of them hold' if holds else 'BROKEN'}"
        )
    return lines


@dataclass(frozen=True)
class Done:
    """What the writers did: events, seconds of the clock, and of CPU in them and in PostgreSQL."""

    events: int
    took_s: float
    computed_s: float

    @property
    def cores(self) -> float:
        return self.computed_s / self.took_s


def _write(studio: Studio, marked: str, *, trails: int, entries: int) -> Done:
    """Let every writer begin once all are ready."""
    spawn = multiprocessing.get_context("spawn")
    ready, begin, found = spawn.Barrier(WRITERS + 1), spawn.Event(), spawn.Queue()
    writers = [
        spawn.Process(target=write, args=(f"{marked}:{number % trails}", entries, ready, begin, found))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    ready.wait(READY_WITHIN_S)
    before = studio.cpu_s()["postgres"]
    begin.set()
    told = [found.get(timeout=READY_WITHIN_S) for _ in writers]
    database = studio.cpu_s()["postgres"] - before
    for writer in writers:
        writer.join()
    events, begun, ended, computed = zip(*told, strict=True)
    return Done(sum(events), max(ended) - min(begun), sum(computed) + database)
