"""Erasing while others do something else with the same run, at the same moment: nothing comes back, nothing is lost."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.audit import log
from apps.audit.models import EventWords, Follower
from apps.audit.searching import keep_words
from apps.core.errors import StudioError
from apps.runs import drafts, services
from apps.runs.models import LegalHold, Run
from apps.runs.retention.applying import apply_policies
from apps.runs.retention.erasing import NotAtRest, erase_run
from apps.runs.retention.holds import place_hold
from apps.runs.retention.policies import set_policy
from tests.factories import NOON
from tests.integration.retention.planted import LATER, WORD, forked, planted_run, tried, where_is

WAIT_S = 20.0


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """What came of each, all begun at the same moment: a result, or the refusal."""
    start = Barrier(len(jobs))

    def do(job: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return job()
        except StudioError as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as threads:
        return list(threads.map(do, jobs))


@pytest.mark.parametrize("attempt", range(4))
def test_a_draft_that_is_saved_meanwhile_brings_nothing_back(admin: User, attempt: int) -> None:
    run = planted_run(admin)

    at_once(
        lambda: erase_run(run=run, reason="Asked for", by=admin, now=LATER),
        lambda: drafts.save_draft(run=run, body=f"{WORD} again", hold=drafts.Hold(editor="e2"), by=admin, now=LATER),
    )

    assert where_is(WORD) == set()


@pytest.mark.parametrize("attempt", range(4))
def test_the_audit_pages_search_that_reads_it_meanwhile_keeps_no_word(admin: User, attempt: int) -> None:
    run = planted_run(admin)
    EventWords.objects.all().delete()
    Follower.objects.all().delete()  # it reads the whole log anew

    at_once(lambda: erase_run(run=run, reason="Asked for", by=admin, now=LATER), keep_words, keep_words)

    assert where_is(WORD) == set()
    assert EventWords.objects.exists() or Follower.objects.exists(), "the log was read"


@pytest.mark.parametrize("attempt", range(4))
def test_a_hold_comes_before_or_too_late_and_never_in_between(admin: User, attempt: int) -> None:
    run = planted_run(admin)

    erased, held = at_once(
        lambda: erase_run(run=run, reason="Asked for", by=admin, now=LATER),
        lambda: place_hold(project=run.project, run=run, reason="Case 4711", by=admin, now=LATER),
    )

    assert isinstance(erased, StudioError) != isinstance(held, StudioError), "one of them won"
    assert Run.objects.get(pk=run.pk).is_erased == (not LegalHold.objects.exists())
    assert log.verify(run.trail).first_break is None


@pytest.mark.parametrize("attempt", range(4))
def test_a_fork_that_is_made_meanwhile_is_a_copy_or_is_refused(admin: User, attempt: int) -> None:
    run = planted_run(admin)

    at_once(
        lambda: erase_run(run=run, reason="Asked for", by=admin, now=LATER),
        lambda: forked(run, by=admin, now=LATER),
    )

    assert Run.objects.get(pk=run.pk).is_erased
    assert all(WORD in fork.task for fork in Run.objects.filter(parent=run)), "a copy is whole"


def test_a_fork_under_way_is_waited_for_by_whoever_erases_all_copies(admin: User) -> None:
    run = planted_run(admin)
    is_made = Event()

    def fork() -> Run:
        with transaction.atomic():
            made = forked(run, by=admin, now=LATER)
            is_made.set()
            _until_somebody_waits()
        return made

    def erase() -> list[Run]:
        is_made.wait(WAIT_S)
        return erase_run(run=run, reason="Asked for", by=admin, now=LATER, with_copies=True)

    made, refusal = at_once(fork, erase)

    assert isinstance(refusal, NotAtRest), "the fork is seen, and goes on"
    assert made.code in str(refusal)
    assert not Run.objects.get(pk=run.pk).is_erased, "all of it or nothing"


@pytest.mark.parametrize("attempt", range(4))
def test_copies_of_copies_that_are_made_meanwhile_keep_nobody_waiting_for_ever(admin: User, attempt: int) -> None:
    run = planted_run(admin)
    fork = forked(run, by=admin, now=NOON)
    services.stop_run(run=fork, by=admin, now=NOON)

    said = at_once(
        lambda: erase_run(run=run, reason="Asked for", by=admin, now=LATER, with_copies=True),
        lambda: forked(Run.objects.get(pk=fork.pk), by=admin, now=LATER),
        lambda: tried(run, by=admin, now=LATER),
    )

    assert any(isinstance(each, StudioError) for each in said), "they cannot all have their way"
    is_erased = Run.objects.get(pk=run.pk).is_erased
    assert (where_is(WORD) == set()) == is_erased, "all of it or nothing"


def _until_somebody_waits() -> None:
    """Until another session of this database waits for a lock."""
    waiting = (
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')"
    )
    until = time.monotonic() + WAIT_S
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits")


def test_two_that_apply_the_same_policies_erase_each_run_once(admin: User) -> None:
    runs = [planted_run(admin, share=False) for _ in range(6)]
    assert admin.home_project is not None
    set_policy(project=admin.home_project, profile="", keep_days=30, reason="Agreed", by=admin, now=NOON)

    erased = at_once(*[lambda: list(apply_policies(now=LATER))] * 2)

    assert sorted(run.pk for each in erased for run in each) == [run.pk for run in runs]
    for run in runs:
        assert [event.verb for event in log.read(run.trail)].count("run.erased") == 1
        assert log.verify(run.trail).first_break is None
