"""The words in which a call of a model is asked for and answered, whatever carries it.

Plain values and pure functions, with no network and no Django behind them, so that every other part can share them.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any, Literal

from apps.workers import tokens

# Long enough for any reply that a person or a next step could use, short enough that a mad endpoint cannot eat memory.
LONGEST_REPLY_CHARS = 2_000_000
LONGEST_MESSAGE_CHARS = 2_000
LONGEST_REASON_CHARS = 40
# No model reads or writes so many at once: whoever says so has miscounted, and sums of them must fit an integer.
MOST_TOKENS = 10_000_000
CHARS_PER_TOKEN = 4

# Worth another try although the endpoint blames the request: it was too slow, in conflict, or too early.
RETRYABLE_STATUSES = {408, 409, 425}
# What must never reach a log or a page, should a provider repeat it in an error: keys, tokens, passwords in addresses.
SECRETS = re.compile(r"(?i)\bbearer\s+[^\s\"',]+|\bsk-[\w*.\-]{8,}|(?<=://)[^\s/@:]*:[^\s/@]*(?=@)")

Transport = Literal["wire", "litellm"]
FailureKind = Literal[
    "refused",
    "timeout",
    "rate_limited",
    "server",
    "cut",
    "malformed",
    "empty",
    "auth",
    "bad_request",
    "not_found",
    "nested",
    "circuit",
    "unavailable",
]


@dataclass(frozen=True)
class Timeouts:
    """How long a call may wait, in seconds, for each of the things it waits for."""

    connect_s: float = 10
    first_token_s: float = 60
    between_tokens_s: float = 60
    whole_s: float = 600


@dataclass(frozen=True)
class Usage:
    """What a call consumed, in tokens. `estimated` where the provider did not say and it was taken from the length."""

    input_tokens: int
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens. None means unknown, which is never the same as nothing: that is `free`."""

    input_usd: Decimal | None = None
    cached_usd: Decimal | None = None
    output_usd: Decimal | None = None
    free: bool = False

    def cost_usd(self, usage: Usage) -> Decimal | None:
        """What `usage` costs, or None where a price that it needs is unknown.

        Cached tokens are part of the input tokens, and reasoning tokens part of the output tokens, as in the OpenAI
        protocol. Without a price of their own cached tokens are counted as any other: rather too dear than too cheap.
        """
        if self.free:
            return Decimal(0)
        cached = min(usage.cached_tokens, usage.input_tokens)
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        parts = (
            (usage.input_tokens - cached, self.input_usd),
            (cached, cached_usd),
            (usage.output_tokens, self.output_usd),
        )
        total = Decimal(0)
        for number, price in parts:
            if not number:
                continue
            if price is None:
                return None
            total += price * number
        return total / 1_000_000


@dataclass(frozen=True)
class Endpoint:
    """Where a model is reached, and on what terms. The key is kept out of the repr, so that no traceback shows it."""

    slug: str
    transport: Transport
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    params: Mapping[str, Any] = field(default_factory=dict)
    timeouts: Timeouts = Timeouts()
    price: Price = Price()


@dataclass(frozen=True)
class Completion:
    """A reply that arrived whole. Times are in milliseconds from the moment the call was begun."""

    text: str
    usage: Usage
    cost_usd: Decimal | None
    ttft_ms: float | None
    duration_ms: float
    finish_reason: str | None
    model: str


class CallFailed(Exception):
    """A call that brought no whole reply: what kind of failure, whether to try again, and what had come by then.

    `message` is in the provider's own words where there are any, with secrets taken out.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        retryable: bool,
        retry_after_s: float | None = None,
        status: int | None = None,
        partial: str = "",
        usage: Usage | None = None,
        ttft_ms: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.status = status
        self.partial = partial
        self.usage = usage
        self.ttft_ms = ttft_ms

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def refusal(status: int, body: str, *, retry_after: str | None = None, secret: str = "") -> CallFailed:
    """Sort an answer that is no reply by its HTTP status. `body` is kept in the provider's own words."""
    message = tidy(words_of(body), secret) or f"the endpoint answered with status {status} and no explanation"
    kind: FailureKind = "bad_request"
    retryable = False
    if status == 429:
        # A spent balance comes as 429 too, and no waiting brings it back.
        kind, retryable = "rate_limited", "insufficient_quota" not in body
    elif status >= 500 or status in RETRYABLE_STATUSES:
        kind, retryable = "server", True
    elif status in (401, 403):
        kind = "auth"
    elif status == 404:
        kind = "not_found"
    return CallFailed(kind, message, retryable=retryable, retry_after_s=seconds_until(retry_after), status=status)


def words_of(body: str) -> str:
    """The sentence inside an error body, in whichever of the usual shapes it came; else the body as it is."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return body
    for key in ("error", "message", "detail"):
        if isinstance(found, Mapping) and found.get(key):
            found = found[key]
    return found if isinstance(found, str) else body


def tidy(message: str, secret: str = "") -> str:
    """A message fit to be kept and shown: without secrets, without what PostgreSQL refuses, and not too long."""
    if len(secret) >= 6:
        message = message.replace(secret, "[removed]")
    message = SECRETS.sub("[removed]", clean(message)).strip()
    return message if len(message) <= LONGEST_MESSAGE_CHARS else message[: LONGEST_MESSAGE_CHARS - 1] + "…"


def clean(text: str) -> str:
    """`text` without NUL, and with halves of surrogate pairs joined or replaced: PostgreSQL and UTF-8 take neither."""
    if "\0" in text:
        text = text.replace("\0", "")
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def seconds_until(retry_after: str | None) -> float | None:
    """The wait that a Retry-After header asks for, given in seconds or as a date; None where it says neither."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            date = parsedate_to_datetime(retry_after)
        except ValueError:
            return None
        seconds = ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def count(account: object, name: str) -> int:
    """A number out of a provider's account, 0 where it is missing, and bounded where it makes no sense."""
    number = account.get(name) if isinstance(account, Mapping) else None
    return min(max(0, number), MOST_TOKENS) if isinstance(number, int) else 0


def estimate(messages: Sequence[Mapping[str, str]], text: str, thought_chars: int = 0) -> Usage:
    """What a call consumed, by a tokenizer, of what was sent and received: for when the provider did not say.

    A model's thoughts are not kept: their tokens are reckoned from their length.
    """
    thought = math.ceil(thought_chars / CHARS_PER_TOKEN)
    return Usage(
        input_tokens=tokens.of_messages(messages, most_chars=tokens.QUICK_CHARS),
        output_tokens=tokens.count(text, most_chars=tokens.QUICK_CHARS) + thought,
        reasoning_tokens=thought,
        estimated=True,
    )


class Reply:
    """A completion in the making: both transports pour into it what they receive, and it remembers when."""

    def __init__(
        self, endpoint: Endpoint, messages: Sequence[Mapping[str, str]], on_delta: Callable[[str], None]
    ) -> None:
        self.endpoint = endpoint
        self.messages = messages
        self.model = endpoint.model
        self.begun_at = monotonic()
        self.first_at: float | None = None
        self.heard_at: float | None = None  # when the last token came: what the timeouts between tokens look at
        self.answered = False  # the endpoint took the request on, so that tokens may have been billed
        self.ended = False  # it said that there is no more
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self._on_delta = on_delta
        self._pieces: list[str] = []
        self._chars = 0
        self._thought_chars = 0
        self._half = ""

    def hear(self, text: str) -> None:
        """Take a piece of the reply, and pass it on.

        :raises CallFailed: when the reply is longer than anyone could want.
        """
        self._beat()
        if self._half or not text.isascii():
            # Some servers cut between the halves of a surrogate pair: wait with the first half for the second.
            text = self._half + text
            self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
            text = text.removesuffix(self._half)
        text = clean(text)
        if not text:
            return
        self._chars += len(text)
        if self._chars > LONGEST_REPLY_CHARS:
            raise CallFailed(
                "malformed", f"the reply is longer than {LONGEST_REPLY_CHARS:,} characters", retryable=False
            )
        self._pieces.append(text)
        self._on_delta(text)

    def think(self, text: str) -> None:
        """Take a piece of the model's reasoning: a sign of life that is paid for, and no part of the reply."""
        self._beat()
        self._thought_chars += len(text)

    def finish(self, reason: object) -> None:
        """Take the provider's word for why there is no more."""
        self.finish_reason = clean(str(reason))[:LONGEST_REASON_CHARS]

    def meter(self, usage: Mapping[str, Any], *, estimated: bool = False) -> None:
        """Take the provider's account of the tokens, in the shape of the OpenAI protocol."""
        if not isinstance(usage.get("prompt_tokens"), int):
            return
        self.usage = Usage(
            input_tokens=count(usage, "prompt_tokens"),
            cached_tokens=count(usage.get("prompt_tokens_details"), "cached_tokens"),
            output_tokens=count(usage, "completion_tokens"),
            reasoning_tokens=count(usage.get("completion_tokens_details"), "reasoning_tokens"),
            estimated=estimated,
        )

    def completion(self) -> Completion:
        """The whole reply.

        :raises CallFailed: when it broke off, or when there is nothing in it.
        """
        now = monotonic()
        if not self.ended and self.finish_reason is None:
            raise CallFailed("cut", "the stream ended before the reply did", retryable=True)
        if not self._pieces:
            raise self._emptiness()
        usage = self.usage or self._estimate()
        return Completion(
            text=self.text,
            usage=usage,
            cost_usd=self.endpoint.price.cost_usd(usage),
            ttft_ms=self.ttft_ms,
            duration_ms=(now - self.begun_at) * 1000,
            finish_reason=self.finish_reason,
            model=self.model,
        )

    def account(self, failure: CallFailed) -> CallFailed:
        """Note on `failure` what had come, and been consumed, by then."""
        failure.partial = self.text
        failure.ttft_ms = self.ttft_ms
        if self.answered:
            failure.usage = self.usage or self._estimate()
        return failure

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def ttft_ms(self) -> float | None:
        return None if self.first_at is None else (self.first_at - self.begun_at) * 1000

    def _beat(self) -> None:
        self.heard_at = monotonic()
        if self.first_at is None:
            self.first_at = self.heard_at

    def _estimate(self) -> Usage:
        return estimate(self.messages, self.text, self._thought_chars)

    def _emptiness(self) -> CallFailed:
        # The same question meets the same token limit or filter again; a plain stop may have been a whim.
        if self.finish_reason == "length":
            return CallFailed("empty", "the token limit was reached before the reply began", retryable=False)
        if self.finish_reason == "content_filter":
            return CallFailed("empty", "the provider's content filter withheld the reply", retryable=False)
        return CallFailed("empty", "the model stopped without writing anything", retryable=True)
