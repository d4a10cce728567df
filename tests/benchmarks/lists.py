"""Lists and pages over a database as full as a studio's after years: list, filter, search and open a run.

Pages are asked for one after another over one connection, as a browser would from the same machine; a time is from the
first byte of the question to the last of the answer. Beside it stands what the web server and PostgreSQL computed for
one answer: a machine that does other things makes people wait longer, but hardly makes that more.
"""

import http.client
import time
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import psutil
from asgiref.sync import sync_to_async

from tests.benchmarks.plot import percentile
from tests.benchmarks.setting import Setting
from tests.benchmarks.studio import Studio

if TYPE_CHECKING:
    from tests.benchmarks.generated import Made

RUNS, EVENTS = 10_000, 1_000_000
TARGET_MS = 150
WARM_UP, REPETITIONS = 3, 40


async def measure(studio: Studio, setting: Setting) -> list[str]:
    return await sync_to_async(_measure)(studio, setting)


def _measure(studio: Studio, setting: Setting) -> list[str]:
    from apps.audit.log import verify
    from apps.audit.models import Event
    from apps.runs.models import Step
    from tests.benchmarks.generated import generate

    pattern = setting.submit(setting.workflow([("s1", setting.fast, [])]))
    setting.stop(pattern)
    begun = time.perf_counter()
    runs = generate(pattern, runs=RUNS, events=EVENTS)
    took = time.perf_counter() - begun
    checked = verify(f"run:{runs[-1].code}")
    asking = Asking(studio)
    lines = [
        asking.page(name, address)
        for name, address in _pages(runs, pool=[worker["slug"] for worker in pattern.setup["pool"]])
    ]
    return [
        f"Lists over {len(runs):,} runs, {Step.objects.count():,} steps and {Event.objects.count():,} events, "
        f"written in {took:.0f} s; the last trail {'holds' if checked.first_break is None else 'is broken'}",
        f"  each page {REPETITIONS} times, at most {TARGET_MS} ms: {sum('over' not in line for line in lines)} "
        f"of {len(lines)} at p95",
        *lines,
    ]


def _pages(runs: "list[Made]", *, pool: list[str]) -> Iterator[tuple[str, str]]:
    """What is asked for, in words, and where."""
    common, *_, rare = pool
    middle = runs[len(runs) // 2]
    keep = ",".join(run.code for run in runs[-50:])
    yield "the list", "/runs/"
    yield "the list, five thousand runs down", f"/runs/?before={middle.pk}"
    yield "the list, fetched again", f"/runs/?keep={keep}&end={runs[-50].pk}"
    for text in (
        *("status:failed", "status:held", "is:mine", "is:fork", f"worker:{rare}", f"worker:{common}", "worker:nobody"),
        *(
            f"-worker:{common}",
            "profile:night",
            "planner:conductor",
            "who:grace",
            "who:nobody",
            f"code:{middle.code[:4]}",
        ),
        *("cost>0.15", "cost>900", "steps>=150", "steps:7", "tokens>200k", "took>4m", "took>9h", "before:2026-02-01"),
        *(
            "after:2026-11-01",
            "the",
            "tariff growth",
            f'"case {len(runs) // 3}"',
            "case",
            "vestvest dustdust",
            "nowhere",
        ),
        *("-the", f"status:failed worker:{common} cost>0.1 tariff", "status:failed who:ada steps>100 took>4m nowhere"),
    ):
        yield f"filter {text}", f"/runs/?q={quote(text)}"
    yield "palette", "/palette/"
    yield "palette, text", "/palette/?q=tariff"
    yield "a look at a run", f"/runs/{runs[-1].code}/peek/"
    for size in (3, 12, 40, 150):
        run = next(run for run in reversed(runs) if run.steps == size and run.status == "succeeded")
        page = f"/runs/{run.code}/"
        yield f"a run of {size} steps", page
        yield f"a run of {size} steps, step 2", f"{page}?step=s2"
        for view in ("events", "timeline", "matrix"):
            yield f"a run of {size} steps, {view}", f"{page}?view={view}"
    yield "the ledger of a run", f"/runs/{middle.code}/ledger/"
    yield "choose a run to compare", "/compare/"
    yield "choose a run to compare with one", f"/compare/?a={middle.code}"
    yield "compose", "/"
    yield "the workers", "/workers/"
    yield "a worker", f"/workers/{common}/"
    yield "the conductors", "/conductors/"


class Asking:
    """A browser's connection."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.connection = http.client.HTTPConnection(urlsplit(studio.url).netloc)
        self.headers = {"Cookie": studio.cookie}

    def page(self, name: str, address: str) -> str:
        """The figures of a page."""
        for _ in range(WARM_UP):
            self._ask(address)
        computed = self._computed_s()
        answers = [self._ask(address) for _ in range(REPETITIONS)]
        computed = (self._computed_s() - computed) / REPETITIONS
        status, size = answers[0][1:]
        times = [ms for ms, *_ in answers]
        worst = percentile(times, 95)
        note = "" if status == 200 else f", status {status}"
        return (
            f"  {name[:64]:<64} {median(times):6.1f} ms, p95 {worst:6.1f} ms, computed {computed * 1000:5.1f} ms, "
            f"{size / 1000:6.1f} kB{note}{', over' if worst > TARGET_MS else ''}"
        )

    def _computed_s(self) -> float:
        """CPU seconds of the web server and the database so far, with what backends used that have ended."""
        processes = self.studio.processes()
        return sum(_cpu_s(each) for kind in ("web", "postgres") for each in processes.get(kind, ()))

    def _ask(self, address: str) -> tuple[float, int, int]:
        begun = time.perf_counter()
        self.connection.request("GET", address, headers=self.headers)
        answer = self.connection.getresponse()
        size = len(answer.read())
        return (time.perf_counter() - begun) * 1000, answer.status, size


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    ended = times.children_user + times.children_system
    children = [child.cpu_times() for child in process.children(recursive=True)]
    return float(times.user + times.system + ended + sum(child.user + child.system for child in children))
