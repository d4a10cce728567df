"""The socket of the audit page: a doorbell for the events of all trails that its viewer may read."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, InterfaceError

from apps.accounts.models import User
from apps.audit.finding import looked_at
from apps.core.errors import NotFound
from apps.core.waiting import happens
from apps.runs.services import list_group
from apps.web.audit.scope import NobodysAuditor, Scope, scope_of
from apps.web.live.following import read
from apps.web.live.sockets import LOOK_EVERY_S, Viewer

logger = structlog.get_logger(__name__)


class AuditConsumer(Viewer):
    """One viewer of the audit page: told that more has happened in their projects, and not what. That is fetched.

    Runs ring for themselves. Whatever else is written rings nowhere, so that writing stays cheap: it is looked for.
    """

    async def prepare(self) -> None:
        self.rung = asyncio.Event()

    async def groups_to_join(self) -> Sequence[str]:
        scope = await read(partial(_scope, self.person))
        self.slugs = scope.slugs
        return [list_group(project.pk) for project in scope.projects]

    async def connect(self) -> None:
        await super().connect()
        if self.tasks:
            self.start(self.look_for_ever())

    async def late(self) -> None:
        self.rung.set()

    async def heard(self, message: dict[str, Any]) -> None:
        if message["type"] == "runs.changed":
            self.rung.set()
        else:
            await super().heard(message)

    async def look_for_ever(self) -> None:
        """Look when a run rings, and from time to time anyway; without the database later."""
        seen: int | None = None
        while True:
            try:
                seen = await self.look(seen)
            except (DatabaseError, InterfaceError) as error:
                logger.warning("a viewer waits for the database", error=str(error).strip())
            await happens(self.rung, LOOK_EVERY_S)
            self.rung.clear()

    async def look(self, seen: int | None) -> int:
        """Say so where something was committed since `seen`; the first transaction that is still to be waited for."""
        frontier, is_new = await read(partial(looked_at, seen, projects=self.slugs))
        if is_new:
            await self.tell({"t": "audit"})
        return frontier


def _scope(user: User | AnonymousUser) -> Scope:
    try:
        assert isinstance(user, User), "connect lets nobody else through"
        return scope_of(user)
    except NobodysAuditor as refusal:
        raise NotFound(refusal.message) from refusal
