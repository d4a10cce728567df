"""Celery's part: anchors each minute, and checks. A message may be lost or doubled without harm.

A check computes for a minute and more; in a driver's process it would hold up every run that is driven there, so it is
carried out in a process of its own, which gives way to others.
"""

import subprocess
import sys
import time

import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import KombuError, OperationalError
from redis.exceptions import RedisError

from apps.audit import anchors, checks, searching, sending
from apps.audit.log import STUDIO
from apps.audit.signing import NoSigningKey

logger = structlog.get_logger(__name__)

POLITELY = 10
WORDS_FOR_S = 4.0  # at a stretch, of every five seconds
AT_MOST_S = 6 * 3600


@shared_task(ignore_result=True)
def seal_anchors() -> None:
    """Anchor what was written since the last time, send it on, and see to checks that nobody carries out."""
    try:
        anchors.seal_anchor(now=timezone.now())
    except NoSigningKey as missing:
        logger.warning("nothing is anchored", error=missing.message)
    except anchors.SealedOtherwise as tampered:
        logger.error("nothing is anchored", error=tampered.message)
    sending.send_on(now=timezone.now())
    for check in checks.left_behind(now=timezone.now()):
        ring_for_check(check)


@shared_task(ignore_result=True)
def keep_words() -> None:
    """Keep the words of what was written since, for the audit page to search; what is left over waits for the next."""
    until = time.monotonic() + WORDS_FOR_S
    while time.monotonic() < until and searching.keep_words():
        pass


@shared_task(ignore_result=True)
def check_all() -> None:
    """Ask for the check of all trails."""
    checks.start_check(project=None, by=STUDIO, now=timezone.now())


@shared_task(ignore_result=True)
def carry_out_check(check_id: int) -> None:
    """Carry a check out in a process of its own."""
    command = [sys.executable, "manage.py", "verify_trails", "--check", str(check_id), "--nice", str(POLITELY)]
    # Its words are this program's own and a number.
    ended = subprocess.run(  # noqa: S603 - our own command
        command, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=AT_MOST_S, check=False
    )
    if ended.returncode:  # what does not hold is a finding, which the check keeps itself
        checks.give_up(check_id, error=ended.stderr.strip()[-500:] or "its process was ended", now=timezone.now())


def ring_for_check(check_id: int) -> None:
    """Ask for a driver. With the broker down nothing is lost: the next minute asks again."""
    try:
        carry_out_check.apply_async((check_id,))
    except (KombuError, OperationalError, RedisError, OSError) as error:
        logger.warning("the broker did not take the message; it is sent again", check=check_id, error=str(error))
