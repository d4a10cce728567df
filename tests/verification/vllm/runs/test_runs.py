"""Whole runs whose conductor is a model on real vLLM: planned, carried out, failed, stopped, and through its death."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.verification import verify
from apps.runs import driver
from apps.runs.live import text_so_far
from apps.runs.models import Proposal, Run
from apps.runs.process import Process
from apps.runs.services import stop_run, submit_run
from apps.workers.models import Conductor, Profile
from tests.verification.vllm.asking import TASK
from tests.verification.vllm.serving import Server, wait_until

Drive = Callable[[Run], Run]
SLOW = {"max_tokens": 12_000, "min_tokens": 8_000}
"""Parameters that keep vLLM writing three lists long enough to be caught at it."""


def submit(admin: User, profile: Profile) -> Run:
    return submit_run(task=TASK, profile=profile, by=admin, now=timezone.now(), seed=1)


@contextmanager
def driving(run: Run, process: Process) -> Iterator[Thread]:
    """The run driven in a thread of its own, so that things can happen meanwhile."""

    def drive() -> None:
        driver.drive(run.pk, process)
        connection.close()

    thread = Thread(target=drive)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(timeout=180)
        assert not thread.is_alive()
        run.refresh_from_db()


def change(profile: Profile, *, tries: int = 3, **conductor: Any) -> None:
    """Another conductor, or more patience with it, for the runs that are submitted from now on."""
    Conductor.objects.filter(profile=profile).update(**conductor)
    Profile.objects.filter(pk=profile.pk).update(tries=tries)
    profile.refresh_from_db()


def wait_until_text_comes(run: Run, process: Process) -> None:
    """Wait until a person who looks at the run sees the model write."""

    def is_shown() -> bool:
        proposal = run.proposals.first()
        if proposal is None:
            return False
        reading = text_so_far(process.client, proposal.stream)
        return len(asyncio.run_coroutine_threadsafe(reading, process.loop).result(timeout=10)) > 20

    wait_until(is_shown, within_s=60, what="the model's text is shown")


def test_a_run_is_planned_by_the_model_and_carried_out_by_the_workers(
    admin: User, ultra: Profile, conductor: Conductor, drive: Drive
) -> None:
    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert run.answer
    proposal = run.proposals.get(status=Proposal.Status.VALID)
    assert proposal.conductor == conductor.slug
    assert proposal.raw.startswith('{"thinking":')
    assert proposal.input_tokens > 500
    assert proposal.output_tokens > 0
    assert run.workflow is not None
    assert run.attempts.get().step.instruction == run.workflow.steps[0].instruction
    assert not run.cost_unknown
    assert verify(run.trail).first_break is None


def test_nonsense_fails_the_run_clearly_and_every_word_of_it_is_kept(
    admin: User, ultra: Profile, conductor: Conductor, drive: Drive
) -> None:
    change(ultra, encoding="lists", attempts=2, params={"max_tokens": 80})

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.FAILED
    assert "another profile" in run.error
    assert [proposal.status for proposal in run.proposals.all()] == [Proposal.Status.INVALID] * 2
    assert all(proposal.raw and proposal.problems for proposal in run.proposals.all())
    assert run.attempts.count() == 0


def test_stopping_a_run_stops_the_model_in_mid_plan(
    admin: User, ultra: Profile, conductor: Conductor, process: Process, server: Server
) -> None:
    change(ultra, encoding="lists", params=SLOW)
    run = submit(admin, ultra)
    with driving(run, process):
        wait_until_text_comes(run, process)
        stop_run(run=run, by=admin, now=timezone.now())
        process.held[run.pk][1]("stopped")  # as the pulse does
        assert wait_until(lambda: server.running == 0, within_s=10, what="the model has stopped") < 3

    proposal = run.proposals.get()
    assert run.status == Run.Status.CANCELLED
    assert proposal.status == Proposal.Status.CUT
    assert proposal.raw


def test_a_server_killed_in_mid_plan_is_asked_again_when_it_is_back_and_the_run_goes_on(
    admin: User, ultra: Profile, conductor: Conductor, process: Process, server: Server
) -> None:
    """The retries, ever further apart, outlast the seconds that vLLM needs to load."""
    change(ultra, tries=12)
    run = submit(admin, ultra)
    with driving(run, process):
        wait_until_text_comes(run, process)
        server.kill()

    states = list(run.proposals.values_list("status", flat=True))
    assert run.status == Run.Status.SUCCEEDED, run.error
    assert states[0] == Proposal.Status.FAILED
    assert run.proposals.all()[0].raw, "what had been written is kept"
    assert states[-1] == Proposal.Status.VALID
    assert verify(run.trail).first_break is None


def test_a_server_that_stays_away_fails_the_run_by_name_and_the_next_run_succeeds(
    admin: User, ultra: Profile, conductor: Conductor, process: Process, drive: Drive, server: Server
) -> None:
    change(ultra, encoding="lists", params=SLOW, tries=2)
    run = submit(admin, ultra)
    with driving(run, process):
        wait_until_text_comes(run, process)
        server.kill()

    assert run.status == Run.Status.FAILED
    assert run.error.startswith("Tiny on vLLM could not be asked: ")
    first, second = run.proposals.all()
    assert (first.status, second.status) == (Proposal.Status.FAILED, Proposal.Status.FAILED)
    assert first.raw, "what had been written is kept"
    assert not second.raw

    server.wait_until_healthy()
    change(ultra, encoding="json", params=conductor.params)
    again = drive(submit(admin, ultra))
    assert again.status == Run.Status.SUCCEEDED, again.error
