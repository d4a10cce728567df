"""What is known of models before anyone has called them: prices and context windows, out of litellm's catalogue.

The catalogue is a JSON file in litellm's package. It is found and read without importing litellm, which would cost
two seconds and 160 MB, so that the web process can look things up as well.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from apps.workers.calls import Price

CATALOGUE = "model_prices_and_context_window_backup.json"
WRITES_TEXT = {"chat", "completion", "responses"}
# Listed, but litellm cannot call them with a key: they sign in through a browser, or it does not know the way.
OUT_OF_REACH = {
    "anyscale",
    "chatgpt",
    "coralbricks",
    "github_copilot",
    "inferenceapis",
    "microsoft_365_copilot",
    "openinfer",
    "scaledown",
}
# What people ask of a model beside its price, and the name that the catalogue has for it.
FEATURES = {
    "thinks first": "supports_reasoning",
    "tools": "supports_function_calling",
    "JSON schema": "supports_response_schema",
    "images": "supports_vision",
    "prompt caching": "supports_prompt_caching",
}
MOST_FOUND = 40
RUNS_AT_HOME = {"ollama", "ollama_chat", "lemonade", "llamafile", "lm_studio"}


@dataclass(frozen=True)
class Entry:
    """One model of the catalogue. Windows are in tokens; what is not known is None."""

    model: str
    provider: str
    price: Price
    window: int | None
    longest_reply: int | None
    mode: str = "chat"
    features: tuple[str, ...] = ()
    retires_on: date | None = None

    def is_retired(self, *, today: date) -> bool:
        return self.retires_on is not None and self.retires_on <= today


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


def search(words: str, *, provider: str = "", today: date, most: int = MOST_FOUND) -> list[Entry]:
    """The models whose names hold all of `words`, of one provider or of any, at most so many of them.

    Those whose provider is named like a word come first, then short names: who types `gpt-5` means that one.
    """
    wanted = words.lower().split()
    found = [
        entry
        for entry in entries().values()
        if provider in ("", entry.provider)
        and entry.provider not in OUT_OF_REACH
        and not entry.is_retired(today=today)
        and all(word in f"{entry.provider} {entry.model}".lower() for word in wanted)
    ]
    found.sort(key=lambda entry: (not _is_named(entry, wanted), len(entry.model), entry.model))
    return found[:most]


def _is_named(entry: Entry, wanted: Sequence[str]) -> bool:
    bare = entry.model.rpartition("/")[2].lower()
    return entry.provider.lower() in wanted or bare in wanted


def providers() -> list[str]:
    """Every provider that has a model here, in alphabetical order."""
    return sorted({entry.provider for entry in entries().values()} - OUT_OF_REACH - {""})


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
        mode=about["mode"],
        features=tuple(words for words, name in FEATURES.items() if about.get(name)),
        retires_on=day(about.get("deprecation_date")),
    )


def day(written: object) -> date | None:
    try:
        return date.fromisoformat(str(written))
    except ValueError:
        return None


def per_million(price: object) -> Decimal | None:
    # The catalogue writes 0 for free tiers and previews, and for prices that it does not know: never take it for free.
    if not isinstance(price, (Decimal, int)) or price <= 0:
        return None
    return plainly(Decimal(price) * 1_000_000)


def plainly(price: Decimal) -> Decimal:
    """A price without the noughts at its end: `5` and `0.25`."""
    exact = price.normalize()
    return exact.quantize(Decimal(1)) if exact == exact.to_integral_value() else exact


def tokens(number: object) -> int | None:
    return int(number) if isinstance(number, (Decimal, int)) and number > 0 else None
