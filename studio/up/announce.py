"""Loaded by a driver that `up` starts (`celery worker --include`): says when it takes runs."""

import os
from pathlib import Path
from typing import Any

from celery.signals import worker_ready


@worker_ready.connect
def announce(**_: Any) -> None:
    if path := os.environ.get("STUDIO_READY_FILE"):
        Path(path).touch()
