"""Erasing while others do something else with the same run, at the same moment: nothing comes back, nothing is lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.audit import log
from apps.audit.models import EventWords, Follower
from apps.audit.searching import keep_words
from apps.core.errors import StudioError
from apps.runs import drafts
from apps.runs.models import LegalHold, Run
from apps.runs.retention.applying import apply_policies
from apps.runs.retention.erasing import erase_run
from apps.runs.retention.holds import place_hold
from apps.runs.retention.policies import set_policy
from tests.factories import NOON
from tests.integration.retention.planted import LATER, WORD, forked, planted_run, where_is


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


def test_two_that_apply_the_same_policies_erase_each_run_once(admin: User) -> None:
    runs = [planted_run(admin, share=False) for _ in range(6)]
    assert admin.home_project is not None
    set_policy(project=admin.home_project, profile="", keep_days=30, reason="Agreed", by=admin, now=NOON)

    erased = at_once(*[lambda: list(apply_policies(now=LATER))] * 2)

    assert sorted(run.pk for each in erased for run in each) == [run.pk for run in runs]
    for run in runs:
        assert [event.verb for event in log.read(run.trail)].count("run.erased") == 1
        assert log.verify(run.trail).first_break is None
