"""A run's writing, asked for on the loop and done in the run's thread: a database that is away is waited for.

Replies are noted without waiting for it, so that their readers start at once; nothing else is written before they are.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from django.db import InterfaceError, OperationalError

from apps.runs.desk import Page
from apps.runs.scribe import Scribe

logger = structlog.get_logger(__name__)

T = TypeVar("T")

# A database that restarts is back within seconds; a run waits that long for it before the driver gives the run up.
DATABASE_PATIENCE_S = 30


class Notes:
    """What one driver has written down for one run."""

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self.noting: set[asyncio.Task[None]] = set()  # replies being written down: never cut in the middle
        self.fault: Exception | None = None  # a reply could not be written down: nothing may follow

    async def write(self, job: Callable[[Page], T]) -> T:
        """Write in the run's thread, with whatever else happens now; a database that is away is waited for.

        :raises RunStopped: :raises RunTaken: the run is no longer to be written.
        """
        if self.fault is not None:
            raise self.fault
        return await self.patiently(lambda: self.scribe.write(job), after=self.settled)

    async def do(self, job: Callable[[], T]) -> T:
        """Read, or write alone, in the run's thread."""
        return await self.patiently(lambda: self.scribe.do(job))

    def keep(self, noting: Awaitable[None]) -> None:
        """Have a reply written down meanwhile."""
        note = asyncio.ensure_future(noting)
        self.noting.add(note)
        note.add_done_callback(self.noting.discard)

    async def settled(self) -> None:
        """Wait until the replies that came before are written down."""
        while self.noting:
            await asyncio.wait(set(self.noting))
        if self.fault is not None:
            raise self.fault

    async def patiently(
        self, ask: Callable[[], "asyncio.Future[T]"], *, after: Callable[[], Awaitable[None]] | None = None
    ) -> T:
        """Ask again while the database is away, each time after what must come before."""
        waiting_until = time.monotonic() + DATABASE_PATIENCE_S
        while True:
            try:
                return await ask()
            except (OperationalError, InterfaceError) as error:
                if time.monotonic() > waiting_until:
                    raise
                logger.warning("the run waits for the database", error=str(error).strip())
                await asyncio.sleep(0.3)
                if after is not None:
                    await after()
