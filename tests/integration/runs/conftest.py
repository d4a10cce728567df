"""A driver without a process of its own: runs are driven here and now."""

from collections.abc import Callable, Iterator

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.runs import driver, tasks
from apps.runs import process as processes
from apps.runs.models import Run
from apps.runs.process import Process
from apps.workers.models import Conductor, FlowRule, Profile
from apps.workers.rules import add_rule, add_tag
from tests.integration.runs.drawn import Answering
from tests.pools import admin, knobs, mini, pool, ultra

__all__ = ["admin", "knobs", "mini", "pool", "ultra"]


@pytest.fixture(autouse=True)
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs a driver was asked for, instead of a broker."""
    asked: list[int] = []
    monkeypatch.setattr(tasks, "ring_driver", asked.append)
    return asked


@pytest.fixture
def process() -> Iterator[Process]:
    started = processes.start()
    yield started
    started.close()


@pytest.fixture
def gateway(process: Process, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """What a driver asks instead of endpoints, for tests that want it."""
    answering = Answering()
    monkeypatch.setattr(process, "gateway", answering)
    return answering


@pytest.fixture
def drive(process: Process) -> Callable[[Run], Run]:
    """Drive a run to its end, here and now."""

    def to_the_end(run: Run) -> Run:
        driver.drive(run.pk, process)
        run.refresh_from_db()
        return run

    return to_the_end


@pytest.fixture
def rule(admin: User, pool: str) -> FlowRule:
    """What carries `secret` may only be read by models with `trusted`."""
    project = admin.home_project
    assert project is not None
    for name in ("secret", "trusted"):
        add_tag(project=project, name=name, by=admin, now=timezone.now())
    return add_rule(project=project, carries="secret", needs="trusted", by=admin, now=timezone.now())


@pytest.fixture
def nesting(ultra: Profile) -> Profile:
    """A profile whose conductor may be given steps: each becomes a run within the run."""
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,seed=1")
    ultra.nesting = 1
    ultra.save()
    return ultra
