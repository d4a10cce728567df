"""The Celery application: a driver is `celery -A studio worker -P threads`."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_ready, worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")

app = Celery("studio")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def start_driving(**_: Any) -> None:
    """A driver's heart beats, and it looks for runs nobody drives, before the first message comes."""
    from apps.runs.process import this_process

    this_process()


@worker_shutting_down.connect
def let_go_of_runs(**_: Any) -> None:
    """A driver that is asked to end lets go of its runs, so that another can take them at once."""
    from apps.runs import process

    if running := process.current():
        running.end()
