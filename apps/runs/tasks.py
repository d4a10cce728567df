"""Celery's part: a doorbell for runs, and tidying. A message may be lost or doubled without harm."""

from datetime import timedelta
from functools import cache

import redis
import structlog
from celery import current_app, shared_task
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone
from kombu import Connection
from kombu.exceptions import KombuError, OperationalError
from kombu.pools import producers
from redis.exceptions import RedisError

from apps.accounts.sessions import forget_ended_sessions
from apps.core.errors import StudioError
from apps.runs.models import Driver

logger = structlog.get_logger(__name__)

PROBED_ONCE_IN_S = 3_600


@shared_task(ignore_result=True)
def drive_run(run_id: int) -> None:
    """Drive a run to its end, or to a pause, unless another driver holds it."""
    from apps.runs import experiments  # it rings for its runs here
    from apps.runs.driver import drive  # only a driver process needs the gateway and the loop

    drive(run_id)
    experiments.go_on_after(run_id=run_id, now=timezone.now())


# A page waits for the bell to be taken, so a broker that does not answer is given up on soon: the sweeper rings again.
IMPATIENT = {"socket_connect_timeout": 2, "socket_timeout": 2, "retry_on_timeout": False, "max_retries": 0}


@cache
def _publisher() -> Connection:
    connection: Connection = current_app.connection_for_write()
    return Connection(connection.as_uri(include_password=True), transport_options=IMPATIENT)


def ring_driver(run_id: int) -> None:
    """Ask for a driver. With the broker down nothing is lost: the sweeper rings again."""
    try:
        with producers[_publisher()].acquire(block=True, timeout=2) as producer:
            drive_run.apply_async((run_id,), producer=producer)
    except (KombuError, OperationalError, RedisError, OSError) as error:
        logger.warning("the broker did not take the message; the sweeper will ring again", run=run_id, error=str(error))


@shared_task(ignore_result=True)
def tidy() -> None:
    """Forget what nobody needs any more: expired sessions, and drivers not seen for a day."""
    call_command("clearsessions")
    forget_ended_sessions()
    Driver.objects.filter(seen_at__lt=timezone.now() - timedelta(days=1)).delete()


@shared_task(ignore_result=True)
def go_on_with_experiments() -> None:
    """Carry on experiments of which a fork ended without its driver's saying so: somebody stopped it, or it died."""
    from apps.runs import experiments  # it rings for its runs here

    experiments.go_on_with_all(now=timezone.now())


@shared_task(ignore_result=True)
def apply_retention() -> None:
    """Erase the texts of runs that were kept for as long as their projects say."""
    from apps.runs.retention.applying import apply_policies  # it tells viewers through the services, which ring here

    try:
        erased = [run.code for run in apply_policies(now=timezone.now())]
    except StudioError as refusal:  # Redis is away: whatever was erased before stays so, the rest waits for tomorrow
        logger.warning("policies were not applied to the end", error=refusal.message)
    else:
        logger.info("policies were applied", erased=len(erased))


@shared_task(ignore_result=True)
def probe_workers() -> None:
    """Try the workers that are to be asked now and then: none more often than once an hour."""
    from apps.runs import trying  # it rings for its runs here

    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=2) as client:

        def is_first(slug: str) -> bool:
            return bool(client.set(f"studio:probed:{slug}", 1, nx=True, ex=PROBED_ONCE_IN_S))

        trying.probe_workers(now=timezone.now(), is_first=is_first)
