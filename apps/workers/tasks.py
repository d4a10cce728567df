"""Celery's part: looking at conductors. A message may be lost or doubled without harm."""

from celery import shared_task
from django.utils import timezone

from apps.audit.log import STUDIO
from apps.workers.health import look_at_conductors


@shared_task(ignore_result=True)
def check_conductors() -> None:
    """Look whether the conductors can be reached."""
    look_at_conductors(by=STUDIO, now=timezone.now())
