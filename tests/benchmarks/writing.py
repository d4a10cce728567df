"""A process that writes events as fast as it can. It loads Django itself, so nothing here may need it before."""

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

TEXT = "The region grew by four per cent in the last quarter, most of it in the north. " * 8
WRITES_FOR_S = 4.0
READY_WITHIN_S = 60


def write(trail: str, entries: int, ready: Any, begin: Any, found: Any) -> None:
    """One writer, in a process of its own."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")
    import django

    django.setup()
    from apps.audit.log import Entry

    entry = Entry("step.succeeded", {"step": "s1", "attempt": 1, "worker": "bench", "tokens": 200}, {"result": TEXT})
    _append(trail, [entry] * entries)
    ready.wait(READY_WITHIN_S)
    begin.wait(READY_WITHIN_S)
    number, begun, computed = 0, time.time(), time.process_time()
    while time.time() < begun + WRITES_FOR_S:
        _append(trail, [entry] * entries)
        number += entries
    found.put((number, begun, time.time(), time.process_time() - computed))


def _append(trail: str, entries: Sequence[Any]) -> None:
    from django.db import transaction

    from apps.audit.log import Actor, append

    with transaction.atomic():
        by = Actor("driver", "bench", "bench")
        append(trail, entries, by=by, at=datetime.now(UTC), subject=trail, project="default")
