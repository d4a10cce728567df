"""Reuse is never wrong: a fork, whatever was edited, comes to what a fresh run comes to, and calls only what it must.

Workers answer the same to the same, so there is one right result of every step. The oracle here knows nothing of
digests: it remembers, word for word, what was asked in the lineage and answered.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.runs.holding import set_breakpoints, write_result
from apps.runs.models import Run, Step
from apps.runs.services import fork_run, go_on, preview_fork, submit_run
from apps.workers.models import Fallback, Profile, Worker
from apps.workflows.prompt import Accessed, worker_messages
from apps.workflows.workflow import Workflow
from tests.integration.runs.drawn import INSTRUCTIONS, WORKERS, Answering, answer, edited, workflows
from tests.pools import workflow

Drive = Callable[[Run], Run]
Call = tuple[str, str]  # the model, and the prompt

TASK = "Which of the two?"


@dataclass
class Expected:
    """What a workflow comes to by itself, and the calls that cannot be spared."""

    results: dict[str, str] = field(default_factory=dict)
    calls: Counter[Call] = field(default_factory=Counter)
    failed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)


@dataclass
class Lineage:
    """What was asked for each step in a lineage, of whom in the first place, and answered by them or in their stead."""

    answered: dict[tuple[str, Call], set[str]] = field(default_factory=dict)  # the models whose answer there is

    def expect(
        self, flow: Workflow, chains: dict[str, list[str]], *, fresh: Collection[str], written: dict[str, str]
    ) -> Expected:
        """Carry `flow` out on paper, and remember what was answered. `chains`: of each worker, the models to ask."""
        expected = Expected()
        for step in flow.steps:
            if step.key in written:
                expected.results[step.key] = written[step.key]
            elif any(source not in expected.results for source in step.access):
                expected.skipped.add(step.key)
            else:
                self._carry(flow, step.key, chains[step.worker], expected, is_fresh=step.key in fresh)
        return expected

    def _carry(self, flow: Workflow, key: str, chain: list[str], expected: Expected, *, is_fresh: bool) -> None:
        content = prompt_of(flow, key, expected.results)
        said = [(model, answer(model, content)) for model in chain]
        refused = next((at for at, (_, text) in enumerate(said) if text is not None), len(said))
        known = self.answered.setdefault((key, (chain[0], content)), set())
        if is_fresh or not known & set(chain):
            expected.calls.update((model, content) for model, _ in said[: refused + 1])
        if refused < len(said):
            model, text = said[refused]
            expected.results[key] = str(text)
            known.add(model)
            self.answered.setdefault((key, (model, content)), set()).add(model)
        else:
            expected.failed.add(key)
            if flow.on_failure == "empty":
                expected.results[key] = ""


def prompt_of(flow: Workflow, key: str, results: dict[str, str]) -> str:
    step = flow.step(key)
    accessed = [
        Accessed(source, flow.position(source), flow.step(source).instruction, results[source])
        for source in step.access
    ]
    sent = worker_messages(task=TASK, instruction=step.instruction, accessed=accessed, show_task=flow.show_task)
    return sent.messages[0]["content"]


def chains_now() -> dict[str, list[str]]:
    """Of each worker, the models that are asked one after the other, as they are set now."""
    workers = {worker.slug: worker for worker in Worker.objects.prefetch_related("fallbacks__instead")}
    return {
        slug: [worker.model, *(each.instead.model for each in worker.fallbacks.all())]
        for slug, worker in workers.items()
    }


def outcome_of(run: Run) -> dict[str, Any]:
    """What came of a run, but not what it took."""
    done = {step.key: step.result for step in run.steps.all() if step.status in Step.DONE}
    others = {step.key: step.status for step in run.steps.all() if step.status not in Step.DONE}
    return {
        "status": run.status,
        "results": done,
        "others": others,
        "answer": (run.answer, run.answer_step, run.answer_rule, run.answer_detail),
    }


def written_by_hand(run: Run, drive: Drive, admin: User) -> dict[str, str]:
    """Where the run pauses before a step, that step's result is written by hand; then it goes on to its end."""
    if run.status != Run.Status.HELD:
        return {}
    [key] = run.breakpoints
    write_result(run=run, key=key, text="by hand", by=admin, now=timezone.now())
    go_on(run=run, by=admin, now=timezone.now())
    drive(run)
    return {key: "by hand"}


def check(run: Run, expected: Expected, asked: list[Call]) -> None:
    """The run's rows and its calls are the expected ones."""
    steps = {step.key: step for step in run.steps.all()}
    done = {key: step.result for key, step in steps.items() if step.status in Step.DONE}
    assert done == {key: text for key, text in expected.results.items() if key not in expected.failed}
    assert {key for key, step in steps.items() if step.status == Step.Status.FAILED} == expected.failed
    assert {key for key, step in steps.items() if step.status == Step.Status.SKIPPED} == expected.skipped
    assert Counter(asked) == expected.calls


@dataclass(frozen=True)
class Turn:
    """One run of a lineage, as it is drawn."""

    parent: int | None  # the turn it is forked from
    flow: Workflow
    fresh: frozenset[str]
    changes: str  # the worker behind which another model stands from now on; empty: none
    pauses: str  # the step before which it pauses; empty: it does not


@st.composite
def turns(draw: st.DrawFn) -> list[Turn]:
    """A run, and a few forks of it or of one another."""
    first = Turn(None, draw(workflows(INSTRUCTIONS)), frozenset(), "", "")
    made = [replace(first, pauses=draw(st.just("") | st.sampled_from(first.flow.keys)))]
    for _ in range(draw(st.integers(1, 2))):
        parent = draw(st.integers(0, len(made) - 1))
        flow = edited(draw, made[parent].flow, INSTRUCTIONS)
        fresh = draw(st.frozensets(st.sampled_from(flow.keys), max_size=1))
        changes = draw(st.sampled_from(["", "", "", *WORKERS]))
        pauses = draw(st.sampled_from(["", "", *flow.keys]))
        made.append(Turn(parent, flow, fresh, changes, pauses))
    return made


# Drawn before anything runs; but a database pool's threads, too, use the `random` that hypothesis watches.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lineage=turns(), stands_in=st.sampled_from([True, True, False]))
def test_a_fork_comes_to_what_a_fresh_run_comes_to_and_calls_only_whose_request_is_new(
    lineage: list[Turn], stands_in: bool, admin: User, mini: Profile, drive: Drive, gateway: Answering
) -> None:
    Fallback.objects.all().delete()
    for slug in WORKERS:
        Worker.objects.filter(slug=slug).update(model=slug)
    if stands_in:
        birch, cedar = (Worker.objects.get(slug=slug) for slug in ("sim-birch", "sim-cedar"))
        Fallback.objects.create(worker=birch, instead=cedar)
    on_paper, runs = Lineage(), list[Run]()
    for number, turn in enumerate(lineage):
        Worker.objects.filter(slug=turn.changes).update(model=f"{turn.changes}-{number}")
        flow, fresh, now = turn.flow, tuple(turn.fresh), timezone.now()
        gateway.asked.clear()

        if turn.parent is None:
            run, foretold = submit_run(task=TASK, profile=mini, by=admin, now=now, workflow=flow), []
        else:
            parent = runs[turn.parent]
            foretold = preview_fork(parent=parent, workflow=flow, fresh=fresh)
            run = fork_run(parent=parent, workflow=flow, by=admin, now=now, fresh=fresh)
        if turn.pauses:
            set_breakpoints(run=run, keys=[turn.pauses], by=admin, now=now)
        drive(run)
        written = written_by_hand(run, drive, admin)

        check(run, on_paper.expect(flow, chains_now(), fresh=turn.fresh, written=written), gateway.asked)
        reused = set(run.steps.filter(status=Step.Status.REUSED).values_list("key", flat=True))
        assert {each.step for each in foretold if each.verdict == "reuse"} <= reused
        if not written:
            alone = drive(submit_run(task=TASK, profile=mini, by=admin, now=now, workflow=flow))
            assert outcome_of(run) == outcome_of(alone)
        runs.append(run)


def test_what_a_person_wrote_is_never_taken_for_a_workers_answer(
    admin: User, mini: Profile, drive: Drive, gateway: Answering
) -> None:
    flow = workflow(("s1", "plain 1", "sim-atlas", []), ("s2", "plain 2", "sim-birch", ["s1"]))
    parent = submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=flow)
    set_breakpoints(run=parent, keys=["s1"], by=admin, now=timezone.now())
    assert written_by_hand(drive(parent), drive, admin) == {"s1": "by hand"}

    fork = drive(fork_run(parent=parent, workflow=flow, by=admin, now=timezone.now()))
    alone = drive(submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=flow))

    assert "by hand" in parent.attempts.get(step__key="s2").sent[0]["content"]
    assert outcome_of(fork) == outcome_of(alone)
    assert set(fork.steps.values_list("status", flat=True)) == {Step.Status.SUCCEEDED}


def test_what_a_worker_answered_for_itself_is_not_taken_for_the_one_it_may_stand_in_for(
    admin: User, mini: Profile, drive: Drive, gateway: Answering
) -> None:
    birch, cedar = (Worker.objects.get(slug=slug) for slug in ("sim-birch", "sim-cedar"))
    Fallback.objects.create(worker=birch, instead=cedar)
    by_cedar, by_birch = (workflow(("s1", "plain 1", slug, [])) for slug in ("sim-cedar", "sim-birch"))
    parent = drive(submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=by_cedar))

    fork = drive(fork_run(parent=parent, workflow=by_birch, by=admin, now=timezone.now()))

    assert [model.split(":")[0] for model, _ in gateway.asked] == ["sim-cedar", "sim-birch"]
    assert fork.answer != parent.answer


def test_of_several_who_stood_in_the_one_is_taken_who_still_does(
    admin: User, mini: Profile, drive: Drive, gateway: Answering
) -> None:
    birch, cedar = (Worker.objects.get(slug=slug) for slug in ("sim-birch", "sim-cedar"))
    Fallback.objects.create(worker=birch, instead=cedar)
    flow = workflow(("s1", "absent 1", "sim-birch", []))
    parent = drive(submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=flow))
    Worker.objects.filter(slug="sim-cedar").update(model="sim-cedar-2")
    by_another = drive(fork_run(parent=parent, workflow=flow, by=admin, now=timezone.now()))
    gateway.asked.clear()

    fork = drive(fork_run(parent=parent, workflow=flow, by=admin, now=timezone.now()))

    assert by_another.answer != parent.answer
    assert (gateway.asked, fork.answer) == ([], by_another.answer)
