"""The bridge between a run's own thread and the driver's loop.

Waiting for models is asyncio, on one loop per driver; writing to PostgreSQL is plain synchronous Django in the run's
own thread. The loop hands the thread things to write and awaits their outcome; while it waits for a model the thread
holds no database connection.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from django.db import connection

T = TypeVar("T")

Job = tuple[Callable[[Any], Any], "asyncio.Future[Any]"]

# Carries out a batch in one transaction: each job on what it writes on, in order; their results.
Bind = Callable[[list[Callable[[Any], Any]]], list[Any]]

# What one step's end sets off (its readers' starts) is asked for within this many turns of the loop.
TURNS = 3

# A connection is kept this long for what follows at once; then it goes back to the pool.
LINGER_S = 0.005


class Scribe:
    """Carries out writes for one run, in the thread that called `serve`, in the order they were asked for.

    What is asked for in the same moment is written together: `bind` opens one transaction for a batch and gives each
    job what it writes on. A batch is written whole or not at all.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, bind: Callable[[list[Callable[[Any], Any]]], list[Any]]
    ) -> None:
        self._loop = loop
        self._bind = bind
        self._gathered: list[Job] = []
        self._asked: SimpleQueue[list[Job] | tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()

    def write(self, job: "Callable[[Any], T]") -> "asyncio.Future[T]":
        """Have `job` written with whatever else is asked for now. It is done even if nobody awaits it any more."""
        outcome: asyncio.Future[T] = self._loop.create_future()
        self._gathered.append((job, outcome))
        if len(self._gathered) == 1:
            self._loop.call_soon(self._hand_over, TURNS)
        return outcome

    def do(self, job: "Callable[[], T]") -> "asyncio.Future[T]":
        """Have `job` carried out alone, outside any transaction: reading, mostly."""
        outcome: asyncio.Future[T] = self._loop.create_future()
        self._hand_over(0)
        self._asked.put((job, outcome))
        return outcome

    def _hand_over(self, turns: int) -> None:
        if turns:
            self._loop.call_soon(self._hand_over, turns - 1)
        elif self._gathered:
            self._asked.put(self._gathered)
            self._gathered = []

    def serve(self, work: "Coroutine[Any, Any, T]") -> T:
        """Run `work` on the loop, and carry out in this thread what it writes, until it is done."""
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        done.add_done_callback(lambda _: self._asked.put(None))
        try:
            while (asked := self._next()) is not None:
                if isinstance(asked, list):
                    self._write(asked)
                else:
                    self._carry_out(*asked)
        finally:
            connection.close()
        return done.result()

    def _next(self) -> "list[Job] | tuple[Callable[[], Any], asyncio.Future[Any]] | None":
        try:
            return self._asked.get(timeout=LINGER_S)
        except Empty:
            connection.close()  # back to the pool: a run that waits for a model holds none
            return self._asked.get()

    def _write(self, batch: list[Job]) -> None:
        try:
            results = self._bind([job for job, _ in batch])
        except Exception as error:
            for _, outcome in batch:
                self._tell(outcome.set_exception, outcome, error)
        else:
            for (_, outcome), result in zip(batch, results, strict=True):
                self._tell(outcome.set_result, outcome, result)

    def _carry_out(self, job: Callable[[], Any], outcome: "asyncio.Future[Any]") -> None:
        try:
            result = job()
        except Exception as error:
            self._tell(outcome.set_exception, outcome, error)
        else:
            self._tell(outcome.set_result, outcome, result)

    def _tell(self, say: Callable[[Any], None], outcome: "asyncio.Future[Any]", value: Any) -> None:
        self._loop.call_soon_threadsafe(lambda: None if outcome.done() else say(value))
