"""Whether conductors can be reached: a look at each endpoint that costs nothing, kept with when it began to be so."""

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime

import aiohttp
from django.db import transaction

from apps.audit import log
from apps.audit.log import Actor, Entry
from apps.core.errors import StudioError
from apps.workers import wire
from apps.workers.calls import CallFailed, Endpoint
from apps.workers.models import CalledModel, Conductor, Health
from apps.workers.services import TRAIL, open_endpoint

LOOK_S = 5.0
MOST_LOOKED_AT = 50
NAMED = 5


@dataclass(frozen=True)
class Look:
    """What one look found."""

    latency_ms: float | None = None
    error: str = ""


def look_at_conductors(*, by: Actor, now: datetime) -> list[Health]:
    """Look at every enabled conductor that speaks the OpenAI protocol, all at once, and keep what was found."""
    wired = Conductor.objects.enabled().filter(transport=CalledModel.Transport.WIRE).order_by("pk")
    conductors = list(wired[:MOST_LOOKED_AT])
    endpoints: list[Endpoint | StudioError] = [_endpoint(conductor) for conductor in conductors]
    looks = asyncio.run(_look_at_all(endpoints))
    return [keep(conductor, look, by=by, now=now) for conductor, look in zip(conductors, looks, strict=True)]


@transaction.atomic
def keep(conductor: Conductor, look: Look, *, by: Actor, now: datetime) -> Health:
    """Keep what was found; that a conductor came up or went down is an event."""
    known = Health.objects.select_for_update().filter(conductor=conductor).first()
    is_up = not look.error
    health = known or Health(conductor=conductor, since=now)
    if known is not None and known.is_up != is_up:
        health.since = now
        verb = "conductor.came-up" if is_up else "conductor.went-down"
        entry = Entry(verb, {"conductor": conductor.slug}, {"error": look.error} if look.error else {})
        log.append(TRAIL, [entry], by=by, at=now, subject="pool", project="")
    health.at, health.is_up, health.latency_ms, health.error = now, is_up, look.latency_ms, look.error
    health.save()
    return health


def _endpoint(conductor: Conductor) -> Endpoint | StudioError:
    try:
        return open_endpoint(conductor.freeze())
    except StudioError as refusal:
        return refusal


async def _look_at_all(endpoints: list[Endpoint | StudioError]) -> list[Look]:
    session = wire.open_session()
    try:
        return list(await asyncio.gather(*(_look(session, endpoint) for endpoint in endpoints)))
    finally:
        await session.close()


async def _look(session: aiohttp.ClientSession, endpoint: Endpoint | StudioError) -> Look:
    if isinstance(endpoint, StudioError):
        return Look(error=endpoint.message)
    began = time.monotonic()
    try:
        served = await wire.models_of(session, endpoint, within_s=LOOK_S)
    except CallFailed as failure:
        return Look(error=failure.message)
    latency_ms = (time.monotonic() - began) * 1000
    if not any(endpoint.model == name or endpoint.model.startswith(f"{name}:") for name in served):
        known = ", ".join(served[:NAMED]) or "no model"
        return Look(latency_ms, f"The endpoint answers, but serves {known}, not {endpoint.model}.")
    return Look(latency_ms)
