"""Looking before a run goes on: pauses, breakpoints, a result written by hand, a plan revised or rejected.

Each is one transaction that leaves its events; a run is never changed under its driver.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Max, QuerySet

from apps.accounts.models import User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit.log import Entry
from apps.core.errors import Conflict, Invalid
from apps.runs import log
from apps.runs.models import Attempt, Run, Step
from apps.runs.purse import outermost
from apps.runs.services import announce, check_workflow
from apps.workers.calls import LONGEST_REPLY_CHARS, clean
from apps.workflows.flow import is_of_steps
from apps.workflows.workflow import Workflow

NEVER_WRITTEN = (Step.Status.RUNNING, Step.Status.SKIPPED, Step.Status.CANCELLED)


def pause_run(*, run: Run, by: User, now: datetime) -> Run:
    """Let no more models be called for `run`: what is under way ends, and then the run is held until it may go on.

    :raises Conflict: it has ended, is held already, or is part of another run.
    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    _check_outermost(run, "paused")
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if locked.is_ended or locked.status == Run.Status.HELD:
            raise Conflict(f"A run that is {locked.get_status_display().lower()} cannot be paused.")
        if not locked.pause_asked:
            Run.objects.filter(pk=run.pk).update(pause_asked=True)
            log.append(run, [Entry("run.pausing")], by=by.actor, at=now)
    announce(run)
    return Run.objects.get(pk=run.pk)


def set_breakpoints(*, run: Run, keys: Collection[str], by: User, now: datetime) -> Run:
    """Have the run pause before each of these steps begins, whenever that is.

    :raises Invalid: one is no step of the run. :raises Conflict: the run has ended, or is part of another run.
    :raises NotAllowed: the person may only look.
    """
    return _set_breakpoints(run, lambda _: keys, by=by, now=now)


def mark_step(*, run: Run, key: str, on: bool, by: User, now: datetime) -> Run:
    """Set a breakpoint at one step, or take it away, whatever others do at the same time with other steps.

    :raises Invalid: :raises Conflict: :raises NotAllowed: as `set_breakpoints`.
    """

    def change(known: Collection[str]) -> Collection[str]:
        return [*known, key] if on else [each for each in known if each != key]

    return _set_breakpoints(run, change, by=by, now=now)


def _set_breakpoints(run: Run, change: Callable[[Collection[str]], Collection[str]], *, by: User, now: datetime) -> Run:
    check_may(by, Deed.ACT, run.project)
    _check_outermost(run, "given breakpoints")
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if locked.is_ended:
            raise Conflict("This run has ended: nothing of it begins any more.")
        keys = change(locked.breakpoints)
        known = list(locked.steps.values_list("key", flat=True))
        if unknown := sorted(set(keys) - set(known)):
            raise Invalid(f"“{unknown[0][:40]}” is no step of this run.", field="steps")
        wanted = [key for key in known if key in keys]
        if wanted != locked.breakpoints:
            passed = [key for key in locked.passed if key in wanted]
            Run.objects.filter(pk=run.pk).update(breakpoints=wanted, passed=passed)
            log.append(run, [Entry("run.breakpoints", {"steps": wanted})], by=by.actor, at=now)
    announce(run)  # after the commit: whoever is rung must find it
    return Run.objects.get(pk=run.pk)


def _check_outermost(run: Run, done: str) -> None:
    """:raises Conflict: the run is carried out within another, and goes and rests with that."""
    if run.nested_in_id is not None:
        raise Conflict(f"A run within another cannot be {done}: go to run {outermost(run).code}.")


def write_result(*, run: Run, key: str, text: str, by: User, now: datetime, reason: str = "") -> Step:
    """Give a step of a held run a result written by hand, in the place of a worker's or before there is one.

    :raises Conflict: the run is not held, or a step that reads this one has begun. :raises Invalid: there is no text.
    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    text = clean(text).replace("\r\n", "\n").strip()
    if not text or len(text) > LONGEST_REPLY_CHARS:
        raise Invalid("This result is too long." if text else "Write the step's result.", field="text")
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if locked.status != Run.Status.HELD:
            raise Conflict("Pause the run first: a result is written by hand while nobody works on it.")
        step = locked.steps.filter(key=key).first()
        if step is None:
            raise Invalid(f"“{key[:40]}” is no step of this run.", field="step")
        _check_unread(locked, step)
        log.append(run, [_written(step, text, at=now, reason=reason)], by=by.actor, at=now)
    announce(run)
    return Step.objects.get(pk=step.pk)


def _written(step: Step, text: str, *, at: datetime, reason: str) -> Entry:
    """Make `text` the step's result, as an attempt that nobody was asked for; the event that says so."""
    attempt = Attempt.objects.create(
        run_id=step.run_id,
        step=step,
        number=(step.attempts.aggregate(last=Max("number"))["last"] or 0) + 1,
        worker="",
        status=Attempt.Status.WRITTEN,
        digest="",
        sent=[],
        text=text,
        cost_usd=Decimal(0),
        started_at=at,
        finished_at=at,
    )
    Step.objects.filter(pk=step.pk).update(status=Step.Status.WRITTEN, result=text, note="", finished_at=at)
    texts = {"result": text, "before": step.result, "reason": reason}
    given = {name: each for name, each in texts.items() if each}
    return Entry("step.written", {"step": step.key, "attempt": attempt.pk, "was": step.status}, given)


def can_write(*, run: Run, step: Step, steps: Sequence[Step]) -> bool:
    """Whether a person may give `step`, one of the run's `steps`, its result: the run is held, and nobody read one."""
    if run.status != Run.Status.HELD or step.status in NEVER_WRITTEN:
        return False
    return all(each.status == Step.Status.WAITING for each in steps if step.key in each.access)


def _check_unread(run: Run, step: Step) -> None:
    """:raises Conflict: the step's result was read already, or will never be asked for."""
    number = step.position + 1
    if step.status in NEVER_WRITTEN:
        raise Conflict(f"Step {number} is {step.get_status_display().lower()}: its result cannot be written.")
    readers = [each for each in run.steps.all() if step.key in each.access and each.status != Step.Status.WAITING]
    if readers:
        numbers = ", ".join(str(each.position + 1) for each in readers)
        raise Conflict(f"Step {numbers} has read this result already. Edit the run: what follows runs again then.")


def reject_run(*, run: Run, by: User, now: datetime, reason: str) -> Run:
    """Say no to a plan that is held for review: the run is over, and nobody was called for its steps.

    :raises Conflict: it is not held for review. :raises Invalid: no reason was given.
    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    if not reason.strip():
        raise Invalid("Say why: whoever asked wants to know.", field="reason")
    with transaction.atomic():
        log.move(run, Run.Status.CANCELLED, of=_in_review(run), hold="", finished_at=now)
        run.steps.filter(status=Step.Status.WAITING).update(status=Step.Status.CANCELLED, finished_at=now)
        log.append(run, [Entry("run.rejected", {}, {"reason": reason})], by=by.actor, at=now)
    announce(run)
    return run


def revise_run(*, run: Run, workflow: Workflow, by: User, now: datetime, reason: str = "") -> Run:
    """Put another workflow in the place of one that is held for review: nothing of it was carried out yet.

    So can one that flow rules hold before anything of it has begun: from then on it is held for review, and what was
    approved of its steps is approved no more.

    :raises WorkflowInvalid: a step or an edge breaks a rule. :raises Conflict: the run is not held for review.
    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    warnings = check_workflow(workflow, workers=run.pool)
    with transaction.atomic():
        held = Run.objects.select_for_update().get(pk=run.pk)
        if not can_revise(held):
            raise Conflict("This run is not held for review any more.")
        run.steps.all().delete()
        # Steps of the new one may have the keys of others that were approved.
        excepted = [name for name in held.excepted if not is_of_steps(name)]
        review = {"hold": Run.Hold.REVIEW, "held_by": {}, "excepted": excepted}
        Run.objects.filter(pk=run.pk).update(workflow_body=workflow.model_dump(mode="json"), **review)
        log.lay_out(run, workflow)
        adopted = log.adopted(workflow, by="review", warnings=warnings)
        texts = {**adopted.texts, **({"reason": reason} if reason else {})}
        log.append(run, [Entry(adopted.verb, adopted.data, texts)], by=by.actor, at=now)
    announce(run)
    return Run.objects.get(pk=run.pk)


def can_revise(run: Run) -> bool:
    """Whether the workflow of `run` itself may still be another one: nobody has begun to carry it out."""
    if run.status != Run.Status.HELD or run.nested_in_id is not None:
        return False
    if run.hold == Run.Hold.RULES:
        return run.workflow_body is not None and not run.steps.exclude(status=Step.Status.WAITING).exists()
    return run.hold in ("", Run.Hold.REVIEW)


def _in_review(run: Run) -> QuerySet[Run]:
    return Run.objects.filter(pk=run.pk, status=Run.Status.HELD, hold__in=["", Run.Hold.REVIEW])
