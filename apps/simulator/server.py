"""The HTTP face: the part of OpenAI's API that the studio speaks, and the log that tests read."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count as numbers
from pathlib import Path
from time import time
from typing import Any

from aiohttp import web

from apps.simulator.knobs import BadKnob, Counted, Knobs, UnknownModel, read_model
from apps.simulator.log import RequestLog, Row
from apps.simulator.models import MODELS, Model
from apps.simulator.reply import Reply, count, cut_to, of_length
from apps.simulator.speak import misspeak, question_of, speak

LARGEST_BODY = 64 * 1024 * 1024
SHORTEST_PAUSE_S = 0.01  # tokens that are due sooner travel in one write
SHOWN_PARAMS = ("seed", "temperature", "top_p", "max_tokens", "max_completion_tokens", "response_format", "user")
REFUSALS = {
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided (simulated)."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist (simulated)."),
    429: ("rate_limit_error", "rate_limit_exceeded", "Rate limit reached (simulated)."),
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Refused(Exception):
    """A request that gets an error in OpenAI's shape."""

    def __init__(self, status: int, message: str, *, kind: str, code: str | None = None, retry_after: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.body = {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def response(self) -> web.Response:
        headers = {"Retry-After": self.retry_after} if self.retry_after else {}
        return web.json_response(self.body, status=self.status, headers=headers)


@dataclass(frozen=True)
class Call:
    """A request that was understood."""

    model: Model
    knobs: Knobs
    model_string: str
    messages: list[dict[str, Any]]
    stream: bool
    with_usage: bool
    seed: int | None
    limit: int | None
    response_format: Mapping[str, Any] | None
    digest: str


class Simulator:
    """What outlives a request: the log, the calls each fault has had, and whether the server is stopping."""

    def __init__(self, log: RequestLog) -> None:
        self.log = log
        self.stopping = False
        self.ids = numbers(1)
        self._calls: Counter[tuple[str, str, str]] = Counter()

    def is_due(self, counted: Counted | None, *, model: str, digest: str) -> bool:
        """Whether this call is among the first N for which the behaviour was asked."""
        if counted is None or counted.times is None:
            return counted is not None
        key = (counted.word, model, digest)
        self._calls[key] += 1
        return self._calls[key] <= counted.times

    def forget(self) -> None:
        self.log.clear()
        self._calls.clear()


SIMULATOR = web.AppKey("simulator", Simulator)


def make_app(*, log_path: Path | None = None) -> web.Application:
    app = web.Application(client_max_size=LARGEST_BODY, middlewares=[_in_openai_shape])
    app[SIMULATOR] = Simulator(RequestLog(log_path))
    app.router.add_get("/healthz", _health)
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/v1/models/{id}", _model)
    app.router.add_post("/v1/chat/completions", _chat)
    app.router.add_get("/log", _show_log)
    app.router.add_delete("/log", _clear_log)
    app.on_shutdown.append(_mark_stopping)
    app.on_cleanup.append(_shut_log)
    return app


@web.middleware
async def _in_openai_shape(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        kind = "invalid_request_error" if error.status < 500 else "server_error"
        body = {"error": {"message": error.reason, "type": kind, "param": None, "code": None}}
        return web.json_response(body, status=error.status)


async def _mark_stopping(app: web.Application) -> None:
    app[SIMULATOR].stopping = True


async def _shut_log(app: web.Application) -> None:
    app[SIMULATOR].log.shut()


async def _health(request: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


async def _models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [model.card() for model in MODELS.values()]})


async def _model(request: web.Request) -> web.Response:
    try:
        return web.json_response(read_model(request.match_info["id"])[0].card())
    except (UnknownModel, BadKnob) as error:
        return Refused(404, str(error), kind="invalid_request_error", code="model_not_found").response()


async def _show_log(request: web.Request) -> web.Response:
    log = request.app[SIMULATOR].log
    if request.query.get("running"):
        return web.json_response(log.running())
    after = request.query.get("after", "0")
    return web.json_response(log.after(int(after) if after.isdecimal() else 0))


async def _clear_log(request: web.Request) -> web.Response:
    request.app[SIMULATOR].forget()
    return web.Response(status=204)


async def _chat(request: web.Request) -> web.StreamResponse:
    simulator = request.app[SIMULATOR]
    row = simulator.log.open()
    try:
        return await _answer(request, simulator, row)
    except Refused as refusal:
        row.outcome = str(refusal.status)
        return refusal.response()
    except (asyncio.CancelledError, ConnectionError):
        if row.outcome == "running":
            row.outcome = "stopped" if simulator.stopping else "cut by client"
        raise
    finally:
        simulator.log.close(row)


async def _answer(request: web.Request, simulator: Simulator, row: Row) -> web.StreamResponse:
    call = _read_call(await request.read(), row)
    simulator.log.name(row, base=call.model.id)
    knobs = call.knobs
    fault = ""
    if knobs.fail and simulator.is_due(knobs.fail, model=call.model_string, digest=call.digest):
        fault = knobs.fail.word
    if fault.isdigit():
        raise _failure(int(fault), knobs)
    if fault == "hang":
        await asyncio.Event().wait()
    if fault == "refused":
        return _closed(request, row, fault)

    reply = Reply("") if fault == "empty" else _reply(call, simulator)
    deliver = _stream if call.stream else _whole
    return await deliver(request, call, reply, row, fault, f"chatcmpl-sim-{next(simulator.ids)}")


def _read_call(body: bytes, row: Row) -> Call:
    """The request as a value, noting in the row what could be read of it.

    :raises Refused: it is not JSON, lacks something, or names no model of ours.
    """
    try:
        asked = json.loads(body)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Refused(400, f"We could not parse the JSON body of your request: {error}", kind=_INVALID) from error
    if not isinstance(asked, dict):
        raise Refused(400, "The body must be a JSON object.", kind=_INVALID)

    model_string = asked.get("model")
    messages: Any = asked.get("messages")
    row.messages = messages
    row.stream = asked.get("stream") is True
    row.params = {name: asked[name] for name in SHOWN_PARAMS if name in asked}
    if not isinstance(model_string, str):
        raise Refused(400, "You must provide a model parameter.", kind=_INVALID)
    row.model = model_string
    try:
        model, knobs = read_model(model_string)
    except UnknownModel as error:
        raise Refused(404, str(error), kind=_INVALID, code="model_not_found") from error
    except BadKnob as error:
        raise Refused(400, str(error), kind=_INVALID, code="bad_knob") from error
    if not _are_messages(messages):
        raise Refused(400, "`messages` must be a non-empty list of objects with role and content.", kind=_INVALID)

    row.prompt_tokens = sum(count(text_of(message)) for message in messages)
    options = asked.get("stream_options")
    response_format = asked.get("response_format")
    return Call(
        model=model,
        knobs=knobs,
        model_string=model_string,
        messages=messages,
        stream=row.stream,
        with_usage=isinstance(options, dict) and options.get("include_usage") is True,
        seed=_integer(asked.get("seed")),
        limit=_integer(asked.get("max_completion_tokens")) or _integer(asked.get("max_tokens")),
        response_format=response_format if isinstance(response_format, dict) else None,
        digest=blake2b(json.dumps(messages).encode(), digest_size=16).hexdigest(),
    )


_INVALID = "invalid_request_error"


def _are_messages(messages: Any) -> bool:
    if not isinstance(messages, list) or not messages:
        return False
    return all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _failure(status: int, knobs: Knobs) -> Refused:
    kind, code, message = REFUSALS.get(status, (_INVALID, "bad_request", f"Refused with {status} (simulated)."))
    if status >= 500:
        kind, code, message = "server_error", "server_error", "The server had an error (simulated)."
    retry_after = f"{knobs.retry_after_s:g}" if status in (429, 503) else ""
    return Refused(status, message, kind=kind, code=code, retry_after=retry_after)


def _closed(request: web.Request, row: Row, outcome: str) -> web.Response:
    """Hang up without another byte; the returned response never leaves."""
    row.outcome = outcome
    if request.transport:
        request.transport.close()
    return web.Response()


def _reply(call: Call, simulator: Simulator) -> Reply:
    texts = tuple((message["role"], text_of(message)) for message in call.messages)
    say = call.knobs.say
    # a planner that asks again words its question differently, so a saying is counted by the question itself
    if say and simulator.is_due(say, model=call.model_string, digest=question_of(texts)):
        reply = misspeak(say.word, texts)
    else:
        wants = json.dumps(call.response_format, sort_keys=True) if call.response_format else ""
        reply = speak(call.model.id, texts, seed=call.seed, knob_seed=call.knobs.seed, response_format=wants)
    return cut_to(of_length(reply, call.knobs.tokens), call.limit)


async def _whole(request: web.Request, call: Call, reply: Reply, row: Row, fault: str, id: str) -> web.StreamResponse:
    rate = call.knobs.rate
    await _pause(call.knobs.ttft_ms / 1000 + (len(reply.pieces) / rate if rate else 0))
    body = {
        "id": id,
        "object": "chat.completion",
        "created": int(time()),
        "model": call.model_string,
        "system_fingerprint": "simulated",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text},
                "logprobs": None,
                "finish_reason": reply.finish_reason,
            }
        ],
        "usage": _usage(row, reply),
    }
    payload = _encoded(body)
    if fault in ("cut", "malformed"):
        return await _spoilt(request, payload, row, fault)
    _note(row, [reply.text], tokens=len(reply.pieces))
    row.outcome = fault or "done"
    return web.Response(body=payload, content_type="application/json")


async def _spoilt(request: web.Request, payload: bytes, row: Row, fault: str) -> web.StreamResponse:
    row.outcome = fault
    half = payload[: len(payload) // 2]
    if fault == "malformed":
        return web.Response(body=half, content_type="application/json")
    headers = {"Content-Type": "application/json", "Content-Length": str(len(payload))}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    await response.write(half)
    return _hung_up(request, response)


def _hung_up(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport:
        request.transport.close()
    return response


async def _stream(request: web.Request, call: Call, reply: Reply, row: Row, fault: str, id: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    chunk = Chunks(id=id, model=call.model_string)
    if call.knobs.ttft_ms:
        await response.prepare(request)
        await _pause(call.knobs.ttft_ms / 1000)
    else:
        await response.prepare(request)

    ending = chunk.finish(reply.finish_reason)
    if call.with_usage:
        ending += chunk.usage(_usage(row, reply))
    ending += b"data: [DONE]\n\n"

    if fault in ("cut", "malformed"):
        return await _spoilt_stream(request, response, call, reply, row, fault, chunk, ending)
    if call.knobs.rate == 0:
        _note(row, reply.bulk, tokens=len(reply.pieces))
        await response.write(chunk.opening() + b"".join(map(chunk.delta, reply.bulk)) + ending)
    else:
        opening = chunk.opening()
        async for batch in _in_time(reply.pieces, call.knobs.rate):
            await response.write(opening + b"".join(map(chunk.delta, batch)))
            _note(row, batch, tokens=len(batch))
            opening = b""
        await response.write(opening + ending)
    await response.write_eof()
    row.outcome = fault or "done"
    return response


async def _spoilt_stream(
    request: web.Request,
    response: web.StreamResponse,
    call: Call,
    reply: Reply,
    row: Row,
    fault: str,
    chunk: "Chunks",
    ending: bytes,
) -> web.StreamResponse:
    """Half of the reply in good order, and then the fault."""
    half = reply.pieces[: max(1, len(reply.pieces) // 2)]
    opening = chunk.opening()
    async for batch in _in_time(half, call.knobs.rate):
        await response.write(opening + b"".join(map(chunk.delta, batch)))
        _note(row, batch, tokens=len(batch))
        opening = b""
    row.outcome = fault
    if fault == "cut":
        return _hung_up(request, response)
    await response.write(
        b'data: {"id": "' + id_bytes(chunk) + b'", "choices": [{"delta": {"content": "broken\n\n' + ending
    )
    await response.write_eof()
    return response


def id_bytes(chunk: "Chunks") -> bytes:
    return chunk.id.encode()


async def _in_time(pieces: list[str], rate: float) -> AsyncIterator[list[str]]:
    """The pieces in batches, each when its tokens are due at `rate` tokens per second."""
    if rate == 0:
        yield pieces
        return
    clock = asyncio.get_running_loop().time
    start, sent = clock(), 0
    while sent < len(pieces):
        due = min(len(pieces), int((clock() - start) * rate) + 1)
        if due > sent:
            yield pieces[sent:due]
            sent = due
        if sent < len(pieces):
            await asyncio.sleep(max(SHORTEST_PAUSE_S, start + sent / rate - clock()))


async def _pause(seconds: float) -> None:
    if seconds > 0:
        await asyncio.sleep(seconds)


def _note(row: Row, texts: list[str], *, tokens: int) -> None:
    row.first_token = row.first_token or time()
    row.sent += texts
    row.completion_tokens += tokens


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
        self.id = id
        head = {"id": id, "object": "chat.completion.chunk", "created": int(time()), "model": model}
        head["system_fingerprint"] = "simulated"
        self._head = b"data: " + _encoded(head)[:-1]
        self._before = self._head + b', "choices": [{"index": 0, "delta": {"content": '
        self._after = b'}, "finish_reason": null}]}\n\n'

    def opening(self) -> bytes:
        delta = b'{"role": "assistant", "content": ""}'
        return self._head + b', "choices": [{"index": 0, "delta": ' + delta + b', "finish_reason": null}]}\n\n'

    def delta(self, text: str) -> bytes:
        return self._before + _encoded(text) + self._after

    def finish(self, reason: str) -> bytes:
        return self._head + b', "choices": [{"index": 0, "delta": {}, "finish_reason": ' + _encoded(reason) + b"}]}\n\n"

    def usage(self, usage: dict[str, Any]) -> bytes:
        return self._head + b', "choices": [], "usage": ' + _encoded(usage) + b"}\n\n"
