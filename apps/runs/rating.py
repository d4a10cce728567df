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
from apps.runs.models import Rating, Run, Step
from apps.runs.models.reviewed import HIGHEST, LOWEST
from apps.runs.services import announce
from apps.workers.calls import LONGEST_REPLY_CHARS, clean

LONGEST_COMMENT = 10_000
CHUNK = 500  # ratings held in memory at once


class NoResult(Conflict):
    """There is nothing to be rated."""


def rate_result(
    *, run: Run, score: int, by: User, now: datetime, step: str = "", correction: str = "", comment: str = ""
) -> Rating:
    """Keep what `by` thinks of the run's answer, or of the result of `step`: from 1, useless, to 5, as it should be.

    A `correction` is the whole text as it should have been. Who rates once more changes their mind.

    :raises NotAllowed: `by` may not act in the project. :raises NoResult: there is none, or it was erased.
    :raises Invalid: no such score or step, or a text that is too long.
    """
    check_may(by, Deed.ACT, run.project)
    if not LOWEST <= score <= HIGHEST:
        raise Invalid(f"Choose from {LOWEST}, useless, to {HIGHEST}, as it should be.", field="score")
    with transaction.atomic():
        locked = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run.pk)
        rated, result = _result(locked, step)
        said = {
            "score": score,
            "correction": _text(correction, result, most=LONGEST_REPLY_CHARS, field="correction"),
            "comment": _text(comment, "", most=LONGEST_COMMENT, field="comment"),
        }
        before = Rating.objects.filter(run=locked, step=rated, by=by).first()
        if before is not None and said == {name: getattr(before, name) for name in said}:
            return before
        kept = {**said, "updated_at": now}
        rating, _ = Rating.objects.update_or_create(
            run=locked, step=rated, by=by, defaults=kept, create_defaults={**kept, "created_at": now}
        )
        log.append(locked, [_told(rating, step, before)], by=by.actor, at=now)
    announce(run)
    return rating


def withdraw_rating(*, run: Run, by: User, now: datetime, step: str = "") -> bool:
    """Take back what `by` said of the run's answer, or of `step`. False where they had said nothing.

    :raises NotAllowed: `by` may not act in the project.
    """
    check_may(by, Deed.ACT, run.project)
    with transaction.atomic():
        locked = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run.pk)
        rating = Rating.objects.filter(run=locked, by=by, **({"step__key": step} if step else {"step": None})).first()
        if rating is None:
            return False
        data: dict[str, JSON] = {"rating": rating.pk, "step": step or None, "was": rating.score}
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
    worker: str  # who gave the step's result; empty for the run's answer
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

    With `since` only those that were made or changed from then on; none of a run that was erased.
    """
    rows = Rating.objects.in_project(project).filter(run__erased_at=None).select_related("run", "step").order_by("pk")
    if since is not None:
        rows = rows.filter(updated_at__gte=since)
    for rating in rows.iterator(chunk_size=CHUNK):
        run, step = rating.run, rating.step
        yield Rated(
            run=run.code,
            step=step.key if step else "",
            profile=run.profile,
            worker=step.worker if step else "",
            task=run.task,
            asked=step.instruction if step else run.task,
            result=step.result if step else run.answer,
            score=rating.score,
            correction=rating.correction,
            comment=rating.comment,
            by=rating.by_id,
            at=rating.updated_at,
        )


def _result(run: Run, key: str) -> tuple[Step | None, str]:
    """What is rated: the step, or None for the answer, and its text."""
    if run.erased_at is not None:
        raise NoResult("The texts of this run were erased: there is nothing left to rate.")
    if not key:
        if run.status != Run.Status.SUCCEEDED:
            raise NoResult("This run has no answer that could be rated.")
        return None, run.answer
    step = run.steps.filter(key=key).first() if "\0" not in key else None
    if step is None:
        raise Invalid(f"“{key[:40]}” is no step of this run.", field="step")
    if step.status not in Step.DONE:
        raise NoResult(f"Step {step.position + 1} has no result that could be rated.")
    return step, step.result


def _text(given: str, same: str, *, most: int, field: str) -> str:
    """What was written; nothing where it is what was there already."""
    text = clean(given).replace("\r\n", "\n").strip()
    if len(text) > most:
        raise Invalid(f"At most {most:,} characters are kept; this has {len(text):,}.", field=field)
    return "" if text == same.replace("\r\n", "\n").strip() else text


def _told(rating: Rating, step: str, before: Rating | None) -> Entry:
    was = before.score if before else None
    data: dict[str, JSON] = {"rating": rating.pk, "step": step or None, "score": rating.score, "was": was}
    texts = {"correction": rating.correction, "comment": rating.comment}
    return Entry("result.rated", data, {name: text for name, text in texts.items() if text})
