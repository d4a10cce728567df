"""What an endpoint serves, asked on behalf of somebody who adds a worker; asking and answer are in Redis for a while.

Where the endpoint wants a key the asking is a driver's, since nobody else opens keys; what is kept never holds one.
"""

import asyncio
import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache

import redis
from django.conf import settings

from apps.core.errors import NotFound, StudioError
from apps.workers import wire
from apps.workers.calls import CallFailed, Endpoint, tidy
from apps.workers.models import Worker
from apps.workers.services import open_endpoint

KEPT_S = 900
WITHIN_S = 8.0
MOST_MODELS = 1_000


class NoSuchListing(NotFound):
    """Nobody asked, or it is too long ago."""


@dataclass(frozen=True)
class Listing:
    """An asking: of whom, with which credential, and what came of it, which is nothing yet while `is_asked`."""

    base_url: str
    credential: int | None = None
    is_asked: bool = True
    models: Sequence[str] = ()
    error: str = ""


def ask(base_url: str, credential: int | None) -> str:
    """Keep an asking, and return the code by which its answer is found."""
    code = secrets.token_urlsafe(16)
    _keep(code, Listing(base_url, credential))
    return code


def read(code: str) -> Listing:
    """:raises NoSuchListing: nobody asked, or it is too long ago."""
    kept = _client().get(_name(code))
    if not kept:
        raise NoSuchListing("This list of models is no longer kept. Ask the endpoint again.")
    return Listing(**json.loads(kept))


def carry_out(code: str) -> None:
    """Ask the endpoint, and keep what it said in place of the asking. With a credential: in a driver."""
    try:
        listing = read(code)
    except NoSuchListing:
        return  # whoever asked has long gone
    try:
        endpoint = endpoint_of(listing)
        found = asyncio.run(_models_of(endpoint))
    except (CallFailed, StudioError) as failure:
        _keep(code, replace(listing, is_asked=False, error=failure.message))
    else:
        sure = tuple(tidy(name, endpoint.api_key)[:300] for name in found[:MOST_MODELS])
        _keep(code, replace(listing, is_asked=False, models=sure))


def endpoint_of(listing: Listing) -> Endpoint:
    """:raises StudioError: the credential is gone or cannot be opened."""
    asked = Worker(
        slug="new", name="the new worker", base_url=listing.base_url, model="", credential_id=listing.credential
    )
    return open_endpoint(asked.freeze())


async def _models_of(endpoint: Endpoint) -> list[str]:
    session = wire.open_session()
    try:
        return await wire.models_of(session, endpoint, within_s=WITHIN_S)
    finally:
        await session.close()


def _keep(code: str, listing: Listing) -> None:
    _client().set(_name(code), json.dumps(asdict(listing)), ex=KEPT_S)


def _name(code: str) -> str:
    return f"studio:listing:{code}"


@cache
def _client() -> "redis.Redis":
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=2)
