"""Trails to test with: honest ones, and forged ones whose rows were inserted as a forger would insert them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction

from apps.audit.log import Actor, Entry, append
from apps.audit.models import Event, Payload, Trail

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADA = Actor(kind="person", id="1", label="Ada")


def write(trail: str, *entries: Entry) -> list[Event]:
    """Append in a transaction of its own."""
    with transaction.atomic():
        return append(trail, entries, by=ADA, at=NOON, subject=trail, project="default")


class _TakenBack(Exception):
    pass


@dataclass
class Forgery:
    """The rows of a trail, not in the database: to be changed and then planted there."""

    trail: Trail
    events: list[Event]
    payloads: list[Payload]

    def plant(self) -> str:
        trail = Trail.objects.create(
            name=self.trail.name, project="default", head_seq=self.trail.head_seq, head_hash=self.trail.head_hash
        )
        for event in self.events:
            event.trail = trail
        for payload in self.payloads:
            payload.trail = trail
        Payload.objects.bulk_create(self.payloads)
        Event.objects.bulk_create(self.events)
        return trail.name


def forgery(*entries: Entry, trail: str = "run:forged") -> Forgery:
    """The rows that `write` would have left, taken from a transaction that was rolled back."""
    try:
        with transaction.atomic():
            write(trail, *entries)
            head = Trail.objects.get(name=trail)
            made = Forgery(head, list(head.events.order_by("seq")), list(head.payloads.all()))
            raise _TakenBack
    except _TakenBack:
        return made
