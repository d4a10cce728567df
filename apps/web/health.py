"""Whether the studio lives (`/healthz`) and whether it can do its work (`/readyz`), for whoever watches over it."""

from collections.abc import Callable
from datetime import timedelta

import psycopg
import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from apps.runs.models import Driver

SEEN_WITHIN = timedelta(seconds=10)
PATIENCE_S = 2


@require_safe
@login_not_required
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; it asks nobody else."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@login_not_required
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """What the studio stands on, part by part; 503 while one is missing."""
    parts: dict[str, str] = {"database": _said(_ask_database), "redis": _said(_ask_redis)}
    parts["driver"] = _said(_ask_for_driver) if parts["database"] == "ok" else "unknown: the database does not answer"
    ready = all(said == "ok" for said in parts.values())
    return JsonResponse({"ready": ready, **parts}, status=200 if ready else 503)


def _said(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except (psycopg.Error, DatabaseError, RedisError, OSError) as error:
        # The kind only: an error's own words may hold addresses, and this page asks nobody who they are.
        return f"missing: {type(error).__name__}"


def _ask_database() -> str:
    """A connection of its own: the pool would wait for a database that is away longer than whoever asks here."""
    params = {**connection.get_connection_params(), "connect_timeout": PATIENCE_S}
    with psycopg.connect(**params) as mine:
        mine.execute("SELECT 1")
    return "ok"


def _ask_redis() -> str:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=PATIENCE_S, socket_timeout=PATIENCE_S
    ) as client:
        client.ping()
    return "ok"


def _ask_for_driver() -> str:
    if is_driver_seen():
        return "ok"
    return f"missing: none was seen within {SEEN_WITHIN.seconds} seconds"


def is_driver_seen() -> bool:
    """Whether anybody is there to drive runs."""
    return Driver.objects.filter(seen_at__gte=timezone.now() - SEEN_WITHIN).exists()
