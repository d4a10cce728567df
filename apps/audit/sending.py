"""Sending anchors on: to a file and to a web hook, so that what was sealed is known beyond this database.

Each anchor is sent in order and at least once; whoever keeps them knows a double by its place. A place that is new, or
a file that is not there any more, is sent every anchor from the first. What fails is told on the dashboard and tried
again the next minute.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.db import transaction

from apps.audit import log
from apps.audit.anchors import anchors_of
from apps.audit.checks import TRAIL
from apps.audit.models import Sending
from apps.audit.outside import NotSent, Place, places
from apps.audit.pinned import Pinned

AT_ONCE = 20  # a megabyte at most
BATCHES_A_MINUTE = 200


def send_on(*, now: datetime) -> None:
    """Send every place the anchors it has not taken yet; what fails is kept, told, and tried again the next time."""
    for place in places():
        sending, _ = Sending.objects.get_or_create(kind=place.kind, place=place.digest, defaults={"label": place.label})
        try:
            for batch in islice(_batches(0 if place.is_new() else sending.sent_seq), BATCHES_A_MINUTE):
                place.take(batch)
                _sent(sending, batch[-1].seq, now=now)
        except NotSent as failure:
            _failed(sending, str(failure), now=now)


def _batches(after: int) -> Iterator[list[Pinned]]:
    anchors = anchors_of(after=after)
    while batch := list(islice(anchors, AT_ONCE)):
        yield batch


@transaction.atomic
def _sent(sending: Sending, seq: int, *, now: datetime) -> None:
    if sending.failing_since:
        _tell(sending, log.Entry("anchors.sent_again", {"kind": sending.kind, "anchor": seq}), now=now)
    sending.sent_seq, sending.sent_at, sending.failing_since, sending.error = seq, now, None, ""
    sending.save()


@transaction.atomic
def _failed(sending: Sending, error: str, *, now: datetime) -> None:
    """Only the first failure is an event: one each minute would have to be anchored, and sent, itself."""
    if not sending.failing_since:
        sending.failing_since = now
        _tell(sending, log.Entry("anchors.not_sent", {"kind": sending.kind}, {"error": error}), now=now)
    sending.error = error
    sending.save()


def _tell(sending: Sending, entry: log.Entry, *, now: datetime) -> None:
    log.append(TRAIL, [entry], by=log.STUDIO, at=now, subject=f"sending:{sending.pk}", project="")


def sendings() -> list[tuple[Place, Sending | None]]:
    """The places of the settings with how far each is; None where nothing was ever sent there."""
    kept = {(row.kind, row.place): row for row in Sending.objects.all()}
    return [(place, kept.get((place.kind, place.digest))) for place in places()]
