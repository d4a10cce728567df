"""The words in which a call of a model is asked for and answered: plain values, with no network and no Django behind them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

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
        for tokens, price in parts:
            if not tokens:
                continue
            if price is None:
                return None
            total += price * tokens
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
