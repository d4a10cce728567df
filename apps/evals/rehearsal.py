"""Carrying a rehearsal out: every entrant answers every task as a run of the studio, driven by the real driver.

This process is one more driver, with a pulse of its own. Nothing of a run is made up for the occasion: it is submitted
by the service that pages use, written down and sealed like any other, in a project of its own so that it fills nobody's
list. Only simulated models are asked, so that a rehearsal costs nothing.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import redis
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from redis.exceptions import RedisError

from apps.accounts.models import Project, User
from apps.core.errors import Conflict, Invalid, Unavailable
from apps.runs import process as processes
from apps.runs.driver import drive
from apps.runs.models import Run
from apps.runs.services import cut_short, submit_run
from apps.workers.models import Conductor, Profile, Worker

from .collecting import collect
from .entrants import Entrant
from .generators import Task
from .outcomes import Outcome

PROJECT: Final = "rehearsals"
PATIENCE_S: Final = 600
MAX_STEPS: Final = 5


class NothingToAsk(Unavailable):
    """The pool has no simulated worker that could be rehearsed with."""


class NoRedis(Unavailable):
    """A driver needs the studio's Redis, and it does not answer."""


@dataclass(frozen=True)
class Pool:
    """Whom a rehearsal asks: simulated workers in the order that planners number them, and a simulated conductor."""

    workers: tuple[str, ...]
    conductor: Conductor | None
    base_url: str


@dataclass(frozen=True)
class LeftOut:
    """An entrant that does not take part, and why."""

    entrant: Entrant
    why: str


@dataclass(frozen=True)
class Rehearsed:
    """What came of it. `wall_s` is how long all runs together took."""

    outcomes: list[Outcome]
    left_out: list[LeftOut]
    wall_s: float


def find_pool(names: Sequence[str] = ()) -> Pool:
    """The simulated workers that are enabled, or those of them that are named.

    :raises NothingToAsk: there is none. :raises Invalid: one that is named is unknown or not simulated.
    """
    offered = {worker.slug: worker for worker in Worker.objects.filter(simulated=True, enabled=True, embeds=False)}
    if unknown := [name for name in names if name not in offered]:
        message = f"“{unknown[0][:63]}” is no enabled simulated worker; there are: {', '.join(offered) or 'none'}."
        raise Invalid(message, field="workers")
    if not offered:
        raise NothingToAsk("There is no simulated worker. Start the studio with its simulator: make run.")
    chosen = [offered[name] for name in dict.fromkeys(names)] if names else list(offered.values())
    conductor = Conductor.objects.filter(simulated=True, enabled=True).order_by("slug").first()
    return Pool(tuple(worker.slug for worker in chosen), conductor, chosen[0].base_url)


def check_redis() -> None:
    """:raises NoRedis:"""
    try:
        client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=3)
        client.ping()
        client.close()
    except (RedisError, OSError) as error:
        raise NoRedis(f"The studio's Redis does not answer ({error}). Start the studio: make run.") from error


class Rehearsal:
    """All runs of a rehearsal. `by` owns them, in the project of rehearsals."""

    def __init__(self, pool: Pool, *, by: User, speed: float, jobs: int) -> None:
        self.pool = pool
        self.speed = speed
        self.jobs = jobs
        self.by = by
        made = {"name": "Rehearsals", "created_at": timezone.now()}
        self.project, _ = Project.objects.get_or_create(slug=PROJECT, defaults=made)

    def carry_out(
        self, tasks: Sequence[Task], entrants: Sequence[Entrant], *, done: Callable[[Outcome], None]
    ) -> Rehearsed:
        """Run every task under every entrant; `done` hears of each outcome as it comes, in the calling thread.

        Entrants that learn and have not learnt yet are left out: the first task finds that out.
        """
        began = time.monotonic()
        with driving() as process:
            left_out = list(self._untrained(tasks[0], entrants, process))
            absent = {each.entrant.name for each in left_out}
            pairs = [(task, entrant) for task in tasks for entrant in entrants if entrant.name not in absent]
            outcomes = self._all(pairs, process, done)
        return Rehearsed(outcomes, left_out, time.monotonic() - began)

    def _untrained(self, task: Task, entrants: Sequence[Entrant], process: processes.Process) -> Iterator[LeftOut]:
        for entrant in entrants:
            if entrant.asks_conductor and self.pool.conductor is None:
                yield LeftOut(entrant, "There is no simulated conductor.")
            elif entrant.learns:
                run = self._run(task, entrant, process)
                if run.workflow_body is None and run.status == Run.Status.FAILED:
                    yield LeftOut(entrant, run.error)

    def _all(
        self, pairs: Sequence[tuple[Task, Entrant]], process: processes.Process, done: Callable[[Outcome], None]
    ) -> list[Outcome]:
        outcomes: list[Outcome] = []
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="rehearsal") as threads:
            waiting = [threads.submit(self._outcome, task, entrant, process) for task, entrant in pairs]
            try:
                for future in as_completed(waiting):
                    outcomes.append(future.result())
                    done(outcomes[-1])
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                self._stop(process)
                raise
        return outcomes

    def _outcome(self, task: Task, entrant: Entrant, process: processes.Process) -> Outcome:
        try:
            return collect(self._run(task, entrant, process), task, entrant)
        finally:
            connection.close()

    def _run(self, task: Task, entrant: Entrant, process: processes.Process) -> Run:
        """The ended run of one task under one entrant, in this thread: or in another driver that was quicker."""
        run = self._submit(task, entrant)
        drive(run.pk, process)
        until = time.monotonic() + PATIENCE_S
        run.refresh_from_db()
        while not run.is_ended and time.monotonic() < until:
            connection.close()
            time.sleep(0.1)
            run.refresh_from_db()
        return run

    def _submit(self, task: Task, entrant: Entrant) -> Run:
        profile = Profile(
            slug="rehearsal",
            name=f"Rehearsal: {entrant.name}",
            planner=entrant.planner if entrant.workflow is None else "direct",
            conductor=self.pool.conductor if entrant.asks_conductor else None,
            options=entrant.options,
            rounds=entrant.rounds,
            max_steps=MAX_STEPS,
        )
        with transaction.atomic():  # nobody sees the run before it is to be carried out at the pace that is wished
            run = submit_run(
                task=task.text,
                profile=profile,
                by=self.by,
                now=timezone.now(),
                project=self.project,
                is_studios_own=True,
                seed=task.seed,
                workers=self.pool.workers,
                workflow=entrant.workflow,
            )
            run.setup = hurried(run.setup, self.speed)
            run.save(update_fields=["setup"])
        return run

    def _stop(self, process: processes.Process) -> None:
        """Stop what is still under way, so that no other driver takes it over."""
        for run in Run.objects.filter(pk__in=list(process.held)):
            try:
                cut_short(run=run, by=self.by.actor, now=timezone.now(), reason="The rehearsal was broken off.")
            except Conflict:
                continue  # it ended by itself


def hurried(setup: dict[str, Any], speed: float) -> dict[str, Any]:
    """The setup of a run with every simulated model so many times as fast; 0: without any delay, 1: as it is."""
    if speed == 1:
        return setup
    conductor = setup["conductor"]
    return setup | {
        "pool": [_hurried(worker, speed) for worker in setup["pool"]],
        "conductor": None if conductor is None else _hurried(conductor, speed),
    }


def _hurried(frozen: dict[str, Any], speed: float) -> dict[str, Any]:
    model = frozen["identity"]["model"]
    knob = f"{model}{',' if ':' in model else ':'}speed={speed:g}"
    return frozen | {"identity": frozen["identity"] | {"model": knob}}


@contextmanager
def driving() -> Iterator[processes.Process]:
    """A driver in this process, its heart beating."""
    process = processes.start()
    pulse = threading.Thread(target=process.pulse_for_ever, name="rehearsal-pulse", daemon=True)
    pulse.start()
    try:
        yield process
    finally:
        process.close()
        pulse.join(timeout=5)
