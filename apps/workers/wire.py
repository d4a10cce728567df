"""Streams a reply from any endpoint that speaks the OpenAI protocol, at the least cost for each token.

Every driver carries hundreds of streams on one core, so what happens once a token is json.loads and a few look-ups.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from apps.workers import addresses
from apps.workers.calls import CallFailed, Endpoint, Reply, clean, refusal, tidy

# uvicorn, and with it vLLM, hangs up on an idle connection after five seconds: never write into one about to close.
KEEP_ALIVE_S = 4
# What is left after the last event is the end of the HTTP body: having read it, the connection can serve another call.
FAREWELL_S = 0.05
LONGEST_EVENT_BYTES = 16_000_000
LINE_OVERHEAD_BYTES = 50  # what a line costs beside its length, so that a flood of short ones is bounded too
LONGEST_ERROR_BYTES = 64_000
LONGEST_MODELS_BYTES = 2_000_000
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def open_session() -> aiohttp.ClientSession:
    """The session that all calls of a gateway share, on the running loop. Cookies of one endpoint reach no other."""
    connector = addresses.open_connector(limit=0, keepalive_timeout=KEEP_ALIVE_S)
    cookies = aiohttp.DummyCookieJar()
    return aiohttp.ClientSession(connector=connector, cookie_jar=cookies, trace_configs=addresses.proxied_requests())


async def stream(session: aiohttp.ClientSession, reply: Reply, params: Mapping[str, Any]) -> None:
    """Ask the endpoint of `reply` for it, and pour in what comes.

    A parameter of None is left out of the request, be it one of ours: `stream_options` for servers that refuse it.

    :raises CallFailed: for whatever the endpoint or the network did wrong.
    """
    endpoint = reply.endpoint
    key = key_of(endpoint)
    url = address_of(endpoint)
    try:
        async with session.post(
            url,
            data=encode(endpoint.model, reply.messages, params),
            headers=headers(key),
            proxy=proxy_of(url),
            timeout=aiohttp.ClientTimeout(total=None, connect=endpoint.timeouts.connect_s),
            allow_redirects=False,
        ) as response:
            try:
                await receive(response, reply)
            except BaseException:
                response.close()  # at once, and not when whoever cancelled has gone: an unread reply is still billed
                raise
    except aiohttp.ClientError as error:
        if reply.finish_reason is None:  # else the reply is whole, and only the connection's end was lost
            raise failure_of(error, reply) from None


async def models_of(session: aiohttp.ClientSession, endpoint: Endpoint, *, within_s: float) -> list[str]:
    """The models an endpoint says it serves: costs nothing and calls none.

    :raises CallFailed: it did not say, or not within `within_s`.
    """
    url = address_of(endpoint, "/models")
    sent = headers(endpoint.api_key.strip()) | {"Accept": "application/json"}
    timeout = aiohttp.ClientTimeout(total=within_s)
    try:
        async with session.get(
            url, headers=sent, proxy=proxy_of(url), timeout=timeout, allow_redirects=False
        ) as answer:
            said = await read(answer, LONGEST_MODELS_BYTES)
            if answer.status != 200:
                message = tidy(f"HTTP {answer.status}: {said[:300].decode(errors='replace')}", endpoint.api_key)
                raise CallFailed("server", message, retryable=True, status=answer.status)
        return [str(model["id"]) for model in json.loads(said)["data"]]
    except TimeoutError:
        raise CallFailed("timeout", f"no answer within {within_s:g} s", retryable=True) from None
    except aiohttp.ClientError as error:
        if why := addresses.refusal_in(error):
            raise CallFailed("bad_request", why, retryable=False) from None
        raise CallFailed("refused", tidy(f"cannot connect: {error}", endpoint.api_key), retryable=True) from None
    except (ValueError, KeyError, TypeError):
        raise CallFailed(
            "malformed", "it does not list its models as the OpenAI protocol does", retryable=True
        ) from None


def key_of(endpoint: Endpoint) -> str:
    """The key as it is sent. :raises CallFailed: no header can carry it."""
    key = endpoint.api_key.strip()
    if not key.isprintable():
        raise CallFailed("auth", "the key holds characters that no HTTP header can carry", retryable=False)
    return key


def address_of(endpoint: Endpoint, path: str = "/chat/completions") -> URL:
    """Where completions (or what else stands under `path`) are asked for.

    :raises CallFailed: when the address is none that HTTP could reach.
    """
    try:
        url = URL(endpoint.base_url.rstrip("/") + path)
        if url.scheme in ("http", "https") and url.host:
            return url
        reason = "it begins with http:// or https:// and names a host"
    except ValueError as error:
        reason = str(error)
    message = tidy(f"the address of the endpoint is not valid: {reason}", endpoint.api_key)
    raise CallFailed("bad_request", message, retryable=False)


def encode(model: str, messages: Sequence[Mapping[str, str]], params: Mapping[str, Any]) -> bytes:
    body = {"stream_options": {"include_usage": True}, **params, "model": model, "messages": messages, "stream": True}
    return json.dumps({name: value for name, value in body.items() if value is not None}).encode()


def headers(key: str) -> dict[str, str]:
    # Compression would hold tokens back until a block is full.
    sent = {"Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": "identity"}
    return {**sent, "Authorization": f"Bearer {key}"} if key else sent


def proxy_of(url: URL) -> str | None:
    """The proxy that the environment names for `url`. aiohttp's own reading of it would send passwords from .netrc."""
    proxies = getproxies()
    if not proxies or url.host is None or url.host in LOOPBACK or proxy_bypass(url.host):
        return None
    return proxies.get(url.scheme)


async def receive(response: aiohttp.ClientResponse, reply: Reply) -> None:
    await check(response, reply.endpoint)
    reply.answered = True
    if response.content_type == "text/html" or response.content_type.endswith("json"):
        await receive_whole(response, reply)
    else:
        await receive_events(response.content, reply)


async def check(response: aiohttp.ClientResponse, endpoint: Endpoint) -> None:
    """:raises CallFailed: what comes is no reply but a redirect or an error."""
    if 300 <= response.status < 400:
        message = f"the endpoint answered with a redirect ({response.status}), and redirects are not followed"
        raise CallFailed("bad_request", message, retryable=False, status=response.status)
    if response.status >= 400:
        body = await read(response, LONGEST_ERROR_BYTES)
        asked = response.headers.get("Retry-After")
        text = body.decode("utf-8", "replace") or response.reason or ""
        raise refusal(response.status, text, retry_after=asked, secret=endpoint.api_key)


async def receive_whole(response: aiohttp.ClientResponse, reply: Reply) -> None:
    """The reply of a server that does not stream, as one delta."""
    body = await read(response, LONGEST_EVENT_BYTES + 1)
    if len(body) > LONGEST_EVENT_BYTES:
        raise too_long()
    take(body, reply)
    reply.ended = True


async def receive_events(content: aiohttp.StreamReader, reply: Reply) -> None:
    events = Events()
    async for piece in content.iter_any():
        for data in events.feed(piece):
            if data == b"[DONE]":
                reply.ended = True
                return await see_off(content)
            take(data, reply)
    if events.rest() == b"[DONE]":
        reply.ended = True


async def see_off(content: aiohttp.StreamReader) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL_S):
            while not content.at_eof():
                await content.readany()


async def read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, up to `most` bytes of it. What is over stays unread, and closes the connection."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) >= most:
            break
    return bytes(body[:most])


class Events:
    """Cuts a stream of server-sent events into their data, wherever the network happened to split it.

    Lines may end in LF or CRLF; fields other than `data` and comments are passed over.
    https://html.spec.whatwg.org/multipage/server-sent-events.html
    """

    def __init__(self) -> None:
        self._line = bytearray()  # the beginning of a line whose end has not come
        self._data: list[bytes] = []
        self._held = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of each event that `piece` completes.

        :raises CallFailed: when an event outgrows all reason.
        """
        if len(self._line) + len(piece) + self._held > LONGEST_EVENT_BYTES:
            raise too_long()
        end = piece.rfind(b"\n")
        if end < 0:
            self._line += piece
            return []
        lines = (bytes(self._line) + piece[:end]).split(b"\n")
        self._line = bytearray(piece[end + 1 :])
        complete = []
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
                self._held += len(line) + LINE_OVERHEAD_BYTES
            elif not line and self._data:
                complete.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data.clear()
                self._held = 0
        return complete

    def rest(self) -> bytes:
        """The data of an event that was never closed by an empty line, as the last one of a careless server."""
        for data in self.feed(b"\n\n"):
            return data
        return b""


def take(data: bytes, reply: Reply) -> None:
    """Pour one chunk of the protocol into `reply`.

    :raises CallFailed: when it cannot be read, or when it is an error that came in the place of a token.
    """
    thought: Any = None
    text: Any = None
    finish: Any = None
    try:
        chunk = json.loads(str(data, "utf-8", "replace"))
        error = chunk.get("error")
        if choices := chunk.get("choices"):
            choice = choices[0]
            delta = choice.get("delta") or choice.get("message") or {}
            finish = choice.get("finish_reason")
            text = delta.get("content") or delta.get("refusal")
            thought = delta.get("reasoning_content") or delta.get("reasoning")
            if text and not isinstance(text, str):  # a list of parts, some of them reasoning
                thought = thought or "".join(str(part) for part in text if part.get("type") != "text")
                text = "".join(part["text"] for part in text if part.get("type") == "text")
        if usage := chunk.get("usage"):
            reply.meter(usage)
        if model := chunk.get("model"):
            reply.model = clean(model)[:200]
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        shown = tidy(str(data[:200], "utf-8", "replace"), reply.endpoint.api_key)
        message = f"the endpoint sent something that is no chunk of a reply: {shown}"
        raise CallFailed("malformed", message, retryable=True) from None
    if error:
        raise error_amid(error, data, reply)
    if thought:
        reply.think(thought)
    if text:
        reply.hear(text)
    if finish:
        reply.finish(finish)


def error_amid(error: Any, data: bytes, reply: Reply) -> CallFailed:
    """An error that came in the place of a token, after the status 200 had long been sent."""
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return refusal(status, str(data, "utf-8", "replace"), secret=reply.endpoint.api_key)


def failure_of(error: aiohttp.ClientError, reply: Reply) -> CallFailed:
    """Sort what went wrong beneath HTTP."""
    message = tidy(str(error) or type(error).__name__, reply.endpoint.api_key)
    match error:
        case _ if why := addresses.refusal_in(error):
            return CallFailed("bad_request", why, retryable=False)
        case aiohttp.ConnectionTimeoutError():
            limit = reply.endpoint.timeouts.connect_s
            return CallFailed("timeout", f"no connection within {limit:g} s", retryable=True)
        case aiohttp.ClientConnectorCertificateError():
            return CallFailed("refused", message, retryable=False)  # a certificate does not mend itself
        case aiohttp.ClientConnectorError():
            reason = error.os_error.strerror or str(error.os_error)
            return CallFailed("refused", f"cannot connect to {error.host}:{error.port}: {reason}", retryable=True)
        case aiohttp.ClientResponseError():
            return CallFailed("malformed", f"the endpoint does not speak HTTP: {message}", retryable=True)
        case _ if reply.answered:
            return CallFailed("cut", f"the connection broke in the middle of the reply: {message}", retryable=True)
        case _:
            return CallFailed("refused", f"the endpoint hung up without an answer: {message}", retryable=True)


def too_long() -> CallFailed:
    return CallFailed("malformed", "the endpoint sends an event that has no end", retryable=False)
