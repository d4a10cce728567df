"""Celery's part: a doorbell for runs, and tidying. A message may be lost or doubled without harm."""

from datetime import timedelta

import structlog
from celery import shared_task
from django.core.management import call_command
from django.utils import timezone
from kombu.exceptions import KombuError, OperationalError
from redis.exceptions import RedisError

from apps.runs.models import Driver

logger = structlog.get_logger(__name__)


@shared_task(ignore_result=True)
def drive_run(run_id: int) -> None:
    """Drive a run to its end, or to a pause, unless another driver holds it."""
    from apps.runs.driver import drive  # only a driver process needs the gateway and the loop

    drive(run_id)


def ring_driver(run_id: int) -> None:
    """Ask for a driver. With the broker down nothing is lost: the sweeper rings again."""
    try:
        drive_run.delay(run_id)
    except (KombuError, OperationalError, RedisError, OSError) as error:
        logger.warning("the broker did not take the message; the sweeper will ring again", run=run_id, error=str(error))


@shared_task(ignore_result=True)
def tidy() -> None:
    """Forget what nobody needs any more: expired sessions, and drivers not seen for a day."""
    call_command("clearsessions")
    Driver.objects.filter(seen_at__lt=timezone.now() - timedelta(days=1)).delete()
