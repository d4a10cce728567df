"""The HTTP face: the part of OpenAI's API that the studio speaks, and the log that tests read."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

from aiohttp import web

from apps.simulator.briefs import read_brief
from apps.simulator.calls import INVALID, Call, Refused, failure, read_call
from apps.simulator.deliver import deliver, hang_up
from apps.simulator.embed import Inputs, give_vectors, read_inputs
from apps.simulator.knobs import BadKnob, Counted, UnknownModel, read_model
from apps.simulator.log import RequestLog, Row
from apps.simulator.misspeak import misspeak
from apps.simulator.models import MODELS
from apps.simulator.reply import Reply, cut_to, of_length
from apps.simulator.speak import speak

LARGEST_BODY = 64 * 1024 * 1024
REMEMBERED = 2048  # replies; the same prompt is not thought about twice

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answer = Callable[[web.Request, "Simulator", Row], Awaitable[web.StreamResponse]]


class Simulator:
    """What outlives a request: the log, the replies, the calls each fault has had, and whether the server stops."""

    def __init__(self, log: RequestLog) -> None:
        self.log = log
        self.stopping = False
        self.ids = count(1)
        self._replies: dict[tuple[object, ...], Reply] = {}
        self._calls: Counter[tuple[str, str, str]] = Counter()

    def is_due(self, counted: Counted | None, *, model: str, about: str) -> bool:
        """Whether this call is among the first N for which the behaviour was asked."""
        if counted is None or counted.times is None:
            return counted is not None
        key = (counted.word, model, about)
        self._calls[key] += 1
        return self._calls[key] <= counted.times

    async def reply(self, call: Call) -> Reply:
        """What the model says. It thinks in a thread, since a puzzle may take long; the same prompt again is free."""
        say = call.knobs.say
        # a planner that asks again words its prompt differently, so a saying is counted by the question itself
        if say and self.is_due(say, model=call.model_string, about=read_brief(call.texts).question):
            return _fitted(misspeak(say.word, call.texts), call)
        key = (call.model_string, call.seed, call.limit, call.response_format, call.digest)
        if key not in self._replies:
            reply = await asyncio.to_thread(_think, call)
            if len(self._replies) >= REMEMBERED:
                del self._replies[next(iter(self._replies))]
            self._replies[key] = reply
        return self._replies[key]

    def forget(self) -> None:
        self.log.clear()
        self._calls.clear()


def _think(call: Call) -> Reply:
    seed = (call.seed or 0) + call.knobs.seed
    return _fitted(speak(call.model, call.texts, seed=seed, response_format=call.response_format), call)


def _fitted(reply: Reply, call: Call) -> Reply:
    return cut_to(of_length(reply, call.knobs.tokens), call.limit)


SIMULATOR = web.AppKey("simulator", Simulator)


def make_app(*, log_path: Path | None = None) -> web.Application:
    app = web.Application(client_max_size=LARGEST_BODY, middlewares=[_in_openai_shape])
    app[SIMULATOR] = Simulator(RequestLog(log_path))
    app.router.add_get("/healthz", _health)
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/v1/models/{id}", _model)
    app.router.add_post("/v1/chat/completions", _chat)
    app.router.add_post("/v1/embeddings", _embeddings)
    app.router.add_get("/log", _show_log)
    app.router.add_delete("/log", _clear_log)
    app.on_cleanup.append(_shut_log)
    return app


@web.middleware
async def _in_openai_shape(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        kind = INVALID if error.status < 500 else "server_error"
        return Refused(error.status, error.reason, kind=kind).response()


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
        return Refused(404, str(error), code="model_not_found").response()


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
    return await _logged(request, _answered)


async def _embeddings(request: web.Request) -> web.StreamResponse:
    return await _logged(request, _embedded)


async def _logged(request: web.Request, answered: Answer) -> web.StreamResponse:
    """Answer a call of a model, and note in the log how that ended."""
    simulator = request.app[SIMULATOR]
    row = simulator.log.open()
    try:
        return await answered(request, simulator, row)
    except Refused as refusal:
        row.outcome = str(refusal.status)
        return refusal.response()
    except (asyncio.CancelledError, ConnectionError):
        if row.outcome == "running":
            row.outcome = "stopped" if simulator.stopping else "cut by client"
        raise
    except Exception:
        row.outcome = "500"
        logging.getLogger(__name__).exception("a request could not be answered")
        return Refused(500, "The simulator failed; this is its own fault.", kind="server_error").response()
    finally:
        simulator.log.close(row)


async def _answered(request: web.Request, simulator: Simulator, row: Row) -> web.StreamResponse:
    call = read_call(await request.read(), row)
    fault = await _begun(request, simulator, row, call)
    if fault == "refused":
        return web.Response()  # never leaves: the connection is closed
    reply = Reply("") if fault == "empty" else await simulator.reply(call)
    id = f"chatcmpl-sim-{next(simulator.ids)}"
    return await deliver(request, call=call, reply=reply, row=row, fault=fault, id=id)


async def _embedded(request: web.Request, simulator: Simulator, row: Row) -> web.StreamResponse:
    asked = read_inputs(await request.read(), row)
    fault = await _begun(request, simulator, row, asked)
    if fault == "refused":
        return web.Response()  # as above
    return await give_vectors(request, asked=asked, row=row, fault=fault)


async def _begun(request: web.Request, simulator: Simulator, row: Row, call: Call | Inputs) -> str:
    """The fault that was asked for and is due, where it is one of the answer's; others happen here."""
    simulator.log.name(row, base=call.model.id)
    fault = ""
    if call.knobs.fail and simulator.is_due(call.knobs.fail, model=call.model_string, about=call.digest):
        fault = call.knobs.fail.word
    if fault.isdigit():
        raise failure(int(fault), call.knobs)
    if fault == "hang":
        await asyncio.Event().wait()
    if fault == "refused":
        row.outcome = fault
        hang_up(request)
    return fault
