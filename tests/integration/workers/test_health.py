"""Looking at conductors: free of charge, kept with since when, and an event where it changes."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit import log
from apps.audit.log import STUDIO
from apps.workers.health import Look, keep, look_at_conductors
from apps.workers.models import Conductor, Health
from tests.integration.runs.conftest import admin, pool, ultra
from tests.simulators import Simulator

__all__ = ["admin", "pool", "ultra"]

EVERY = timedelta(seconds=30)

pytestmark = pytest.mark.usefixtures("ultra")


def looked() -> Health:
    look_at_conductors(by=STUDIO, now=timezone.now())
    return Health.objects.get()


def test_a_conductor_that_answers_is_up_and_no_model_is_called(simulator: Simulator) -> None:
    found = looked()

    assert (found.is_up, found.error) == (True, "")
    assert found.latency_ms is not None
    assert simulator.log() == []


def test_a_conductor_behind_a_dead_port_is_down_and_it_is_said_why() -> None:
    Conductor.objects.update(base_url="http://127.0.0.1:9/v1")

    found = looked()

    assert not found.is_up
    assert "cannot connect" in found.error


def test_a_model_the_endpoint_does_not_serve_is_named() -> None:
    Conductor.objects.update(adapter="my-adapter")

    found = looked()

    assert not found.is_up
    assert "not my-adapter" in found.error
    assert "sim-" in found.error, "it says what is served instead"


def test_what_is_no_list_of_models_is_said(simulator: Simulator) -> None:
    Conductor.objects.update(base_url=f"{simulator.root}/log?x=/")

    assert not looked().is_up


def test_only_a_change_is_an_event_and_since_says_when_it_came() -> None:
    conductor, first = Conductor.objects.get(), timezone.now()
    up, down = Look(3.0), Look(error="cannot connect")

    kept = [
        keep(conductor, look, by=STUDIO, now=first + number * EVERY)
        for number, look in enumerate([up, up, down, down, up])
    ]

    verbs = [event.verb for event in log.read("pool") if event.verb.startswith("conductor.")]
    assert verbs[-2:] == ["conductor.went-down", "conductor.came-up"]
    assert [each.since for each in kept][-1] == first + 4 * EVERY


def test_a_conductor_that_is_switched_off_is_not_looked_at() -> None:
    Conductor.objects.update(enabled=False)

    assert look_at_conductors(by=STUDIO, now=timezone.now()) == []
