"""Every text that a model wrote leaves a track of when it was how long, in the statement that keeps the text."""

import time
from collections.abc import Callable
from itertools import pairwise
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import User
from apps.runs import driver
from apps.runs.models import Attempt, Proposal, Run
from apps.runs.process import Process
from apps.runs.services import fork_run, stop_run, submit_run
from apps.runs.tracks import Marks
from apps.workers.models import Profile
from tests.factories import Driving, chain, make_person, make_run
from tests.pools import workflow

Drive = Callable[[Run], Run]

ONE = workflow(("s1", "Describe it.", "sim-atlas", []))


def submit(admin: User, profile: Profile, **options: Any) -> Run:
    return submit_run(task="Describe a warehouse.", profile=profile, by=admin, now=timezone.now(), **options)


def track_of(call: Attempt | Proposal) -> Marks:
    track: Marks | None = call.track
    assert track is not None
    return track


def rises(track: Marks) -> bool:
    return all(a[0] <= b[0] and a[1] < b[1] for a, b in pairwise(track))


def test_a_text_that_streamed_has_a_track_from_its_first_token_to_its_last(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None]
) -> None:
    knobs("sim-atlas", "rate=200,tokens=60")

    attempt = drive(submit(admin, mini, workflow=ONE)).attempts.get()

    track = track_of(attempt)
    assert attempt.status == Attempt.Status.SUCCEEDED
    assert attempt.ttft_ms is not None
    assert attempt.finished_at is not None
    assert len(track) > 5
    assert rises(track)
    assert track[-1][1] == len(attempt.text)
    assert track[0][0] >= attempt.ttft_ms - 1  # it counts from when the attempt was written down, a little earlier
    lasted_ms = (attempt.finished_at - attempt.started_at).total_seconds() * 1000
    assert track[-1][0] <= lasted_ms + 1


def test_what_the_conductor_wrote_has_one_too(admin: User, ultra: Profile, drive: Drive) -> None:
    proposal = drive(submit(admin, ultra)).proposals.get()

    assert rises(track_of(proposal))
    assert track_of(proposal)[-1][1] == len(proposal.raw)


def test_a_call_that_was_cut_keeps_the_track_of_what_had_come(
    admin: User, mini: Profile, process: Process, knobs: Callable[..., None]
) -> None:
    knobs("sim-atlas", "rate=50,tokens=400")
    run = submit(admin, mini, workflow=ONE)
    driving = Thread(target=driver.drive, args=(run.pk, process))
    driving.start()
    while not process.held or not run.attempts.exists():
        time.sleep(0.01)
    time.sleep(0.5)
    stop_run(run=run, by=admin, now=timezone.now())
    process.held[run.pk][1]("stopped")  # as the pulse does
    driving.join(timeout=20)

    attempt = run.attempts.get()
    assert attempt.status == Attempt.Status.CUT
    assert track_of(attempt)[-1][1] == len(attempt.text) > 0


def test_a_call_that_failed_half_way_keeps_the_track_of_what_had_come(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None]
) -> None:
    knobs("sim-atlas", "rate=200,tokens=40,fail=cutx1")

    failed, answered = drive(submit(admin, mini, workflow=ONE)).attempts.all()

    assert failed.status == Attempt.Status.FAILED
    assert track_of(failed)[-1][1] == len(failed.text) > 0
    assert track_of(answered)[-1][1] == len(answered.text)


def test_a_result_that_was_taken_over_was_not_written_again_and_has_none(
    admin: User, mini: Profile, drive: Drive
) -> None:
    parent = drive(submit(admin, mini, workflow=ONE))

    child = drive(fork_run(parent=parent, workflow=ONE, by=admin, now=timezone.now()))

    reused = child.attempts.get()
    assert reused.status == Attempt.Status.REUSED
    assert reused.track is None


@pytest.mark.usefixtures("db")
def test_the_track_is_written_by_the_statement_that_writes_the_text() -> None:
    driving = Driving(make_run(by=make_person()))
    driving.plan(chain("Describe it"))
    attempt = driving.start("s1")
    attempt.track = [[410, 5], [500, 11]]

    with CaptureQueriesContext(connection) as asked:
        driving.answer("s1", attempt, "South grew.")

    writing = [query["sql"] for query in asked if "UPDATE runs_attempt" in query["sql"]]
    assert len(writing) == 1
    assert "track" in writing[0]
    assert Attempt.objects.get(pk=attempt.pk).track == [[410, 5], [500, 11]]
