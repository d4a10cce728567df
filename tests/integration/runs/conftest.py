"""A project with people and simulated workers, and a driver without a process of its own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import ensure_first_person
from apps.audit.log import Actor
from apps.runs import driver, tasks
from apps.runs import process as processes
from apps.runs.models import Run
from apps.runs.process import Process
from apps.workers.models import Profile, Worker
from apps.workers.services import ensure_simulated
from apps.workflows.workflow import Step, Workflow
from tests.simulators import Simulator


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs a driver was asked for, instead of a broker."""
    asked: list[int] = []
    monkeypatch.setattr(tasks, "ring_driver", asked.append)
    return asked


@pytest.fixture
def admin(committed_db: None, redis_url: str, rung: list[int]) -> User:
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def pool(admin: User, simulator: Simulator) -> str:
    """The simulator's workers without any delay, under their own slugs. Returns the simulator's base URL."""
    ensure_simulated(url=simulator.base_url, by=Actor("system", "test", "test"), now=timezone.now())
    for worker in Worker.objects.all():
        worker.model = f"{worker.slug}:ttft=0,rate=0"
        worker.save()
    return simulator.base_url


@pytest.fixture
def mini(pool: str) -> Profile:
    return Profile.objects.get(slug="studio-mini")


@pytest.fixture
def process() -> Iterator[Process]:
    started = processes.start()
    yield started
    started.close()


@pytest.fixture
def drive(process: Process) -> Callable[[Run], Run]:
    """Drive a run to its end, here and now."""

    def to_the_end(run: Run) -> Run:
        driver.drive(run.pk, process)
        run.refresh_from_db()
        return run

    return to_the_end


@pytest.fixture
def knobs(pool: str) -> Callable[..., None]:
    """Turn a worker's knobs: `knobs("sim-cedar", "fail=500x1")`."""

    def turn(slug: str, knob: str, **fields: Any) -> None:
        Worker.objects.filter(slug=slug).update(model=f"{slug}:ttft=0,rate=0,{knob}", **fields)

    return turn


def workflow(*steps: tuple[str, str, str, list[str]], **options: Any) -> Workflow:
    """`workflow(("s1", "Do this", "sim-atlas", []), …)`."""
    made = tuple(Step(key=k, instruction=i, worker=w, access=tuple(a)) for k, i, w, a in steps)
    return Workflow(steps=made, **options)
