"""Ratings and corrections of results, kept for evaluation and training: of a run's answer, or of what a step said."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit.log import JSON, Entry
from apps.core.errors import Conflict, Invalid
from apps.runs import log
from apps.runs.models import Attempt, Rating, Run, Step
from apps.runs.models.reviewed import HIGHEST, LOWEST
from apps.runs.services import announce
from apps.workers.calls import LONGEST_REPLY_CHARS, clean

LONGEST_COMMENT = 10_000
CHUNK = 500  # ratings held in memory at once
GIVES = (Attempt.Status.SUCCEEDED, Attempt.Status.REUSED, Attempt.Status.WRITTEN)  # a step its result


class NoResult(Conflict):
    """There is nothing to be rated."""


def rate_result(
    *,
    run: Run,
    score: int,
    by: User,
    now: datetime,
    step: str = "",
    attempt: int | None = None,
    correction: str = "",
    comment: str = "",
) -> Rating:
    """Keep what `by` thinks of the run's answer, or of the result of `step`: from 1, useless, to 5, as it should be.

    A step whose result somebody wrote over has had several: `attempt` is the id of the one that is meant, else the
    last is. A `correction` is the whole text as it should have been. Who rates once more changes their mind.

    :raises NotAllowed: `by` may not act in the project. :raises NoResult: there is none, or it was erased.
    :raises Invalid: no such score or step, or a text that is too long.
    """
    check_may(by, Deed.ACT, run.project)
    if not LOWEST <= score <= HIGHEST:
        raise Invalid(f"Choose from {LOWEST}, useless, to {HIGHEST}, as it should be.", field="score")
    with transaction.atomic():
        locked = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run.pk)
        rated, result, text = _meant(locked, step, attempt)
        said = {
            "score": score,
            "correction": _text(correction, text, most=LONGEST_REPLY_CHARS, field="correction"),
            "comment": _text(comment, "", most=LONGEST_COMMENT, field="comment"),
        }
        before = Rating.objects.filter(run=locked, attempt=result, by=by).first()
        if before is not None and said == {name: getattr(before, name) for name in said}:
            return before
        kept = {**said, "updated_at": now}
        rating, _ = Rating.objects.update_or_create(
            run=locked, attempt=result, by=by, defaults=kept, create_defaults={**kept, "step": rated, "created_at": now}
        )
        log.append(locked, [_told(rating, step, before)], by=by.actor, at=now)
    announce(run)
    return rating


def withdraw_rating(*, run: Run, by: User, now: datetime, step: str = "", attempt: int | None = None) -> bool:
    """Take back what `by` said of the run's answer, or of the result of `step`. False where they had said nothing.

    Of several results that the step has had `attempt` names one, else the last is meant.

    :raises NotAllowed: `by` may not act in the project.
    """
    check_may(by, Deed.ACT, run.project)
    with transaction.atomic():
        locked = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run.pk)
        result = _attempt(locked.steps.filter(key=step).first(), attempt) if step else None
        if step and result is None:
            return False
        rating = Rating.objects.filter(run=locked, attempt=result, by=by).first()
        if rating is None:
            return False
        data = {**_about(rating, step), "was": rating.score}
        rating.delete()
        log.append(locked, [Entry("result.unrated", data)], by=by.actor, at=now)
    announce(run)
    return True


@dataclass(frozen=True)
class Rated:
    """What somebody thought of one result, with all that led to it."""

    run: str
    step: str  # empty: the run's answer
    profile: str
    worker: str  # who gave the step's result; empty for one that a person wrote, and for the run's answer
    task: str
    asked: str  # the step's instruction; of an answer the task
    result: str
    score: int
    correction: str
    comment: str
    by: int  # the person's id
    at: datetime


def ratings_for(project: Project, *, since: datetime | None = None) -> Iterator[Rated]:
    """Every rating of a result of `project`, oldest first, as evaluation and training read them.

    Each stands with the text that was rated, and with whoever gave that, also where a person has written over it since.

    With `since` only those that were made or changed from then on; none of a run that was erased.
    """
    rows = Rating.objects.in_project(project).filter(run__erased_at=None).order_by("pk")
    rows = rows.select_related("run", "step", "attempt").defer("attempt__sent", "attempt__track")
    if since is not None:
        rows = rows.filter(updated_at__gte=since)
    for rating in rows.iterator(chunk_size=CHUNK):
        run, step, result = rating.run, rating.step, rating.attempt
        yield Rated(
            run=run.code,
            step=step.key if step else "",
            profile=run.profile,
            worker=result.worker if result else "",
            task=run.task,
            asked=step.instruction if step else run.task,
            result=result.text if result else run.answer,
            score=rating.score,
            correction=rating.correction,
            comment=rating.comment,
            by=rating.by_id,
            at=rating.updated_at,
        )


def result_of(step: Step) -> Attempt | None:
    """The call, or what a person wrote in the place of one, that gave the step the result it has; None: it has none."""
    return _attempt(step, None)


def _attempt(step: Step | None, pk: int | None) -> Attempt | None:
    """The one of the step's results that has this id; without one the last."""
    if step is None or step.status not in Step.DONE:
        return None
    given = step.attempts.filter(status__in=GIVES)
    return given.order_by("-number").first() if pk is None else given.filter(pk=pk).first()


def _meant(run: Run, key: str, pk: int | None) -> tuple[Step | None, Attempt | None, str]:
    """What is rated: the step and the attempt that gave its result, or neither for the answer; and its text."""
    if run.erased_at is not None:
        raise NoResult("The texts of this run were erased: there is nothing left to rate.")
    if not key:
        if run.status != Run.Status.SUCCEEDED:
            raise NoResult("This run has no answer that could be rated.")
        return None, None, run.answer
    step = run.steps.filter(key=key).first() if "\0" not in key else None
    if step is None:
        raise Invalid(f"“{key[:40]}” is no step of this run.", field="step")
    result = _attempt(step, pk)
    if result is None:
        what = "result" if pk is None else "such result"
        raise NoResult(f"Step {step.position + 1} has no {what} that could be rated.")
    return step, result, result.text


def _text(given: str, same: str, *, most: int, field: str) -> str:
    """What was written; nothing where it is what was there already."""
    text = clean(given).replace("\r\n", "\n").strip()
    if len(text) > most:
        raise Invalid(f"At most {most:,} characters are kept; this has {len(text):,}.", field=field)
    return "" if text == same.replace("\r\n", "\n").strip() else text


def _told(rating: Rating, step: str, before: Rating | None) -> Entry:
    data = {**_about(rating, step), "score": rating.score, "was": before.score if before else None}
    texts = {"correction": rating.correction, "comment": rating.comment}
    return Entry("result.rated", data, {name: text for name, text in texts.items() if text})


def _about(rating: Rating, step: str) -> dict[str, JSON]:
    return {"rating": rating.pk, "step": step or None, "attempt": rating.attempt_id}
