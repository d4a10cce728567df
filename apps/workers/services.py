"""What the rest of the studio asks of the pool: frozen workers opened for a call, and the models a fresh studio has."""

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.changes import changed
from apps.audit import log
from apps.audit.log import Actor, Entry
from apps.core.errors import Unavailable
from apps.workers import vault
from apps.workers.calls import Endpoint, Price, Timeouts, tidy
from apps.workers.lines import Limits
from apps.workers.models import Conductor, Credential, Profile, Worker

TRAIL = "pool"
USE_NOTED_EVERY = timedelta(minutes=1)


class KeyMissing(Unavailable):
    """The credential a frozen worker names is gone."""


def open_endpoint(frozen: Mapping[str, Any]) -> Endpoint:
    """Everything a call of a frozen worker or conductor needs, the opened key included: for a driver, at the call.

    :raises KeyMissing: its credential was deleted. :raises VaultLocked: it cannot be opened.
    """
    identity = frozen["identity"]
    return Endpoint(
        slug=frozen["slug"],
        transport=identity["transport"],
        base_url=identity["base_url"],
        model=identity["model"],
        api_key=_key(frozen),
        params=identity["params"],
        timeouts=Timeouts(**frozen["timeouts"]),
        price=price_of(frozen),
    )


def limits_now() -> dict[str, Limits]:
    """What every model takes at most, as it is set now: later than what runs froze, and for them too."""
    version = time.time_ns() // 1_000_000
    fields = ("slug", "concurrency", "requests_per_minute", "tokens_per_minute")
    rows = [*Worker.objects.values_list(*fields), *Conductor.objects.values_list(*fields)]
    return {slug: Limits(calls, requests, tokens, version) for slug, calls, requests, tokens in rows}


def price_of(frozen: Mapping[str, Any]) -> Price:
    """What a frozen worker's or conductor's tokens cost."""
    price = frozen["price"]
    return Price(
        input_usd=_decimal(price["input_usd"]),
        cached_usd=_decimal(price["cached_usd"]),
        output_usd=_decimal(price["output_usd"]),
        free=price["free"],
    )


def _key(frozen: Mapping[str, Any]) -> str:
    if frozen["credential"] is None:
        return ""
    credential = Credential.objects.filter(pk=frozen["credential"]).first()
    if credential is None:
        raise KeyMissing(
            f"the key of {frozen['name']} was deleted; choose another one in the admin pages and run again"
        )
    key = vault.unseal(credential.sealed)
    _note_use(credential)
    return key


def _note_use(credential: Credential) -> None:
    """Keep when a driver last opened the key, to the minute: not every call of a busy run is worth a write."""
    now = timezone.now()
    if credential.last_used_at is None or now - credential.last_used_at > USE_NOTED_EVERY:
        Credential.objects.filter(pk=credential.pk).update(last_used_at=now)


def _decimal(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value)


# Kept beside the simulator's own table by a test: the studio takes nothing from a simulated server but its address.
SIMULATED = (
    # slug, name, strengths, input and output price in USD for a million tokens
    ("sim-atlas", "Atlas", "strong at everything, slow and dear", "5.00", "15.00"),
    ("sim-birch", "Birch", "good at numbers and tables", "1.00", "4.00"),
    ("sim-cedar", "Cedar", "fast, good at texts", "0.30", "1.20"),
    ("sim-delta", "Delta", "cheap, weak at long sums", "0.05", "0.20"),
)
EMBEDDER = ("sim-embed", "Simulated embedder", "turns texts into vectors", "0.02", "0.00")


LONGEST_SIMULATED = 4_096  # tokens: no simulated model writes more, unless a knob in its name makes it


@transaction.atomic
def ensure_simulated(*, url: str, by: Actor, now: datetime) -> None:
    """Offer the simulator's workers and its conductor at `url`, and the profiles a fresh studio starts with.

    Only what is missing is made, and only what a start without the simulator switched off is switched on again: what an
    admin changed or disabled stays as it is. A new address is followed.
    """
    common = {"base_url": url, "provider": "simulator", "simulated": True}
    made: list[Entry] = []
    for slug, name, strengths, input_usd, output_usd in (*SIMULATED, EMBEDDER):
        worker, new = Worker.objects.get_or_create(
            slug=slug,
            defaults={
                **common,
                "name": name,
                "model": slug,
                "provider": name,
                "strengths": strengths,
                "input_price_usd": Decimal(input_usd),
                "output_price_usd": Decimal(output_usd),
                "max_output_tokens": LONGEST_SIMULATED,
                "embeds": slug == EMBEDDER[0],
            },
        )
        if new:
            made.append(Entry("worker.added", {"worker": worker.slug}))
    conductor, new = Conductor.objects.get_or_create(
        slug="sim-conductor", defaults={**common, "name": "Simulated conductor", "model": "sim-conductor", "free": True}
    )
    if new:
        made.append(Entry("conductor.added", {"conductor": conductor.slug}))
    made += _move("worker", Worker.objects.filter(simulated=True), to=url)
    made += _move("conductor", Conductor.objects.filter(simulated=True), to=url)
    made += _ensure_profiles(conductor)
    for noun, rows in (("worker", Worker.objects), ("conductor", Conductor.objects), ("profile", Profile.objects)):
        made += _switch(noun, rows.filter(away=True, enabled=False), on=True)
    log.append(TRAIL, made, by=by, at=now, subject="pool", project="")


@transaction.atomic
def dismiss_simulated(*, by: Actor, now: datetime) -> None:
    """Switch off what only the simulator could answer for, at a start without it, and remember what that was."""
    conducted = Q(planner=Profile.Planner.CONDUCTOR, conductor__simulated=True)
    with_others = Profile.objects.filter(workers__simulated=False).values("pk")
    pooled = Q(workers__simulated=True) & ~Q(pk__in=with_others)
    lost = Profile.objects.filter(conducted | pooled).values("pk")
    left = [
        *_switch("worker", Worker.objects.filter(simulated=True, enabled=True), on=False),
        *_switch("conductor", Conductor.objects.filter(simulated=True, enabled=True), on=False),
        *_switch("profile", Profile.objects.filter(pk__in=lost, enabled=True), on=False),
    ]
    log.append(TRAIL, left, by=by, at=now, subject="pool", project="")


def _move(noun: str, rows: QuerySet[Any], *, to: str) -> list[Entry]:
    entries = []
    for row in rows.exclude(base_url=to).select_for_update():
        before, after = {"base_url": tidy(row.base_url)}, {"base_url": to}
        row.base_url = to
        row.save(update_fields=["base_url"])
        entries.append(changed(noun, {noun: row.slug}, fields=["base_url"], before=before, after=after))
    return entries


def _switch(noun: str, rows: QuerySet[Any], *, on: bool) -> list[Entry]:
    entries = []
    for row in rows.select_for_update():
        row.enabled, row.away = on, not on
        row.save(update_fields=["enabled", "away"])
        before, after = {"enabled": not on}, {"enabled": on}
        entries.append(changed(noun, {noun: row.slug}, fields=["enabled"], before=before, after=after))
    return entries


def _ensure_profiles(conductor: Conductor) -> list[Entry]:
    wanted = (
        ("studio-ultra", "Studio Ultra", "A conductor writes a whole workflow for the pool.", "conductor", conductor),
        ("studio-mini", "Studio Mini", "One worker answers at once: low latency.", "direct", None),
    )
    made = []
    for position, (slug, name, description, planner, conducts) in enumerate(wanted):
        profile, new = Profile.objects.get_or_create(
            slug=slug,
            defaults={
                "name": name,
                "description": description,
                "planner": planner,
                "conductor": conducts,
                "position": position,
            },
        )
        if new:
            if planner == "direct":  # the first of its pool answers: a worker added later must not take its place
                profile.workers.set(Worker.objects.filter(slug=SIMULATED[0][0]))
            made.append(Entry("profile.added", {"profile": slug}))
    return made
