"""Signing runs off: who is to review a run that has ended, and whether it was accepted or rejected, by whom and why.

Each is one transaction that leaves its event; the row says how things stand, the trail how they came to that.
"""

from datetime import datetime

from django.db import transaction

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may, may
from apps.accounts.roles import Deed, roles_that_may
from apps.audit.log import JSON, Entry
from apps.core.errors import Conflict, Denied, Invalid
from apps.runs import log
from apps.runs.models import Review, Run
from apps.runs.purse import outermost
from apps.runs.services import announce
from apps.workers.calls import clean

LONGEST_COMMENT = 10_000


class NotReviewable(Conflict):
    """The run cannot be signed off, or not yet."""


class OwnRun(Denied):
    """Nobody signs off what they started themselves, unless they administer the project."""

    def __init__(self) -> None:
        super().__init__("You started this run yourself. Assign its review to another auditor of the project.")


def assign_review(*, run: Run, to: User, by: User, now: datetime) -> Review:
    """Have `to` review `run`; where it was signed off before, that is to be done anew.

    :raises NotAllowed: `by` may not sign runs off here. :raises Invalid: `to` may not. :raises NotReviewable:
    """
    check_may(by, Deed.AUDIT, run.project)
    with transaction.atomic():
        locked = _locked(run)
        _check_reviewer(to, locked)
        review = Review.objects.filter(run=locked).first() or Review(run=locked)
        if review.state == Review.State.OPEN and review.assigned_to_id == to.pk:
            return review
        data: dict[str, JSON] = {"to": {"id": str(to.pk), "label": to.label}, "was": _was(review)}
        review.state, review.assigned_to, review.assigned_by, review.assigned_at = Review.State.OPEN, to, by, now
        review.decided_by, review.decided_at, review.comment, review.is_own = None, None, "", False
        _keep(review)
        log.append(locked, [Entry("review.assigned", data)], by=by.actor, at=now)
    announce(run)
    return review


def withdraw_review(*, run: Run, by: User, now: datetime) -> bool:
    """Nobody is to review `run` any more. False where nobody was to.

    :raises NotAllowed: `by` may not sign runs off here.
    """
    check_may(by, Deed.AUDIT, run.project)
    with transaction.atomic():
        locked = _locked(run)
        review = Review.objects.filter(run=locked, state=Review.State.OPEN).first()
        if review is None:
            return False
        data: dict[str, JSON] = {"from": str(review.assigned_to_id)}
        review.delete()
        Run.objects.filter(pk=run.pk).update(reviewed="")
        log.append(locked, [Entry("review.withdrawn", data)], by=by.actor, at=now)
    announce(run)
    return True


def sign_off(*, run: Run, verdict: str, by: User, now: datetime, comment: str = "") -> Review:
    """Say of `run` that it is accepted or rejected; who says so again, or otherwise, has said both in its trail.

    :raises NotAllowed: `by` may not sign runs off here. :raises OwnRun: `by` started it, and is no admin.
    :raises Invalid: there is no such verdict, or no reason for a rejection. :raises NotReviewable:
    """
    check_may(by, Deed.AUDIT, run.project)
    comment = _comment(comment, verdict)
    with transaction.atomic():
        locked = _locked(run)
        is_own = locked.owner_id == by.pk
        if is_own and not may(by, Deed.ADMINISTER, locked.project):
            raise OwnRun
        review = Review.objects.filter(run=locked).first() or Review(run=locked)
        if (review.state, review.decided_by_id, review.comment) == (verdict, by.pk, comment):
            return review
        data: dict[str, JSON] = {"verdict": verdict, "own": is_own, "was": _was(review)}
        review.state, review.decided_by, review.decided_at = verdict, by, now
        review.comment, review.is_own = comment, is_own
        _keep(review)
        texts = {"comment": comment} if comment else {}
        log.append(locked, [Entry("review.signed", data, texts)], by=by.actor, at=now)
    announce(run)
    return review


def can_sign_off(user: User, run: Run) -> bool:
    """Whether `user` may say of `run` that it is accepted or rejected."""
    if not may(user, Deed.AUDIT, run.project):
        return False
    return run.owner_id != user.pk or may(user, Deed.ADMINISTER, run.project)


def reviewers_of(project: Project, *, limit: int) -> list[User]:
    """The people who may sign off runs of `project`, by name."""
    roles = roles_that_may(Deed.AUDIT)
    people = User.objects.filter(is_active=True, memberships__project=project, memberships__role__in=roles)
    return list(people.order_by("first_name", "last_name", "username")[:limit])


def check_reviewable(run: Run) -> None:
    """:raises NotReviewable: the run goes on, or is a part of another, with which it is reviewed."""
    if run.nested_in_id is not None:
        raise NotReviewable(f"A run within another is reviewed with it: go to run {outermost(run).code}.")
    if not run.is_ended:
        raise NotReviewable("A run is signed off once it has ended: what is reviewed must not change any more.")


def _locked(run: Run) -> Run:
    locked = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run.pk)
    check_reviewable(locked)
    return locked


def _check_reviewer(user: User, run: Run) -> None:
    if not may(user, Deed.AUDIT, run.project):
        raise Invalid(f"{user.label} may not sign off runs of {run.project.name}: choose an auditor.", field="to")
    if not can_sign_off(user, run):
        raise Invalid(f"{user.label} started this run. Choose somebody else to review it.", field="to")


def _comment(given: str, verdict: str) -> str:
    comment = clean(given).replace("\r\n", "\n").strip()
    if verdict not in Review.DECIDED:
        raise Invalid("Accept the run or reject it.", field="verdict")
    if verdict == Review.State.REJECTED and not comment:
        raise Invalid("Say why it is rejected: whoever started it wants to know.", field="comment")
    if len(comment) > LONGEST_COMMENT:
        message = f"At most {LONGEST_COMMENT:,} characters are kept; this comment has {len(comment):,}."
        raise Invalid(message, field="comment")
    return comment


def _keep(review: Review) -> None:
    """The row, and its state in that of the run, by which lists are read."""
    review.save()
    Run.objects.filter(pk=review.run_id).update(reviewed=review.state)


def _was(review: Review) -> str | None:
    """How it stood before; None where nobody had looked at the run or was to."""
    return None if review.pk is None else review.state
