"""The audit page over a million events: pages, every field of the filter, words of texts; and what being found costs.

Pages are asked for as in `lists`. What the audit page needs beside an event (its worker's column, six indexes) is paid
by whoever writes the event: that is measured on two tables like the real one, of which one has none of it, in CPU time
of the backend, which a machine that does other things changes least. Words are kept behind the events, by nobody who
waits; that is how long it takes a driver.
"""

import time
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psutil
import psycopg
from asgiref.sync import sync_to_async
from django.conf import settings
from psycopg import sql

from tests.benchmarks.lists import EVENTS, REPETITIONS, RUNS, TARGET_MS, Asking
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio

if TYPE_CHECKING:
    from apps.audit.models import Event

AT_ONCE = 5_000
ROWS, TURNS = 20_000, 5
PLAIN, FOUND = sql.Identifier("bench_plain_events"), sql.Identifier("bench_found_events")

COPY = sql.SQL(
    "INSERT INTO {table} (trail_id, seq, line, hash, at, verb, actor_kind, actor_id, actor_label, subject, project) "
    "SELECT turn, row, line, hash, at + row * interval '1 ms', verb, actor_kind, actor_id, actor_label, subject, "
    "project "
    "FROM audit_event, generate_series(1, {rows}) AS row, (SELECT {turn} AS turn) AS at_once WHERE id = {pattern}"
)


async def measure(studio: Studio, setting: Setting) -> list[str]:
    return await sync_to_async(_measure)(studio, setting)


def _measure(studio: Studio, setting: Setting) -> list[str]:
    from apps.audit.models import Event

    if Event.objects.count() < EVENTS:
        _generate(setting)
    kept = _keep_words()
    pattern = Event.objects.filter(verb="step.succeeded").latest("pk")
    asking = Asking(studio)
    pages = [asking.page(name, address) for name, address in _pages(pattern)]
    return [
        f"The audit page over {Event.objects.count():,} events, each page {REPETITIONS} times, at most {TARGET_MS} ms: "
        f"{sum('over' not in page for page in pages)} of {len(pages)} at p95",
        *pages,
        f"  {kept}",
        f"  {_cost(pattern.pk)}",
    ]


def _generate(setting: Setting) -> None:
    from tests.benchmarks.generated import generate

    pattern = setting.submit(setting.workflow([("s1", setting.fast, [])]))
    setting.stop(pattern)
    generate(pattern, runs=RUNS, events=EVENTS)


def _keep_words() -> str:
    """Keep the words of all events; the studio's own driver, which does the same, may be at it for a moment."""
    from apps.audit import searching
    from apps.audit.models import EventWords

    begun, events = time.perf_counter(), 0
    while searching.is_behind():
        events += searching.keep_words(limit=AT_ONCE)
    took = time.perf_counter() - begun
    return f"words of {EventWords.objects.count():,} events kept; {events:,} were looked at in {took:.0f} s"


def _pages(pattern: "Event") -> Iterator[tuple[str, str]]:
    """What is asked for, in words, and where."""
    from apps.audit.models import Event

    middle = Event.objects.order_by("pk")[EVENTS // 2]
    run = middle.trail.name.removeprefix("run:")
    yield "the newest", "/audit/"
    yield "half a million down", f"/audit/?from=c{middle.tx}.{middle.pk}"
    yield "what is new", f"/audit/news/?since={middle.tx}"
    yield "an event opened", f"/audit/events/{middle.pk}/"
    for text in (
        *("verb:step.started", "verb:run.stopped", "verb:run.failed", "verb:step", "verb:nothing", "-verb:step"),
        *("actor:ada", "actor:bench", "actor:nobody", "is:person", "is:system", "object:person", f"object:{run}"),
        *(f"run:{run}", f"run:{run[:1]}", f"worker:{pattern.worker}", "worker:sim", "worker:nobody"),
        *("outcome:failed", "outcome:stopped", "outcome:refused", "outcome:done", "project:default"),
        *("after:2026-11-01", "after:7d", "before:2026-02-01", "after:2026-03-01 before:2026-03-02"),
        *("before:2026-06-01 verb:run.failed", "before:2026-06-01 outcome:failed actor:ada"),
        *("the", "tariff growth", "case", '"case 3333"', "vestvest dustdust", "nowhere", "-the"),
        *(
            f"tariff worker:{pattern.worker}",
            "tariff outcome:failed",
            "verb:run.submitted nowhere",
            "is:system -verb:anchor",
        ),
    ):
        yield f"filter {text}", f"/audit/?q={quote(text)}"


def _cost(pattern: int) -> str:
    """CPU time of the backend for an event, with what finds it and without."""
    assert settings.DATABASE_OWNER_URL, "tables are made by the owner alone"
    with psycopg.connect(settings.DATABASE_OWNER_URL, autocommit=True) as owner:
        owner.execute(sql.SQL("DROP TABLE IF EXISTS {}, {}").format(PLAIN, FOUND))
        owner.execute(sql.SQL("CREATE TABLE {} (LIKE audit_event INCLUDING ALL)").format(FOUND))
        owner.execute(sql.SQL("CREATE TABLE {} (LIKE audit_event INCLUDING DEFAULTS INCLUDING IDENTITY)").format(PLAIN))
        owner.execute(sql.SQL("ALTER TABLE {} DROP COLUMN worker").format(PLAIN))
        for columns in ("id", "trail_id, seq", "tx, id"):
            owner.execute(sql.SQL("CREATE INDEX ON {} ({})").format(PLAIN, sql.SQL(columns)))
        plain, found = _paid(owner, PLAIN, pattern), _paid(owner, FOUND, pattern)
        owner.execute(sql.SQL("DROP TABLE {}, {}").format(PLAIN, FOUND))
    return f"an event costs {plain:.1f} µs of CPU to insert, and {found:.1f} µs with what the audit page finds it by"


def _paid(owner: "psycopg.Connection[Any]", table: sql.Identifier, pattern: int) -> float:
    """Microseconds a row; the median of some turns."""
    backend, took = psutil.Process(owner.info.backend_pid), []
    for turn in range(TURNS):
        before = backend.cpu_times()
        owner.execute(COPY.format(table=table, rows=ROWS, turn=turn, pattern=pattern))
        after = backend.cpu_times()
        took.append((after.user + after.system - before.user - before.system) / ROWS * 1e6)
    return median(took)
