"""Celery's part: looking at conductors, and at what endpoints serve. A message may be lost or doubled without harm."""

from celery import shared_task
from django.utils import timezone

from apps.audit.log import STUDIO
from apps.workers import listing
from apps.workers.health import look_at_conductors


@shared_task(ignore_result=True)
def check_conductors() -> None:
    """Look whether the conductors can be reached."""
    look_at_conductors(by=STUDIO, now=timezone.now())


@shared_task(ignore_result=True)
def list_models(code: str) -> None:
    """Ask an endpoint that wants a key what it serves; the message names the asking alone."""
    listing.carry_out(code)
