"""Browsers and viewers at real sockets, over real PostgreSQL and Redis; and a driver's typist who writes to them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, sync_playwright

from apps.runs.live import Typist, channel_layer
from apps.web.live.following import close_live_client, live_client
from studio.asgi import application
from studio.embedded.redis import Redis
from tests.functional.web.browsing import Server, serving
from tests.people import ada, bob, browser, other_browser, rung

__all__ = ["ada", "bob", "browser", "other_browser", "rung"]

ORIGIN = (b"origin", b"http://localhost")


def cookie_of(client: Client) -> tuple[bytes, bytes]:
    name = settings.SESSION_COOKIE_NAME
    return b"cookie", f"{name}={client.cookies[name].value}".encode()


class Socket:
    """One WebSocket, spoken to as a server speaks to the application. (channels' own would want daphne.)"""

    def __init__(self, path: str, headers: list[tuple[bytes, bytes]]) -> None:
        scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers, "subprotocols": []}
        communicator: Any = ApplicationCommunicator  # asgiref leaves it untyped
        self.app = communicator(application, scope)

    async def open(self) -> int | None:
        """None where it is accepted, else the code it is closed with."""
        await self.app.send_input({"type": "websocket.connect"})
        answer = await self.output(5)
        return answer.get("code", 1000) if answer["type"] == "websocket.close" else None

    async def send(self, **message: str | bytes) -> None:
        """Send `text=` or `bytes=`."""
        await self.app.send_input({"type": "websocket.receive", **message})

    async def output(self, timeout: float) -> dict[str, Any]:
        output: dict[str, Any] = await self.app.receive_output(timeout)
        return output

    async def silence(self, seconds: float) -> bool:
        return bool(await self.app.receive_nothing(seconds))

    async def end(self) -> None:
        await self.app.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.app.wait(5)


@dataclass
class Viewer:
    """A browser's side of one socket, and everything it was told."""

    socket: Socket
    told: list[dict[str, Any]] = field(default_factory=list)
    closed: int | None = None

    async def say(self, message: Any) -> None:
        await self.socket.send(text=message if isinstance(message, str) else json.dumps(message))

    async def hello(self, after: int = 0) -> None:
        await self.say({"t": "hello", "after": after})

    async def next(self, timeout: float = 3) -> dict[str, Any]:
        """The next frame; where the socket closes instead, `closed` holds the code."""
        output = await self.socket.output(timeout)
        if output["type"] == "websocket.close":
            self.closed = output["code"]
            return {"t": "the socket closed"}
        frame: dict[str, Any] = json.loads(output["text"])
        self.told.append(frame)
        return frame

    async def until(self, is_it: Callable[[dict[str, Any]], bool], timeout: float = 10) -> dict[str, Any]:
        """The first frame from now on that is the one."""
        async with asyncio.timeout(timeout):
            while not is_it(frame := await self.next(timeout)):
                assert self.closed is None, f"closed with {self.closed}"
            return frame

    async def silence(self, seconds: float = 0.3) -> bool:
        return await self.socket.silence(seconds)

    def events(self) -> list[dict[str, Any]]:
        return [event for frame in self.told if frame["t"] == "events" for event in frame["events"]]

    def text(self, stream: str) -> str:
        """What a page makes of the pieces of a stream: each where its offset says, what is known skipped."""
        text = ""
        for offset, piece in self._pieces(stream):
            assert offset <= len(text), f"a gap in {stream}: {len(text)} known, and the next piece is at {offset}"
            text += piece[len(text) - offset :]
        return text

    def _pieces(self, stream: str) -> list[tuple[int, str]]:
        pieces: list[tuple[int, str]] = []
        for frame in self.told:
            if frame["t"] == "text" and frame["stream"] == stream:
                pieces.append((frame["from"], frame["text"]))
            if frame["t"] == "deltas":
                pieces += [(offset, piece) for name, offset, piece in frame["deltas"] if name == stream]
        return pieces


Opening = Callable[..., Any]


@pytest.fixture(scope="session")
def web_server(django_db_setup: None, redis_server: Redis) -> Iterator[str]:
    """The studio's web server: one for all tests, as it is one for all people."""
    with serving() as url:
        yield url


@pytest.fixture
def server(web_server: str, browser: Client) -> Server:
    """The studio's web server, and Ada's cookie."""
    return Server.of(web_server, browser)


@pytest.fixture
def opened(chromium: str) -> Callable[[], Any]:
    @contextmanager
    def to_open() -> Iterator[Browser]:
        with sync_playwright() as playwright:
            launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            try:
                yield launched
            finally:
                launched.close()

    return to_open


@pytest.fixture
def database(committed_db: None) -> None:
    """One where commits are real."""


@pytest.fixture
async def view() -> AsyncIterator[Opening]:
    """Open a socket: `await view(browser, "/ws/runs/")`."""
    opened: list[Socket] = []

    async def to_open(client: Client | None, path: str, *, origin: tuple[bytes, bytes] = ORIGIN) -> Viewer:
        headers = [(b"host", b"localhost"), origin, *([cookie_of(client)] if client else [])]
        socket = Socket(path, headers)
        opened.append(socket)
        return Viewer(socket, closed=await socket.open())

    yield to_open
    for socket in opened:
        await socket.end()
    await close_live_client()


@pytest.fixture
async def typist(redis_url: str) -> AsyncIterator[Typist]:
    """What a driver types with, on this loop."""
    typist = Typist(client=live_client(), layer=channel_layer())
    work = asyncio.create_task(typist.run())
    yield typist
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
