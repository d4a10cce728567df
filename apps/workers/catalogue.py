"""What is known of models before anyone has called them: prices and context windows, out of litellm's catalogue.

The catalogue is a JSON file in litellm's package. It is found and read without importing litellm, which would cost
two seconds and 160 MB, so that the web process can look things up as well.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from apps.workers.calls import Price

CATALOGUE = "model_prices_and_context_window_backup.json"
WRITES_TEXT = {"chat", "completion", "responses"}
RUNS_AT_HOME = {"ollama", "ollama_chat", "lemonade", "llamafile", "lm_studio"}


@dataclass(frozen=True)
class Entry:
    """One model of the catalogue. Windows are in tokens; what is not known is None."""

    model: str
    provider: str
    price: Price
    window: int | None
    longest_reply: int | None


def entry_of(model: str) -> Entry | None:
    """The entry for `model`, by the name that litellm, or the provider itself, uses for it.

    Many models stand in the catalogue without their provider: `openai/gpt-4o` is found under `gpt-4o`, but only if
    that one is OpenAI's, because the same model costs something else elsewhere.
    """
    found = entries().get(model)
    if found is None and "/" in model:
        provider, _, bare = model.partition("/")
        found = entries().get(bare)
        if found is not None and found.provider != provider:
            found = None
    return found


def price_of(model: str) -> Price:
    """The list price of `model`, with None for all that is not known: prices above a length threshold are higher."""
    entry = entry_of(model)
    return Price() if entry is None else entry.price


def window_of(model: str) -> int | None:
    """How many tokens `model` can read, or None where that is not known."""
    entry = entry_of(model)
    return None if entry is None else entry.window


@cache
def entries() -> Mapping[str, Entry]:
    """Every model of the catalogue that writes text, by name. Read once: it takes some 40 ms."""
    listed = json.loads(path().read_bytes(), parse_float=Decimal)
    return {name: read(name, about) for name, about in listed.items() if about.get("mode") in WRITES_TEXT}


def path() -> Path:
    """Where the catalogue lies.

    :raises FileNotFoundError: when litellm is not installed.
    """
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the catalogue of models comes with the package litellm, which is not installed")
    return Path(spec.origin).with_name(CATALOGUE)


def read(name: str, about: Mapping[str, Any]) -> Entry:
    provider = about.get("litellm_provider", "")
    return Entry(
        model=name,
        provider=provider,
        price=Price(
            input_usd=per_million(about.get("input_cost_per_token")),
            cached_usd=per_million(about.get("cache_read_input_token_cost")),
            output_usd=per_million(about.get("output_cost_per_token")),
            free=provider in RUNS_AT_HOME,
        ),
        window=tokens(about.get("max_input_tokens") or about.get("max_tokens")),
        longest_reply=tokens(about.get("max_output_tokens")),
    )


def per_million(price: object) -> Decimal | None:
    # The catalogue writes 0 for free tiers and previews, and for prices that it does not know: never take it for free.
    if not isinstance(price, (Decimal, int)) or price <= 0:
        return None
    exact = (Decimal(price) * 1_000_000).normalize()
    return exact.quantize(Decimal(1)) if exact == exact.to_integral_value() else exact


def tokens(number: object) -> int | None:
    return int(number) if isinstance(number, (Decimal, int)) and number > 0 else None
