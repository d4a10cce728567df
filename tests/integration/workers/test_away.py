"""A start without the simulator offers nothing that only the simulator could answer; the next one has it back."""

import json

import pytest
from django.conf import LazySettings
from django.core.management import call_command

from apps.audit.log import read, verify
from apps.audit.models import Event
from apps.workers.models import Conductor, Profile, Worker
from apps.workers.services import TRAIL

pytestmark = pytest.mark.django_db


def start(settings: LazySettings, *, simulator: bool) -> None:
    settings.SIMULATOR_URL = "http://127.0.0.1:1/v1" if simulator else None
    call_command("ensure_defaults")


def enabled() -> set[str]:
    return {row.slug for kind in (Worker, Conductor, Profile) for row in kind.objects.filter(enabled=True)}


WORKERS = {"sim-atlas", "sim-birch", "sim-cedar", "sim-delta", "sim-embed"}
EVERYTHING = WORKERS | {"sim-conductor", "studio-ultra", "studio-mini"}


def test_a_start_without_the_simulator_switches_its_models_off_and_the_next_one_on_again(
    settings: LazySettings,
) -> None:
    start(settings, simulator=True)
    assert enabled() == EVERYTHING

    start(settings, simulator=False)
    assert enabled() == set()
    start(settings, simulator=False)
    start(settings, simulator=True)

    assert enabled() == EVERYTHING


def test_what_an_admin_switched_off_stays_off(settings: LazySettings) -> None:
    start(settings, simulator=True)
    Worker.objects.filter(slug="sim-delta").update(enabled=False)
    Profile.objects.filter(slug="studio-mini").update(enabled=False)

    start(settings, simulator=False)
    start(settings, simulator=True)

    assert enabled() == EVERYTHING - {"sim-delta", "studio-mini"}


def test_what_does_not_need_the_simulator_stays_on(settings: LazySettings) -> None:
    start(settings, simulator=True)
    mine = Worker.objects.create(slug="mine", name="Mine", model="m", base_url="http://vllm:8000/v1")
    mixed = Profile.objects.get(slug="studio-mini")
    mixed.workers.add(mine)
    Profile.objects.create(slug="anyone", name="Anyone", planner="direct")

    start(settings, simulator=False)

    assert enabled() == {"mine", "studio-mini", "anyone"}


def test_both_leave_events(settings: LazySettings) -> None:
    start(settings, simulator=True)
    before = len(read(TRAIL))

    start(settings, simulator=False)
    start(settings, simulator=True)

    told = read(TRAIL)[before:]
    assert [event.verb for event in told] == [
        *["worker.changed"] * 5,
        "conductor.changed",
        *["profile.changed"] * 2,
    ] * 2
    assert told[0].data == {"worker": "sim-atlas", "fields": ["enabled"]}
    assert [json.loads(told[0].texts[name] or "") for name in ("before", "after")] == [
        {"enabled": True},
        {"enabled": False},
    ]
    assert {event.actor.label for event in told} == {"up"}
    assert verify(TRAIL).first_break is None


def test_a_new_address_of_the_simulator_is_told_of(settings: LazySettings) -> None:
    start(settings, simulator=True)
    before = len(read(TRAIL))
    settings.SIMULATOR_URL = "http://127.0.0.1:2/v1"

    call_command("ensure_defaults")

    told = read(TRAIL)[before:]
    assert [event.verb for event in told] == [*["worker.changed"] * 5, "conductor.changed"]
    assert told[0].data["fields"] == ["base_url"]


def test_a_start_that_changes_nothing_leaves_no_event(settings: LazySettings) -> None:
    start(settings, simulator=True)
    before = Event.objects.count()

    start(settings, simulator=True)

    assert Event.objects.count() == before
