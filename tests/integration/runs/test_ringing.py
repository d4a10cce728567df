"""Ringing for drivers: with the broker gone or dumb, with full houses, and no more often than helps."""

import socket
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from celery import current_app
from django.utils import timezone

from apps.accounts.models import User
from apps.runs import tasks
from apps.runs.models import Run
from apps.runs.process import Process, Sweeper
from apps.runs.services import submit_run
from apps.workers.models import Profile


@pytest.fixture
def dumb_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A broker that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        tasks._publisher.cache_clear()
        monkeypatch.setattr(current_app.conf, "broker_url", url)
        monkeypatch.setattr(current_app.conf, "broker_write_url", url)
        yield
        tasks._publisher.cache_clear()


def test_a_broker_that_never_answers_is_given_up_on_soon(dumb_broker: None) -> None:
    began = time.monotonic()

    tasks.ring_driver(1)

    assert time.monotonic() - began < 8


def queued(admin: User, mini: Profile, count: int) -> list[int]:
    long_ago = timezone.now() - timedelta(minutes=1)
    runs = [submit_run(task=f"Task {number}.", profile=mini, by=admin, now=long_ago) for number in range(count)]
    return [run.pk for run in runs]


def test_a_run_is_rung_for_ever_less_often(admin: User, mini: Profile, process: Process, rung: list[int]) -> None:
    (run,) = queued(admin, mini, 1)
    rung.clear()
    sweeper, now = Sweeper(process), timezone.now()

    for second in range(0, 60, 2):
        sweeper.sweep(now + timedelta(seconds=second), queued=0)

    assert rung == [run] * 4  # at once, then after 5, 15 and 35 seconds


def test_what_the_queue_holds_already_is_not_rung_for_again(
    admin: User, mini: Profile, process: Process, rung: list[int]
) -> None:
    runs = queued(admin, mini, 3)
    rung.clear()

    Sweeper(process).sweep(timezone.now(), queued=2)

    assert rung == runs[2:]


def test_a_run_that_is_driven_is_not_rung_for(admin: User, mini: Profile, process: Process, rung: list[int]) -> None:
    (run,) = queued(admin, mini, 1)
    rung.clear()
    Run.objects.filter(pk=run).update(status=Run.Status.RUNNING, heart_at=timezone.now())

    Sweeper(process).sweep(timezone.now(), queued=0)

    assert rung == []
