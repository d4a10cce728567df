"""How a reply travels: whole or streamed, at its pace, and with the fault that was asked for."""

import asyncio
import json
from collections.abc import AsyncIterator
from time import time
from typing import Any

from aiohttp import web

from apps.simulator.calls import Call
from apps.simulator.log import Row
from apps.simulator.reply import Reply

SHORTEST_PAUSE_S = 0.01  # tokens that are due sooner travel in one write
DONE = b"data: [DONE]\n\n"


async def deliver(
    request: web.Request, *, call: Call, reply: Reply, row: Row, fault: str, id: str
) -> web.StreamResponse:
    """Send the reply and note in the row what was sent. `fault` is `cut`, `malformed`, `empty` or nothing."""
    if call.knobs.trace:
        row.pieces = []
    send = _stream if call.stream else _whole
    response = await send(request, call, reply, row, fault, id)
    row.outcome = fault or "done"
    return response


def hang_up(request: web.Request) -> None:
    """Close the connection after what was written so far: no further byte, and no end of the body."""
    if request.transport:
        request.transport.close()


async def _whole(request: web.Request, call: Call, reply: Reply, row: Row, fault: str, id: str) -> web.StreamResponse:
    rate = call.knobs.rate
    await pause(call.knobs.ttft_ms / 1000 + (len(reply.pieces) / rate if rate else 0))
    payload = _encoded(_completion(call, reply, row, id))
    if fault in ("cut", "malformed"):
        return await half_of(request, payload, cut=fault == "cut")
    _note(row, [reply.text], tokens=len(reply.pieces))
    return web.Response(body=payload, content_type="application/json")


async def half_of(request: web.Request, payload: bytes, *, cut: bool) -> web.StreamResponse:
    """Half of an answer: as if it were all, or with the connection cut before the rest."""
    half = payload[: len(payload) // 2]
    if not cut:
        return web.Response(body=half, content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(payload))})
    await response.prepare(request)
    await response.write(half)
    hang_up(request)
    return response


async def _stream(request: web.Request, call: Call, reply: Reply, row: Row, fault: str, id: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    await pause(call.knobs.ttft_ms / 1000)

    chunk = Chunks(id=id, model=call.model_string)
    opening = chunk.opening()
    async for batch, count in _in_time(_sendable(reply, fault), call.knobs.rate):
        # noted first: a write that meets a closed connection raises, and the bytes may have left all the same
        _note(row, batch, tokens=count)
        last = chunk.ending(reply, row, call) if row.completion_tokens == len(reply.pieces) else b""
        await response.write(opening + b"".join(map(chunk.delta, batch)) + last)
        if row.pieces is not None:
            _trace(row.pieces, batch)
        opening = b""
    if fault == "cut":
        row.outcome = fault  # closing cancels this very handler
        hang_up(request)
        return response
    if fault == "malformed":
        await response.write(chunk.broken() + DONE)
    elif opening:  # an empty reply
        await response.write(opening + chunk.ending(reply, row, call))
    await response.write_eof()
    return response


def _sendable(reply: Reply, fault: str) -> Reply:
    """Half of the reply where it is to break off, else all of it."""
    if fault not in ("cut", "malformed"):
        return reply
    return Reply("".join(reply.pieces[: max(1, len(reply.pieces) // 2)]))


async def _in_time(reply: Reply, rate: float) -> AsyncIterator[tuple[list[str], int]]:
    """Deltas in batches, each with its number of tokens, when they are due at `rate` tokens per second."""
    pieces = reply.pieces
    if rate == 0:
        if pieces:
            yield reply.bulk, len(pieces)
        return
    clock = asyncio.get_running_loop().time
    start, sent = clock(), 0
    while sent < len(pieces):
        due = min(len(pieces), int((clock() - start) * rate) + 1)
        if due > sent:
            yield pieces[sent:due], due - sent
            sent = due
        if sent < len(pieces):
            await asyncio.sleep(max(SHORTEST_PAUSE_S, start + sent / rate - clock()))


async def pause(seconds: float) -> None:
    """Wait, unless there is nothing to wait for."""
    if seconds > 0:
        await asyncio.sleep(seconds)


def _note(row: Row, texts: list[str], *, tokens: int) -> None:
    row.first_token = row.first_token or time()
    row.sent += texts
    row.completion_tokens += tokens


def _trace(pieces: list[tuple[int, float]], batch: list[str]) -> None:
    """Note when this many characters had left."""
    now = time()
    pieces.append(((pieces[-1][0] if pieces else 0) + sum(map(len, batch)), now))


def _completion(call: Call, reply: Reply, row: Row, id: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text}
    return {
        "id": id,
        "object": "chat.completion",
        "created": int(time()),
        "model": call.model_string,
        "system_fingerprint": "simulated",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish_reason}],
        "usage": _usage(row, reply),
    }


def _usage(row: Row, reply: Reply) -> dict[str, Any]:
    completion = len(reply.pieces)
    return {
        "prompt_tokens": row.prompt_tokens,
        "completion_tokens": completion,
        "total_tokens": row.prompt_tokens + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _encoded(value: Any) -> bytes:
    """JSON as UTF-8; half a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


class Chunks:
    """The events of one streamed reply. What never changes is encoded once."""

    def __init__(self, *, id: str, model: str) -> None:
        head = {"id": id, "object": "chat.completion.chunk", "created": int(time()), "model": model}
        self._head = b"data: " + _encoded({**head, "system_fingerprint": "simulated"})[:-1]
        self._before = self._head + b', "choices": [{"index": 0, "delta": {"content": '
        self._after = b'}, "finish_reason": null}]}\n\n'

    def opening(self) -> bytes:
        delta = b'{"role": "assistant", "content": ""}'
        return self._head + b', "choices": [{"index": 0, "delta": ' + delta + b', "finish_reason": null}]}\n\n'

    def delta(self, text: str) -> bytes:
        return self._before + _encoded(text) + self._after

    def broken(self) -> bytes:
        return self._before + b'"this string never ends\n\n'

    def ending(self, reply: Reply, row: Row, call: Call) -> bytes:
        reason = _encoded(reply.finish_reason)
        finish = self._head + b', "choices": [{"index": 0, "delta": {}, "finish_reason": ' + reason + b"}]}\n\n"
        usage = b""
        if call.with_usage:
            usage = self._head + b', "choices": [], "usage": ' + _encoded(_usage(row, reply)) + b"}\n\n"
        return finish + usage + DONE
