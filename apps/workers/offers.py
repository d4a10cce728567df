"""A model of the catalogue, or one that an endpoint serves, as a worker that has only to be agreed to."""

import re
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from apps.workers import catalogue
from apps.workers.calls import Price
from apps.workers.catalogue import Entry
from apps.workers.models import CalledModel, Worker
from apps.workers.providers import PROVIDERS, Provider, provider_of

FROM_CATALOGUE = "litellm's catalogue"
LONGEST_SLUG = 63
# What litellm routes by, where the catalogue names a provider more finely than that.
ROUTES = {"bedrock_converse": "bedrock"}


def from_catalogue(entry: Entry) -> dict[str, Any]:
    """The fields of a worker for a model of the catalogue."""
    provider = provider_of(entry.provider)
    over_wire = provider is not None and bool(provider.base_url) and entry.mode == "chat"
    bare = entry.model.removeprefix(f"{entry.provider}/")
    return {
        "name": bare.rpartition("/")[2],
        "slug": free_slug(bare),
        "provider": provider.name if provider else entry.provider,
        "transport": CalledModel.Transport.WIRE if over_wire else CalledModel.Transport.LITELLM,
        "base_url": provider.base_url if provider and over_wire else "",
        "model": bare if over_wire else routed(entry),
        "context_window": entry.window,
        "max_output_tokens": entry.longest_reply,
        **priced(entry.price),
    }


def from_endpoint(base_url: str, model: str) -> dict[str, Any]:
    """The fields of a worker for a model that an endpoint says it serves: where it is at home it costs nothing."""
    host = urlsplit(base_url).hostname or ""
    known = _at(base_url)
    entry = catalogue.entry_of(f"{known.slug}/{model}") if known else None
    common = {"name": model.rpartition("/")[2][:100], "slug": free_slug(model), "base_url": base_url, "model": model}
    if entry is not None:
        return from_catalogue(entry) | common
    provider = known.name if known else host[:50]
    return {
        **common,
        "provider": provider,
        "transport": CalledModel.Transport.WIRE,
        "free": known is None and is_home(host),
    }


def priced(price: Price) -> dict[str, Any]:
    """A price as a worker's fields keep it, which is to a millionth of a dollar."""
    return {
        "input_price_usd": kept(price.input_usd),
        "cached_price_usd": kept(price.cached_usd),
        "output_price_usd": kept(price.output_usd),
        "free": price.free,
    }


def kept(price: Decimal | None) -> Decimal | None:
    return None if price is None else catalogue.plainly(round(price, 6))


def listed_price(worker: CalledModel) -> Price | None:
    """What the catalogue says that a worker's model costs; None where it does not know the model."""
    known = _at(worker.base_url)
    names = [f"{known.slug}/{worker.model}"] if known else [worker.model] if worker.transport == "litellm" else []
    return next((entry.price for name in names if (entry := catalogue.entry_of(name))), None)


def source_of_price(worker: CalledModel, *, entered_by: str) -> str:
    """Where a worker's price is from: the catalogue where it says the same, else whoever entered it."""
    mine = {name: getattr(worker, name) for name in ("input_price_usd", "cached_price_usd", "output_price_usd", "free")}
    listed = listed_price(worker)
    if listed is not None and priced(listed) == mine:
        return FROM_CATALOGUE
    return f"entered by {entered_by}"[:100] if any(value not in (None, False) for value in mine.values()) else ""


def routed(entry: Entry) -> str:
    """The name by which litellm finds the provider of a model."""
    provider = ROUTES.get(entry.provider, "vertex_ai" if entry.provider.startswith("vertex_ai") else entry.provider)
    return entry.model if entry.model.startswith(f"{provider}/") else f"{provider}/{entry.model}"


def free_slug(model: str) -> str:
    """A short name for a worker that no other has."""
    wanted = (
        re.sub(r"[^a-z0-9._-]+", "-", model.rpartition("/")[2].lower()).strip("-._")[: LONGEST_SLUG - 4] or "worker"
    )
    taken = set(Worker.objects.filter(slug__startswith=wanted).values_list("slug", flat=True))
    numbered = (f"{wanted}-{number}" for number in range(2, len(taken) + 3))
    return next(slug for slug in (wanted, *numbered) if slug not in taken)


def is_home(host: str) -> bool:
    """Whether a host is one of one's own by its name: this machine, a single word, or a private address."""
    return (
        host in ("localhost", "::1")
        or "." not in host
        or bool(re.match(r"127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.", host))
    )


def _at(base_url: str) -> Provider | None:
    """The provider that answers at an address."""
    return next((each for each in PROVIDERS if each.base_url and each.base_url == base_url.rstrip("/")), None)
