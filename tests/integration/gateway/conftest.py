"""A gateway, and endpoints of both transports at the simulator or at a server that behaves as a test wants."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any, Protocol

import pytest

from apps.workers.calls import Endpoint, Price, Timeouts, Transport
from apps.workers.gateway import Gateway
from tests.integration.gateway.odd import OddServer

PRICE = Price(input_usd=Decimal(3), cached_usd=Decimal("0.3"), output_usd=Decimal(15))


def unheard(text: str) -> None:
    """For tests that look at the reply as a whole."""


class At(Protocol):
    """Makes an endpoint of one transport at an address."""

    def __call__(self, base_url: str, model: str = "any", **given: Any) -> Endpoint: ...


def at(transport: Transport) -> At:
    def make(base_url: str, model: str = "any", **given: Any) -> Endpoint:
        name = f"openai/{model}" if transport == "litellm" else model
        given = {"api_key": "sk-of-the-tests", "timeouts": Timeouts(), "price": PRICE, **given}
        return Endpoint(slug="worker", transport=transport, base_url=base_url, model=name, **given)

    return make


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    yield gateway
    await gateway.close()


@pytest.fixture(params=["wire", "litellm"])
def endpoint_at(request: pytest.FixtureRequest) -> At:
    """Endpoints of one transport, then of the other: what holds here holds for both."""
    return at(request.param)


@pytest.fixture
def wire_at() -> At:
    """Endpoints of the wire transport, for what only it promises."""
    return at("wire")


@pytest.fixture
async def odd() -> AsyncIterator[OddServer]:
    async with OddServer() as server:
        yield server
