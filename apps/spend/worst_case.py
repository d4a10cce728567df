"""What a call may cost at most, reckoned before it is made."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from apps.workers.calls import Price

# For a model whose longest reply nobody knows: as long as those of most models of the catalogue may be, or longer.
LONGEST_REPLY_TOKENS = 32_768
# The names under which providers take a limit of the reply's tokens.
REPLY_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


def worst_case_usd(price: Price, input_tokens: int, max_output_tokens: int) -> Decimal | None:
    """The most that a call can cost; None where a price is unknown, which is never taken for nothing.

    Nothing is counted as cached, unless reading from the cache is dearer than not.
    """
    if price.free:
        return Decimal(0)
    if price.input_usd is None or price.output_usd is None:
        return None
    input_usd = max(price.input_usd, price.cached_usd or Decimal(0))
    return (input_usd * input_tokens + price.output_usd * max_output_tokens) / 1_000_000


def most_output_tokens(max_output_tokens: int | None, params: Mapping[str, Any]) -> int:
    """How many tokens a call can bring at most: as its parameters limit it, and the model itself, and how often."""
    asked = [params[name] for name in REPLY_LIMITS if _is_count(params.get(name))]
    known = [*asked, *([] if max_output_tokens is None else [max_output_tokens])]
    replies = params["n"] if _is_count(params.get("n")) else 1
    return min(known, default=LONGEST_REPLY_TOKENS) * replies


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
