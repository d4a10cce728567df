"""A server that says exactly the bytes it was told to, for what no well-behaved simulator would do."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{more}\r\n\r\n"
LAST_WORD = b"data: [DONE]\n\n"


def said(text: str | None = None, *, finish: str | None = None, **delta: Any) -> bytes:
    """One event of the protocol."""
    delta = delta if text is None else {"content": text, **delta}
    return event({"model": "any-2026", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def event(chunk: object) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()


class OddServer:
    """Answers every request with `pieces`, `pause_s` apart, and notes what it was asked and when it was left."""

    def __init__(self) -> None:
        self.head = HEAD.format(more="Connection: close")
        self.pieces: Sequence[bytes] = ()
        self.pause_s = 0.0
        self.lingers = False  # keeps the connection open when all is said
        self.keeps_alive = False  # serves one request after another on a connection
        self.connections = 0
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.asked = asyncio.Event()
        self.left = asyncio.Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"

    def answer(self, status: str, body: str, *headers: str) -> None:
        """Say `body` under `status`, instead of a stream of events."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body.encode())}", "Connection: close", *headers]
        self.head = "\r\n".join([*lines, "", ""])
        self.pieces = [body.encode()]

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.tasks: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        serving = asyncio.current_task()
        assert serving is not None
        self.tasks.add(serving)
        with suppress(asyncio.CancelledError):  # how a server that is closed ends: asyncio would log it as a fault
            await self._converse(reader, writer)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._request(reader):
                writer.write(self.head.encode())
                if self.keeps_alive:
                    await self._talk(writer)
                    continue
                talk, watch = asyncio.create_task(self._talk(writer)), asyncio.create_task(self._watch(reader))
                self.tasks |= {talk, watch}
                await asyncio.wait({talk, watch}, return_when=asyncio.FIRST_COMPLETED)
                talk.cancel()
                break
        finally:
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            await reader.read()
        self.left.set()

    async def _request(self, reader: asyncio.StreamReader) -> bool:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        length = int(next(line.split(":")[1] for line in head.lower().split("\r\n") if "content-length" in line))
        self.requests.append((head, json.loads(await reader.readexactly(length))))
        self.asked.set()
        return True

    async def _talk(self, writer: asyncio.StreamWriter) -> None:
        for piece in self.pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(self.pause_s)
        if self.lingers:
            await asyncio.sleep(60)
