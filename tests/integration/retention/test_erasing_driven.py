"""Erasing what a real driver wrote: streamed through Redis, with a rating, a correction and a sign-off beside it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log
from apps.runs import driver, experiments, services
from apps.runs import process as processes
from apps.runs.models import HEART_STOPPED_AFTER, Run
from apps.runs.process import Process
from apps.runs.rating import rate_result
from apps.runs.retention.erasing import erase_run
from apps.runs.reviewing import sign_off
from apps.workers.models import Profile
from tests.integration.retention.planted import WORD, keys_with, where_is
from tests.pools import admin, knobs, mini, pool, ultra, workflow

__all__ = ["admin", "knobs", "mini", "pool", "ultra"]

Drive = Callable[[Run], Run]


@pytest.fixture
def process() -> Iterator[Process]:
    started = processes.start()
    yield started
    started.close()


@pytest.fixture
def drive(process: Process) -> Drive:
    def to_the_end(run: Run) -> Run:
        driver.drive(run.pk, process)
        run.refresh_from_db()
        return run

    return to_the_end


def submitted(by: User, profile: Profile, **more: Any) -> Run:
    task = f"Which {WORD} grew most?\n\nRegion, {WORD}\nNorth, 3\nSouth, 5"
    return services.submit_run(task=task, profile=profile, by=by, now=timezone.now(), **more)


def test_nothing_of_a_run_is_left_in_tables_or_redis(admin: User, ultra: Profile, drive: Drive, redis_url: str) -> None:
    run = drive(submitted(admin, ultra))
    assert run.status == Run.Status.SUCCEEDED, run.error
    now = timezone.now()
    rate_result(run=run, score=2, correction=f"More {WORD}.", comment=f"Too little {WORD}", by=admin, now=now)
    sign_off(run=run, verdict="rejected", comment=f"No {WORD}", by=admin, now=now)
    client = redis.Redis.from_url(redis_url)
    assert keys_with(client), "what was streamed a moment ago is still there"
    assert {"runs_rating.correction", "runs_review.comment", "runs_attempt.sent"} <= where_is(WORD)

    erase_run(run=run, reason="Asked for", by=admin, now=now + HEART_STOPPED_AFTER * 2)

    assert where_is(WORD) == set()
    assert keys_with(client) == set()
    assert log.verify(run.trail).first_break is None


def test_what_a_vote_counted_goes_too(admin: User, mini: Profile, drive: Drive, redis_url: str) -> None:
    steps: list[tuple[str, str, str, list[str]]] = [
        (f"s{n}", f"Answer with the word {WORD} alone.", "sim-birch", []) for n in range(1, 4)
    ]
    voted = workflow(*steps, sink={"kind": "vote", "over": ["s1", "s2", "s3"]})
    run = drive(submitted(admin, mini, workflow=voted))
    assert run.answer_detail["counts"], "there was a vote"

    erase_run(run=run, reason="Asked for", by=admin, now=timezone.now() + HEART_STOPPED_AFTER * 2)

    assert where_is(WORD) == set()
    told = next(event for event in log.read(run.trail) if event.verb == "run.succeeded")
    assert sorted(told.data["detail"]["counts"]) == [str(n + 1) for n in range(len(run.answer_detail["counts"]))]


def test_a_call_that_failed_with_the_prompt_in_its_words_goes_too(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], redis_url: str
) -> None:
    knobs("sim-birch", "fail=400")
    run = drive(submitted(admin, mini, workflow=workflow(("s1", f"Weigh the {WORD}.", "sim-birch", []))))
    assert run.status == Run.Status.FAILED
    Run.objects.filter(pk=run.pk).update(error=f"{run.error} {WORD}")

    erase_run(run=run, reason="Asked for", by=admin, now=timezone.now() + HEART_STOPPED_AFTER * 2)

    assert where_is(WORD) == set()
    assert Run.objects.get(pk=run.pk).steps.get().status == "failed"


def test_an_experiments_forks_are_copies_and_go_with_it(
    admin: User, mini: Profile, drive: Drive, redis_url: str
) -> None:
    two = workflow(("s1", f"Find the {WORD}.", "sim-birch", []), ("s2", "Answer.", "sim-cedar", ["s1"]))
    run = drive(submitted(admin, mini, workflow=two))
    started = experiments.start_experiment(
        run=run, edges=[("s1", "s2")], baseline=True, limit_usd=run.cost_usd + 1, by=admin, now=timezone.now()
    )
    for variant in started.variants.exclude(fork=None):
        assert variant.fork is not None
        drive(variant.fork)
    experiments.go_on(experiment_id=started.pk, now=timezone.now())

    erased = erase_run(
        run=run, reason="Asked for", by=admin, now=timezone.now() + HEART_STOPPED_AFTER * 2, with_copies=True
    )

    assert len(erased) == 3
    assert where_is(WORD) == set()
    assert started.variants.filter(state="done").exists(), "what came of it, as figures, stays"
