"""A request as a value, and the refusals of those that are none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from aiohttp import web

from apps.simulator.knobs import BadKnob, Knobs, UnknownModel, read_model
from apps.simulator.log import Row
from apps.simulator.models import Model
from apps.simulator.reading import Texts
from apps.simulator.reply import count

INVALID = "invalid_request_error"
NOTED_PARAMS = (
    "seed",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "response_format",
    "user",
    "dimensions",
)
WORDED = {
    401: (INVALID, "invalid_api_key", "Incorrect API key provided (simulated)."),
    404: (INVALID, "model_not_found", "The model does not exist (simulated)."),
    429: ("rate_limit_error", "rate_limit_exceeded", "Rate limit reached (simulated)."),
}


class Refused(Exception):
    """A request that gets an error in OpenAI's shape."""

    def __init__(
        self, status: int, message: str, *, kind: str = INVALID, code: str | None = None, retry_after: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.body = {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def response(self) -> web.Response:
        headers = {"Retry-After": self.retry_after} if self.retry_after else {}
        return web.json_response(self.body, status=self.status, headers=headers)


def failure(status: int, knobs: Knobs) -> Refused:
    """The refusal that `fail=<status>` asks for."""
    kind, code, message = WORDED.get(status, (INVALID, "bad_request", f"Refused with {status} (simulated)."))
    if status >= 500:
        kind, code, message = "server_error", "server_error", "The server had an error (simulated)."
    retry_after = f"{knobs.retry_after_s:g}" if status in (429, 503) else ""
    return Refused(status, message, kind=kind, code=code, retry_after=retry_after)


@dataclass(frozen=True)
class Call:
    """A request that was understood. `digest` stands for its messages."""

    model: Model
    knobs: Knobs
    model_string: str
    messages: list[dict[str, Any]]
    stream: bool
    with_usage: bool
    seed: int | None
    limit: int | None
    response_format: str  # as JSON; empty where the request has none
    digest: str

    @property
    def texts(self) -> Texts:
        return tuple((message["role"], text_of(message)) for message in self.messages)


def read_call(body: bytes, row: Row) -> Call:
    """The request as a value, noting in the row what could be read of it.

    :raises Refused: it is not JSON, lacks something, or names no model of ours.
    """
    asked = parsed(body)
    messages: Any = asked.get("messages")
    row.messages = messages
    row.stream = asked.get("stream") is True
    model_string = noted(asked, row)
    model, knobs = named(model_string)
    if model.embeds:
        raise Refused(400, f"`{model.id}` writes nothing; ask it for vectors at /v1/embeddings.")
    if not _are_messages(messages):
        raise Refused(400, "`messages` must be a non-empty list of objects with a role and a content.")

    row.prompt_tokens = sum(count(text_of(message)) for message in messages)
    options, form = asked.get("stream_options"), asked.get("response_format")
    return Call(
        model=model,
        knobs=knobs,
        model_string=model_string,
        messages=messages,
        stream=row.stream,
        with_usage=isinstance(options, dict) and options.get("include_usage") is True,
        seed=_integer(asked.get("seed")),
        limit=_integer(asked.get("max_completion_tokens")) or _integer(asked.get("max_tokens")),
        response_format=json.dumps(form) if isinstance(form, dict) else "",
        digest=blake2b(json.dumps(messages).encode(), digest_size=16).hexdigest(),
    )


def parsed(body: bytes) -> dict[str, Any]:
    """:raises Refused: it is no JSON object."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:  # not UTF-8 is a ValueError too
        raise Refused(400, f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(asked, dict):
        raise Refused(400, "The body of a request must be a JSON object.")
    return asked


def noted(asked: Mapping[str, Any], row: Row) -> str:
    """The model's name, which the row notes with the parameters. :raises Refused: there is none."""
    row.params = {name: asked[name] for name in NOTED_PARAMS if name in asked}
    model_string = asked.get("model")
    if not isinstance(model_string, str):
        raise Refused(400, "You must provide a model parameter.")
    row.model = model_string
    return model_string


def named(model_string: str) -> tuple[Model, Knobs]:
    """:raises Refused: there is no such model, or a knob it does not have."""
    try:
        return read_model(model_string)
    except UnknownModel as error:
        raise Refused(404, str(error), code="model_not_found") from error
    except BadKnob as error:
        raise Refused(400, str(error), code="bad_knob") from error


def _are_messages(messages: Any) -> bool:
    if not isinstance(messages, list) or not messages:
        return False
    return all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in parts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
