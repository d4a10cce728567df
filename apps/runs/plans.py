"""Several plans for one task: asked for again with other seeds, held for review side by side; one of them is picked."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import User
from apps.audit.log import Entry
from apps.core.errors import Conflict, Invalid
from apps.runs import log
from apps.runs.erased import check_may_be_copied, check_not_erased
from apps.runs.freezing import PriceUnknown, check_prices
from apps.runs.holding import reject_run
from apps.runs.labels import Labels
from apps.runs.models import Run, RunQuerySet
from apps.runs.services import SEEDS, announce, approve_run, stop_run, submit_run
from apps.workers.models import Profile

FEWEST, MOST = 2, 5  # plans that are asked for at once,
MOST_BESIDE = 12  # and that may stand side by side


def submit_again(
    *,
    run: Run,
    by: User,
    now: datetime,
    review: bool | None = None,
    seed: int | None = None,
    beside: Run | None = None,
    submit_key: str | None = None,
) -> Run:
    """Have the task of `run` planned anew under its profile as that is now, with the workers and limits it had.

    :raises Invalid: the profile is not offered any more. :raises RunErased: it has no task any more.
    """
    check_not_erased(run)
    profile = Profile.objects.usable_in(run.project).enabled().filter(slug=run.profile).first()
    if profile is None:
        raise Invalid(f"The profile “{run.profile}” is not offered any more. Compose the task anew with another one.")
    with transaction.atomic():
        check_may_be_copied(run)
        made = submit_run(
            task=run.task,
            profile=profile,
            by=by,
            now=now,
            project=run.project,
            max_steps=run.setup["max_steps"],
            rounds=run.setup.get("rounds"),
            review=run.setup["review"] if review is None else review,
            seed=seed,
            workers=_same_workers(run, profile),
            limit_usd=run.limit_usd,
            unknown_price_ok=_was_let_run_unpriced(run),
            labels=Labels.of(run.setup),
            beside=beside,
            submit_key=submit_key,
        )
    announce(made)
    return made


def _same_workers(run: Run, profile: Profile) -> list[str] | None:
    """Those of the run's pool that the profile still offers, in the same order; None, as it says, where none is."""
    offered = {worker.slug for worker in profile.pool(run.project)}
    return [slug for slug in run.pool if slug in offered] or None


def _was_let_run_unpriced(run: Run) -> bool:
    """Whether somebody has said of this run that what it costs may stay unknown."""
    try:
        check_prices(run.setup)
    except PriceUnknown:
        return True
    return False


def first_of(run: Run) -> Run:
    """The run beside which the others were planned: `run` itself, where it was not planned beside another."""
    return run.beside or run


def side_by_side(run: Run) -> RunQuerySet:
    """The first of the plans and all that were asked for beside it, in the order in which they were."""
    first = run.beside_id or run.pk
    return Run.objects.filter(Q(pk=first) | Q(beside=first)).select_related("project", "owner").order_by("pk")


def can_plan_again(run: Run) -> bool:
    """Whether a planner wrote, or is to write, the workflow of this run for somebody who asked."""
    return run.setup["planner"] != "saved" and run.nested_in_id is None and not run.is_erased


def plan_again(*, run: Run, times: int, by: User, now: datetime, submit_key: str | None = None) -> list[Run]:
    """Have the task planned `times` more, each time with another seed; each plan is held until somebody looked at it.

    The same `submit_key` makes them once, however often it is sent.

    :raises Invalid: too few or too many; nobody planned the run, or its profile is not offered any more.
    """
    if not FEWEST <= times <= MOST:
        raise Invalid(f"Ask for {FEWEST} to {MOST} plans at once.", field="times")
    check_not_erased(run)
    if not can_plan_again(run):
        raise Invalid("No planner wrote the workflow of this run, so none can be asked again.", field="times")
    first = first_of(run)
    with transaction.atomic():
        check_may_be_copied(first)  # nor does anybody else plan it again meanwhile
        known = set(first.plans.values_list("pk", flat=True))
        if len(known) + times > MOST_BESIDE - 1:
            raise Invalid(f"At most {MOST_BESIDE} plans stand side by side. Pick one of those.", field="times")
        seed, there = first.setup["seed"], len(known)
        made = [
            submit_again(
                run=first,
                by=by,
                now=now,
                review=True,
                seed=(seed + there + number) % SEEDS,  # neighbours differ in their first choice
                beside=first,
                submit_key=f"{submit_key}:{number}"[-64:] if submit_key else None,
            )
            for number in range(1, times + 1)
        ]
        if fresh := [each for each in made if each.pk not in known]:
            log.append(first, [Entry("run.replanned", {"runs": [each.code for each in fresh]})], by=by.actor, at=now)
    announce(first, *made)
    return made


def pick_plan(*, run: Run, by: User, now: datetime) -> Run:
    """Approve this plan, and set aside those beside it that nobody carries out: they are rejected, or not written.

    :raises Conflict: it is not held for review.
    """
    with transaction.atomic():
        others = [each for each in side_by_side(run).select_for_update(of=("self",)) if each.pk != run.pk]
        try:
            approve_run(run=run, by=by, now=now)
        except Conflict:
            raise Conflict(f"Run {run.code} does not wait for approval any more.") from None
        left = [other for other in others if _is_left(other)]
        for other in left:
            away = reject_run if other.status == Run.Status.HELD else stop_run
            away(run=other, by=by, now=now, reason=f"Another plan was picked: run {run.code}.")
    announce(run, *left)
    return run


def _is_left(run: Run) -> bool:
    """Whether it waits for somebody to look at its plan, or will."""
    if run.status == Run.Status.HELD:
        return run.hold in ("", Run.Hold.REVIEW)
    return run.status in (Run.Status.QUEUED, Run.Status.PLANNING) and run.workflow_body is None and run.setup["review"]
