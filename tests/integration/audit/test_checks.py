"""Checks: asked for once, carried out in a process of their own, kept, and an alarm until one passes."""

import subprocess
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from apps.audit import checks, log, rows, tasks
from apps.audit.anchors import seal_anchor
from apps.audit.checks import alarm, alarms, latest_check, open_check, start_check
from apps.audit.filters import outcome_of
from apps.audit.log import STUDIO, Entry, read, verify
from apps.audit.models import Check, Event
from apps.audit.signing import public_key_pem
from apps.audit.verification import Found
from tests.factories import told_in
from tests.integration.audit.trails import ADA, NOON, forgery, write

pytestmark = pytest.mark.django_db(transaction=True)
X = Entry("x")


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The checks for which a driver was asked."""
    rung: list[int] = []
    monkeypatch.setattr(tasks, "ring_for_check", rung.append)
    return rung


def carried_out(project: str | None = None, *, at: Any = None) -> Check:
    check = start_check(project=project, by=ADA, now=at or timezone.now())
    found = checks.carry_out(check.pk, now=timezone.now)
    assert found is not None
    return found


def write_in(project: str, trail: str, *entries: Entry) -> None:
    with transaction.atomic():
        log.append(trail, entries, by=ADA, at=NOON, subject=trail, project=project)


def plant_a_break(trail: str = "run:forged") -> None:
    broken = forgery(X, X, trail=trail)
    del broken.events[0]
    broken.plant()


# --- asking --------------------------------------------------------------------------------------------------------


def test_a_check_is_a_row_an_event_and_a_bell(rung: list[int]) -> None:
    check = start_check(project="default", by=ADA, now=NOON)

    assert (check.status, check.project, check.by_label) == (Check.Status.QUEUED, "default", "Ada")
    assert open_check("default") == check
    assert (open_check(None), latest_check("default")) == (None, None)
    assert rung == [check.pk]
    [event] = Event.objects.filter(trail__name="checks:default")
    assert (event.verb, event.subject, event.project, event.data) == (
        "check.started",
        f"check:{check.pk}",
        "default",
        {"check": check.pk},
    )


def test_whoever_asks_while_one_is_open_is_told_of_that_one(rung: list[int]) -> None:
    first = start_check(project=None, by=ADA, now=NOON)
    second = start_check(project=None, by=STUDIO, now=NOON)
    other = start_check(project="default", by=ADA, now=NOON)

    assert (second, rung) == (first, [first.pk, other.pk])
    assert len(told_in("checks")) == 2


def test_a_broker_that_is_down_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(tasks.carry_out_check, "apply_async", refuse)

    check = start_check(project=None, by=ADA, now=NOON)

    assert checks.left_behind(now=NOON + timedelta(minutes=1)) == []
    assert checks.left_behind(now=NOON + timedelta(minutes=3)) == [check.pk]


# --- carrying out --------------------------------------------------------------------------------------------------


def test_what_was_found_is_kept_and_told(rung: list[int]) -> None:
    write("run:a", X, X)
    [anchor] = seal_anchor(now=NOON)

    check = carried_out()

    assert (check.status, check.trails, check.events, check.broken) == (Check.Status.HOLDS, 3, 4, 0)
    assert (check.anchor, check.head) == (anchor.seq, anchor.hash)
    assert latest_check(None) == check
    assert (open_check(None), alarm(None), alarms()) == (None, None, [])
    last = read("checks")[-1]
    assert (last.verb, last.actor) == ("check.finished", ADA)
    assert (last.data["status"], last.data["events"], last.data["broken"]) == ("holds", 4, 0)
    assert verify("checks").first_break is None


def test_a_check_is_carried_out_once(rung: list[int]) -> None:
    check = start_check(project=None, by=ADA, now=NOON)

    assert checks.carry_out(check.pk, now=timezone.now) is not None
    assert checks.carry_out(check.pk, now=timezone.now) is None


def test_its_progress_is_seen_while_it_goes_on(rung: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "PAGE", 5)
    for number in range(4):
        write(f"run:{number}", *[X] * 5)
    seen: list[tuple[int, float]] = []

    def look() -> Any:
        if check := open_check(None):
            seen.append((check.events, round(check.share, 2)))
        return timezone.now()

    check = start_check(project=None, by=ADA, now=NOON)
    checks.carry_out(check.pk, now=look)

    assert [events for events, _ in seen] == sorted(events for events, _ in seen)
    assert seen[0] == (0, 0.0)
    assert 0 < seen[-1][1] <= 1
    assert len({events for events, _ in seen}) > 2


def test_a_check_of_all_trails_is_a_check_of_each_project(rung: list[int]) -> None:
    write_in("alpha", "run:a", X, X)
    write_in("beta", "run:b", X)
    plant_a_break()

    check = carried_out()

    assert check.status == Check.Status.BROKEN
    of_alpha, of_beta, of_default = (latest_check(project) for project in ("alpha", "beta", "default"))
    assert of_alpha
    assert of_beta
    assert of_default
    assert (of_alpha.status, of_alpha.trails, of_alpha.events) == (Check.Status.HOLDS, 1, 2)
    assert (of_beta.status, of_beta.trails, of_beta.events) == (Check.Status.HOLDS, 1, 1)
    assert (of_default.status, of_default.first_break) == (Check.Status.BROKEN, check.first_break)


def test_a_check_of_one_project_says_nothing_of_another(rung: list[int]) -> None:
    write_in("alpha", "run:a", X)
    plant_a_break()

    check = carried_out("alpha")

    assert (check.status, check.trails, check.breaks) == (Check.Status.HOLDS, 2, [])  # its run, and its checks
    assert latest_check(None) is None


# --- alarms --------------------------------------------------------------------------------------------------------


def test_an_alarm_stays_until_a_later_check_passes(rung: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    plant_a_break()
    broken = carried_out(at=NOON)
    assert outcome_of(read("checks")[-1].verb) == "failed"
    start_check(project=None, by=ADA, now=NOON + timedelta(hours=1))

    assert alarm(None) == broken
    assert [each.project for each in alarms()] == ["", "default"]

    opened = open_check(None)
    assert opened is not None
    checks.give_up(opened.pk, error="its process was ended", now=NOON)
    assert alarm(None) == broken

    holds = Found(None)
    holds.by_project["default"].trails = 1
    checks.keep(None, holds, by=ADA, started_at=NOON + timedelta(hours=2), now=NOON)

    assert (alarm(None), alarm("default"), alarms()) == (None, None, [])


# --- processes -----------------------------------------------------------------------------------------------------


def test_a_driver_carries_it_out_in_a_process_of_its_own(rung: list[int]) -> None:
    write("run:a", X)
    check = start_check(project=None, by=ADA, now=timezone.now())

    tasks.carry_out_check(check.pk)

    check.refresh_from_db()
    assert (check.status, check.trails, check.events) == (Check.Status.HOLDS, 2, 2)


def test_a_process_that_fails_leaves_a_check_that_is_over(rung: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    check = start_check(project=None, by=ADA, now=timezone.now())
    ended = subprocess.CompletedProcess([], returncode=-9, stdout="", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)

    tasks.carry_out_check(check.pk)

    check.refresh_from_db()
    assert (check.status, check.error) == (Check.Status.GIVEN_UP, "its process was ended")
    assert read("checks")[-1].verb == "check.given_up"
    assert start_check(project=None, by=ADA, now=timezone.now()) != check


def test_a_process_that_ended_in_an_error_of_its_own_is_told(rung: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    check = start_check(project=None, by=ADA, now=timezone.now())
    ended = subprocess.CompletedProcess([], returncode=1, stdout="", stderr="Traceback …\nDataError: too large\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)

    tasks.carry_out_check(check.pk)

    check.refresh_from_db()
    assert (check.status, check.error) == (Check.Status.GIVEN_UP, "Traceback …\nDataError: too large")


def test_one_whose_process_died_is_given_up_and_one_that_waits_is_rung_for_again(rung: list[int]) -> None:
    died = start_check(project=None, by=ADA, now=NOON)
    Check.objects.filter(pk=died.pk).update(status=Check.Status.RUNNING)
    waits = start_check(project="default", by=ADA, now=NOON)
    rung.clear()

    tasks.seal_anchors()

    died.refresh_from_db()
    assert died.status == Check.Status.GIVEN_UP
    assert rung == [waits.pk]


def test_each_hour_all_trails_are_checked_and_each_minute_anchored(rung: list[int], settings: Any) -> None:
    write("run:a", X)
    schedule = {each["task"]: each["schedule"] for each in settings.CELERY_BEAT_SCHEDULE.values()}

    tasks.seal_anchors()
    tasks.check_all()

    assert schedule["apps.audit.tasks.seal_anchors"] == 60
    assert schedule["apps.audit.tasks.check_all"] == 3600
    assert verify("anchors").events == 1
    asked = open_check(None)
    assert asked is not None
    assert (asked.by_label, rung) == ("the studio", [asked.pk])


# --- the command ---------------------------------------------------------------------------------------------------


def told(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    call_command("verify_trails", *options)
    return capsys.readouterr().out


def test_the_command_says_what_holds_and_keeps_it(capsys: pytest.CaptureFixture[str]) -> None:
    write("run:a", X, X)
    [anchor] = seal_anchor(now=NOON)

    said = told(capsys)

    assert said == f"3 events hold in 2 trails; none of them broken.\nThe newest anchor is 1: {anchor.hash}\n"
    kept = latest_check(None)
    assert kept is not None
    assert (kept.status, kept.by_label) == (Check.Status.HOLDS, "manage.py verify_trails")


def test_the_command_looks_at_one_trail_or_project_alone(capsys: pytest.CaptureFixture[str]) -> None:
    write_in("alpha", "run:a", X, X)
    plant_a_break()

    assert told(capsys, "--trail", "run:a") == "2 events hold in 1 trail; none of them broken.\n"
    assert latest_check(None) is None
    assert told(capsys, "--project", "alpha") == "2 events hold in 1 trail; none of them broken.\n"
    assert latest_check("alpha") is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--trail", "run:none"], "There is no trail run:none"),
        (["--anchors", "/nowhere/anchors.jsonl"], "--anchors: "),
        (["--public-key", "/nowhere/key.pem"], "--public-key: "),
    ],
)
def test_what_cannot_be_verified_exits_otherwise(options: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words) as raised:
        call_command("verify_trails", *options)

    assert raised.value.returncode == 2


def test_a_key_that_was_pinned_elsewhere_is_the_only_one_believed(tmp_path: Any, settings: Any) -> None:
    write("run:a", X)
    seal_anchor(now=NOON)
    pinned, other = tmp_path / "pinned.pem", tmp_path / "other.pem"
    pinned.write_text(public_key_pem())
    settings.READ_SIGNING_KEYS = lambda: ["22" * 32]
    other.write_text(public_key_pem())

    call_command("verify_trails", "--trail", "run:a", "--public-key", str(pinned))
    with pytest.raises(CommandError, match="signed with a key that is not the studio's"):
        call_command("verify_trails", "--trail", "run:a", "--public-key", str(other))
