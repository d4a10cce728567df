"""Fixtures of a studio with people and simulated workers, without pages: for the tests of runs."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import ensure_first_person
from apps.audit.log import Actor
from apps.workers.models import Profile, Worker
from apps.workers.services import ensure_simulated
from apps.workflows.workflow import Step, Workflow
from tests.simulators import Simulator


@pytest.fixture
def admin(committed_db: None, redis_url: str) -> User:
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
    """The profile that plans nothing, with the whole pool for workflows that are given."""
    profile = Profile.objects.get(slug="studio-mini")
    profile.workers.clear()
    return profile


@pytest.fixture
def ultra(pool: str) -> Profile:
    return Profile.objects.get(slug="studio-ultra")


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
