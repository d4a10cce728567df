"""Sockets: first the past, then the present. The table is the letter, a message of the channel layer only the doorbell.

A viewer joins the run's group before anything is read, so between the past and the present there is no gap; what is
told twice carries its place (a sequence number, an offset), by which the page tells.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib import auth
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest
from redis.exceptions import RedisError

from apps.accounts.models import Project, User
from apps.accounts.services import group_of_session
from apps.core.errors import NotFound
from apps.core.waiting import happens
from apps.runs.models import Run
from apps.runs.services import list_group
from apps.web.access import visible_run
from apps.web.live import following
from apps.web.live.following import Writing, read
from apps.web.live.hearing import Ear

logger = structlog.get_logger(__name__)

SIGNED_OUT = 4401
NOT_YOURS = 4404
COME_AGAIN = 4000  # the page connects anew
TRY_LATER = 1013
BROKEN = 1011

LOOK_EVERY_S = 5.0  # a lost bell costs seconds
ASK_WHO_EVERY_S = 30.0
MOST_HELD = 1_000  # frames kept back while the past is read; what is beyond shows as a gap, which the page has filled
MOST_SEQ = 2**53


class BadMessage(Exception):
    """The browser said something that means nothing here; the words are for whoever wrote that."""


class Viewer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels carries no types
    """What every socket does: know who is there, listen, and close when they have signed out."""

    channel_layer_alias = "none"  # it listens by itself: see hearing.py

    async def __call__(self, *given: Any) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self.is_over = False
        try:
            await super().__call__(*given)
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

    async def connect(self) -> None:
        await self.prepare()
        self.person: User | AnonymousUser = self.scope["user"]
        self.session_key: str | None = self.scope["session"].session_key
        if not self.person.is_authenticated or self.session_key is None:
            return await self.refuse(SIGNED_OUT, "signed-out")
        try:
            groups = await self.groups_to_join()
        except NotFound:
            return await self.refuse(NOT_YOURS, "not-found")
        except (DatabaseError, InterfaceError) as error:
            logger.warning("a viewer came while the database was away", error=str(error).strip())
            return await self.refuse(TRY_LATER, "unavailable")
        self.joined = frozenset(groups)
        self.ear = Ear([*groups, group_of_session(self.session_key)], hear=self.heard)
        self.start(self.ear.listen(late=self.late))
        await self.ear.tried()  # listen first,
        await self.accept()  # then read
        self.start(self.every(ASK_WHO_EVERY_S, self.ask_who))

    async def prepare(self) -> None:
        """Set up what the messages below need, before any can come."""

    async def groups_to_join(self) -> Sequence[str]:
        """The groups whose messages this viewer hears.

        :raises NotFound: what is asked for is not there, or not theirs.
        """
        raise NotImplementedError

    async def late(self) -> None:
        """Redis has come back, and what was said meanwhile was not heard."""

    async def refuse(self, code: int, reason: str) -> None:
        """Close with a reason; accepted first, because of one that was not browsers say only that it failed."""
        await self.accept()
        await self.over(code, reason)

    async def over(self, code: int, reason: str) -> None:
        await self.tell({"t": "closed", "reason": reason})
        await self.close(code=code)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        if not self.is_over:
            self.is_over = True
            await super().close(code, reason)

    # --- tasks -----------------------------------------------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(self.ended)
        self.tasks.append(task)

    def ended(self, task: "asyncio.Task[None]") -> None:
        """A task ends when its socket does; one that fails is our mistake, and the page must not think all is well."""
        if not task.cancelled() and task.exception() is not None:
            logger.error("a socket failed", exc_info=task.exception())
            self.tasks.append(asyncio.create_task(self.close(code=BROKEN)))

    async def every(self, seconds: float, then: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await then()
            except (DatabaseError, InterfaceError) as error:
                logger.warning("a viewer waits for the database", error=str(error).strip())

    async def ask_who(self) -> None:
        """Close when whoever opened this is signed in no more: by another window, by a new password, by an admin."""
        assert self.session_key is not None
        if not await read(partial(is_signed_in, self.session_key, self.person.pk)):
            await self.over(SIGNED_OUT, "signed-out")
            return
        try:
            groups = await self.groups_to_join()
        except NotFound:
            await self.over(NOT_YOURS, "not-found")
            return
        if frozenset(groups) != self.joined:  # they belong to another project by now, or to one less
            await self.over(COME_AGAIN, "groups-changed")

    # --- messages --------------------------------------------------------------------------------------------------

    async def tell(self, frame: dict[str, Any]) -> None:
        if self.is_over:
            return
        try:
            await self.send(text_data=json.dumps(frame, ensure_ascii=False, separators=(",", ":")))
        except OSError:
            self.is_over = True  # the browser has gone; that it has is the next thing we are told

    async def heard(self, message: dict[str, Any]) -> None:
        """A message of a group."""
        match message["type"]:
            case "session.ended":
                await self.over(SIGNED_OUT, "signed-out")
            case "session.renewed":
                await self.over(COME_AGAIN, "session-renewed")

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A message of the browser. Whatever it holds, it gets an answer and breaks nothing."""
        try:
            await self.asked(_understood(text_data))
        except BadMessage as mistake:
            await self.tell({"t": "error", "message": str(mistake)})
        except (DatabaseError, InterfaceError) as error:
            logger.warning("a viewer asks while the database is away", error=str(error).strip())
            await self.close(code=TRY_LATER)

    async def asked(self, message: dict[str, Any]) -> None:
        raise BadMessage(f"Nothing is known of {str(message.get('t'))[:40]!r} here.")


def _understood(text: str | None) -> dict[str, Any]:
    try:
        message = json.loads(text or "")
    except (ValueError, RecursionError):
        raise BadMessage("A message is a JSON object.") from None
    if not isinstance(message, dict):
        raise BadMessage("A message is a JSON object.")
    return message


def _number(message: dict[str, Any], name: str) -> int:
    value = message.get(name)
    if type(value) is not int or not 0 <= value <= MOST_SEQ:
        raise BadMessage(f"“{name}” is a whole number, 0 or more.")
    return value


def is_signed_in(session_key: str, user_pk: int | None) -> bool:
    """Whether the session still stands, and is still this person's."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    user = auth.get_user(request)
    return user.is_authenticated and user.pk == user_pk


class RunConsumer(Viewer):
    """One viewer of one run: its events in order, its texts as they are written."""

    async def prepare(self) -> None:
        self.cursor = 0
        self.greeted = False
        self.held: list[dict[str, Any]] | None = None  # what was heard while the past is being read
        self.rung = asyncio.Event()
        self.reading = asyncio.Lock()  # one reader at a time: events are told in order

    async def groups_to_join(self) -> Sequence[str]:
        self.run: Run = await read(partial(visible_run, self.person, self.scope["url_route"]["kwargs"]["code"]))
        structlog.contextvars.bind_contextvars(run=self.run.code)
        return [self.run.group]

    async def connect(self) -> None:
        await super().connect()
        if self.tasks:
            self.start(self.look_for_ever())

    # --- from the browser ------------------------------------------------------------------------------------------

    async def asked(self, message: dict[str, Any]) -> None:
        match message.get("t"):
            case "hello":
                await self.greet(_number(message, "after"))
            case "fill":
                await self.fill(message.get("stream"), _number(message, "from"))
            case _:
                await super().asked(message)

    async def greet(self, after: int) -> None:
        """Everything after the place the page has reached; then the texts being written, as far as they are."""
        self.held = []
        try:
            async with self.reading:
                self.cursor = after
                await self.tell_events(even_if_none=True)
                self.greeted = True
            await self.tell_texts()
        finally:
            while self.greeted and self.held:
                frames, self.held = self.held, []  # still held: what is heard now comes after these
                for frame in frames:
                    await self.tell(frame)
            self.held = None

    async def fill(self, stream: Any, start: int) -> None:
        writing = await read(partial(following.written, self.run, stream)) if isinstance(stream, str) else None
        if writing is None:
            raise BadMessage("“stream” names no text of this run.")
        try:
            await self.tell_text(writing, start)
        except (RedisError, OSError) as error:
            logger.warning("a text cannot be filled", stream=stream, error=str(error))
            raise BadMessage("The text cannot be read this moment. Ask again.") from None

    # --- from the driver -------------------------------------------------------------------------------------------

    async def heard(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "run.bell":
                self.rung.set()
            case "run.deltas":
                await self.pass_on({"t": "deltas", "deltas": message["deltas"]})
            case "run.draft":
                await self.pass_on({"t": "draft", "proposal": message["proposal"], "steps": message["steps"]})
            case _:
                await super().heard(message)

    async def pass_on(self, frame: dict[str, Any]) -> None:
        """Tell it now; or, while the past is being read, after that. Before a hello it is part of the past."""
        if self.held is not None:
            if len(self.held) < MOST_HELD:
                self.held.append(frame)
        elif self.greeted:
            await self.tell(frame)

    async def late(self) -> None:
        self.rung.set()
        if self.greeted:
            await self.tell_texts()

    # --- telling ---------------------------------------------------------------------------------------------------

    async def look_for_ever(self) -> None:
        """Look for new events when the bell rings, and from time to time anyway."""
        while True:
            await happens(self.rung, LOOK_EVERY_S)
            self.rung.clear()
            if not self.greeted:
                continue
            try:
                async with self.reading:
                    await self.tell_events()
            except (DatabaseError, InterfaceError) as error:
                logger.warning("a viewer waits for the database", error=str(error).strip())

    async def tell_events(self, *, even_if_none: bool = False) -> None:
        """The events after the cursor, which moves along."""
        while True:
            events = await read(partial(following.events_after, self.run.trail, self.cursor))
            if events:
                self.cursor = events[-1]["seq"]
            if events or even_if_none:
                await self.tell({"t": "events", "events": events, "head": self.cursor})
            if len(events) < following.EVENTS_AT_ONCE:
                return

    async def tell_texts(self) -> None:
        """Every text that is being written, as far as it is. Without Redis they come when it is back."""
        try:
            for writing in await read(partial(following.being_written, self.run)):
                await self.tell_text(writing, 0)
                if writing.proposal and (steps := await following.draft_of(writing.proposal)):
                    await self.tell({"t": "draft", "proposal": writing.proposal, "steps": steps})
        except (RedisError, OSError) as error:
            logger.warning("live texts cannot be read", error=str(error))

    async def tell_text(self, writing: Writing, start: int) -> None:
        text = await following.text_of(writing)
        for frame in following.text_frames(writing.stream, text, start):
            await self.tell(frame)


class RunsConsumer(Viewer):
    """One viewer of the list of runs: told that it changed, and not how. The list is fetched."""

    async def groups_to_join(self) -> Sequence[str]:
        return [list_group(project) for project in await read(partial(_projects, self.person))]

    async def late(self) -> None:
        await self.tell({"t": "runs"})

    async def heard(self, message: dict[str, Any]) -> None:
        if message["type"] == "runs.changed":
            await self.tell({"t": "runs"})
        else:
            await super().heard(message)


def _projects(user: User | AnonymousUser) -> list[int]:
    return list(Project.objects.visible_to(user).values_list("pk", flat=True))
