"""The bridge between a run's own thread and the driver's loop.

Waiting for models is asyncio, on one loop per driver; writing to PostgreSQL is plain synchronous Django in the run's
own thread. The loop hands the thread things to write and awaits their outcome; between writes the thread holds no
database connection.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from django.db import connection

T = TypeVar("T")


class Scribe:
    """Carries out writes for one run, in the thread that called `serve`, in the order they were asked for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._asked: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()

    async def write(self, job: Callable[[], T]) -> T:
        """Have `job` carried out in the run's thread. Once asked for it is done, even if the caller is cancelled."""
        outcome: asyncio.Future[T] = self._loop.create_future()
        self._asked.put((job, outcome))
        return await outcome

    def serve(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the loop, and carry out in this thread what it writes, until it is done."""
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        done.add_done_callback(lambda _: self._asked.put(None))
        while (asked := self._asked.get()) is not None:
            self._carry_out(*asked)
        return done.result()

    def _carry_out(self, job: Callable[[], Any], outcome: "asyncio.Future[Any]") -> None:
        try:
            result = job()
        except Exception as error:
            self._tell(outcome.set_exception, outcome, error)
        else:
            self._tell(outcome.set_result, outcome, result)
        finally:
            if self._asked.empty():
                connection.close()  # back to the pool: a run that waits for a model holds none

    def _tell(self, say: Callable[[Any], None], outcome: "asyncio.Future[Any]", value: Any) -> None:
        self._loop.call_soon_threadsafe(lambda: None if outcome.done() else say(value))
