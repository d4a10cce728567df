"""What people and programs do with runs: submit, stop, approve, fork. Each is one transaction that leaves its trail.

The Celery message after the commit is only a doorbell: with the broker down everything here still succeeds, and the
sweeper rings again.
"""

import asyncio
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import IntegrityError, transaction

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit.log import Actor, Entry
from apps.core.errors import Conflict, Denied, Invalid
from apps.runs import log, tasks
from apps.runs.calls import close_over
from apps.runs.claim import has_no_heart
from apps.runs.erased import check_may_be_copied, check_not_erased
from apps.runs.flow import written_in
from apps.runs.freezing import check_prices, freeze, frozen, limit_of
from apps.runs.labels import NO_LABELS, Labels, check_tags
from apps.runs.live import channel_layer
from apps.runs.models import Run, Step
from apps.runs.nesting import end_nested
from apps.runs.purse import outermost
from apps.runs.reuse import Forecast, Recorded, forecast, recorded
from apps.spend.models import Account
from apps.spend.services import raise_limit
from apps.workers.calls import clean
from apps.workers.models import Profile, Worker
from apps.workflows import graph
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow

logger = structlog.get_logger(__name__)

TITLE_CHARS = 120
SEEDS = 2**31

# A workflow that is there is planned by nobody, and nobody goes on from its answer.
SAVED = {"planner": "saved", "fallback": None, "rounds": 1, "learnt": None}
BELL_S = 2.0  # a Redis that does not answer must not hold up a page


class TaskEmpty(Invalid):
    """There is nothing to do."""


class TaskTooLong(Invalid):
    """More characters than a task may have."""


class WorkflowInvalid(Invalid):
    """The workflow breaks rules; `problems` says which, step by step."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = tuple(problems)


def clean_task(task: str) -> str:
    """The task without what no database can hold (NUL, halves of characters), its line ends made one kind.

    :raises TaskEmpty: :raises TaskTooLong:
    """
    task = clean(task).replace("\r\n", "\n").strip()
    if not task:
        raise TaskEmpty("Write a task first.", field="task")
    if len(task) > settings.TASK_LIMIT:
        raise TaskTooLong(
            f"This task has {len(task):,} characters; at most {settings.TASK_LIMIT:,} are allowed. "
            "Shorten it, or ask about a part of it.",
            field="task",
        )
    return task


def title_of(task: str) -> str:
    """The line that says what is asked: the first, unless it is no sentence (a table's head) and a question follows."""
    lines = [line.strip() for line in task.splitlines() if line.strip()]
    line = lines[0]
    if not line.endswith((".", "?", "!", ":")):
        line = next((later for later in lines[1:] if later.rstrip("*_ ").endswith("?") or "? " in later), line)
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def submit_run(
    *,
    task: str,
    profile: Profile,
    by: User,
    now: datetime,
    project: Project | None = None,
    max_steps: int | None = None,
    rounds: int | None = None,
    review: bool | None = None,
    seed: int | None = None,
    workers: Sequence[str] | None = None,
    workflow: Workflow | None = None,
    limit_usd: Decimal | None = None,
    unknown_price_ok: bool = False,
    beside: Run | None = None,
    submit_key: str | None = None,
    held: bool = False,
    labels: Labels = NO_LABELS,
    also: Sequence[Entry] = (),
    is_studios_own: bool = False,
) -> Run:
    """Queue a run of `task` under `profile` in a `project`, the person's own if none is named.

    With a `workflow` nothing is planned. Nobody's role is asked for what is the `studio's own`: commands, whose runs
    are in a project of nobody's.

    `workers`, `max_steps`, `rounds`, `review` and `limit_usd` stand in for what the profile says. Without a `seed` one
    is drawn. Its plan is one of several where it stands `beside` another run.

    What the task carries, and the files that are a part of it, is said by `labels`.

    A run whose `workflow` is to be looked at first is `held` for review from the beginning, and no driver is asked for.
    What there is `also` to say of how it came about stands in its trail.

    The same `submit_key` from the same person makes one run, however often it is sent.

    :raises TaskEmpty: :raises TaskTooLong: :raises NoWorkers: :raises WorkflowInvalid: :raises PriceUnknown:
    :raises Denied: the person may start nothing there.
    """
    project = project or project_of(by)
    if not is_studios_own:
        check_may(by, Deed.ACT, project)
    task = clean_task(task)
    check_tags(labels, project)
    seed = secrets.randbelow(SEEDS) if seed is None else seed
    setup = freeze(
        profile, project=project, seed=seed, workers=workers, max_steps=max_steps, rounds=rounds, review=review
    )
    setup |= labels.as_setup
    if workflow is not None:
        setup |= SAVED
    if not (unknown_price_ok or profile.unknown_price_ok):
        check_prices(setup)
    run = Run(
        project=project,
        owner=by,
        task=task,
        title=title_of(task),
        profile=profile.slug,
        setup=setup,
        limit_usd=limit_of(profile, limit_usd),
        beside=beside,
        submit_key=submit_key or None,
        created_at=now,
    )
    if held and workflow is not None:
        run.status, run.hold = Run.Status.HELD, Run.Hold.REVIEW
    return _start(run, workflow, by=by, now=now, also=also)


def fork_run(
    *,
    parent: Run,
    workflow: Workflow,
    by: User,
    now: datetime,
    fresh: Sequence[str] = (),
    reason: str = "",
    limit_usd: Decimal | None = None,
    submit_key: str | None = None,
) -> Run:
    """Run `workflow` on the parent's task: unchanged steps take the lineage's recorded results, changed ones run.

    The parent may still be running: it is never changed. Steps named in `fresh` run whatever is recorded. Without a
    `limit_usd` the parent's holds.

    :raises WorkflowInvalid: a step or an edge breaks a rule. :raises RunErased: the parent has no task any more.
    """
    check_may(by, Deed.ACT, parent.project)
    check_not_erased(parent)
    # Whoever wrote the instructions wrote them: what that planner had read goes on with them, whoever edits a few.
    setup = parent.setup | SAVED | {"pool": pool_for(parent), "review": False, "told": written_in(parent)}
    run = Run(
        project=parent.project,
        owner=by,
        task=parent.task,
        title=parent.title,
        profile=parent.profile,
        setup=setup,
        parent=parent,
        root_id=parent.lineage_root_id,
        limit_usd=outermost(parent).limit_usd if limit_usd is None else limit_usd,
        fresh=[key for key in workflow.keys if key in fresh],
        submit_key=submit_key or None,
        created_at=now,
    )
    return _start(run, workflow, by=by, now=now, reason=reason)


def project_of(user: User) -> Project:
    """The project a person's new runs belong to: the one they are in, else the first in which they may start any.

    :raises Denied: there is none. :raises NotAllowed: they may only look at those there are.
    """
    open_to = Project.objects.where(user, Deed.ACT)
    project = open_to.filter(pk=user.home_project_id or 0).first() or open_to.first()
    if project is not None:
        return project
    if (seen := Project.objects.visible_to(user).first()) is not None:
        check_may(user, Deed.ACT, seen)
    raise Denied("You do not belong to a project yet. Ask an admin to add you to one.")


def _start(
    run: Run,
    workflow: Workflow | None,
    *,
    by: User,
    now: datetime,
    reason: str = "",
    also: Sequence[Entry] = (),
) -> Run:
    if workflow is not None:
        warnings = check_workflow(workflow, workers=run.pool)
        run.workflow_body = workflow.model_dump(mode="json")
    try:
        with transaction.atomic():
            for source in filter(None, (run.parent, run.beside)):
                check_may_be_copied(source)
            run.save(force_insert=True)
            entries = [_submitted(run, reason), *also]
            if workflow is not None:
                log.lay_out(run, workflow)
                entries.append(log.adopted(workflow, by="fork" if run.parent_id else "person", warnings=warnings))
            if run.status == Run.Status.HELD:
                entries.append(Entry("run.held", {"reason": "review"}))
            log.append(run, entries, by=by.actor, at=now)
            if run.parent is not None:
                log.append(run.parent, [Entry("run.forked", {"child": run.code})], by=by.actor, at=now)
            if run.status == Run.Status.QUEUED:
                transaction.on_commit(partial(tasks.ring_driver, run.pk))
    except IntegrityError:
        if run.submit_key and (first := Run.objects.filter(owner=by, submit_key=run.submit_key).first()):
            return first
        raise
    announce(run, run.parent)
    return run


def _submitted(run: Run, reason: str) -> Entry:
    setup, labels = run.setup, Labels.of(run.setup)
    data = {
        "profile": run.profile,
        "version": setup["version"],
        "planner": setup["planner"],
        "pool": [worker["slug"] for worker in setup["pool"]],
        "embedder": setup["embedder"]["slug"] if setup.get("embedder") else None,
        "max_steps": setup["max_steps"],
        "rounds": setup["rounds"],
        "nesting": setup.get("nesting", 0),
        "review": setup["review"],
        "seed": setup["seed"],
        "limit_usd": None if run.limit_usd is None else str(run.limit_usd),
        "parent": run.parent.code if run.parent else None,
        "beside": run.beside.code if run.beside else None,
        "fresh": run.fresh,
        **labels.told,
    }
    texts = {"task": run.task, **labels.names} | ({"reason": reason} if reason else {})
    return Entry("run.submitted", data, texts)


def pool_for(run: Run) -> list[dict[str, Any]]:
    """The workers a fork of `run` may use: those enabled now, frozen as they are now, in the run's own order first."""
    usable = Worker.objects.usable_in(run.project).enabled().filter(embeds=False)
    now = {worker.slug: worker for worker in usable}
    order = [slug for slug in run.pool if slug in now] + [slug for slug in now if slug not in run.pool]
    return frozen([now[slug] for slug in order], project=run.project) + [
        worker for worker in run.setup["pool"] if worker.get("conducts")
    ]


# People may draw more steps than a conductor may plan.
MOST_STEPS = 150


def check_workflow(workflow: Workflow, *, workers: Collection[str]) -> list[Problem]:
    """What is odd about a workflow that can be run: its warnings.

    :raises WorkflowInvalid: with every problem that keeps it from being run.
    """
    problems = graph.check(workflow, workers=workers, max_steps=MOST_STEPS)
    if errors := graph.errors(problems):
        raise WorkflowInvalid(errors)
    return problems


def preview_fork(*, parent: Run, workflow: Workflow, fresh: Sequence[str] = ()) -> list[Forecast]:
    """Which steps of a fork will run and which are reused, before anything is paid."""
    pool = {worker["slug"]: worker for worker in pool_for(parent)}
    known = recorded_for_fork(parent, keys=workflow.keys)
    return forecast(workflow, task=parent.task, pool=pool, known=known, fresh=fresh)


def recorded_for_fork(parent: Run, *, keys: Collection[str]) -> Recorded:
    """What steps of a fork of `parent` may take: from the parent first, else from its whole lineage."""
    fork = Run(project_id=parent.project_id, root_id=parent.lineage_root_id, parent_id=parent.pk)
    return recorded(fork, keys=keys)


def stop_run(*, run: Run, by: User, now: datetime, reason: str = "") -> Run:
    """Stop calling models for `run`. Its driver cuts the open calls within a second; the run is over at once.

    :raises Conflict: it has ended already. :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    return cut_short(run=run, by=by.actor, now=now, reason=reason)


def cut_short(*, run: Run, by: Actor, now: datetime, reason: str = "") -> Run:
    """Stop a run, whoever does: a person who may, or the studio itself.

    :raises Conflict: it has ended already.
    """
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if locked.is_ended:
            raise Conflict(f"Run {run.code} has already ended: {locked.get_status_display().lower()}.")
        log.move(run, Run.Status.CANCELLED, finished_at=now)
        unfinished = run.steps.filter(status__in=[Step.Status.RUNNING, Step.Status.WAITING])
        cutting = list(unfinished.filter(status=Step.Status.RUNNING).values_list("key", flat=True))
        unfinished.update(status=Step.Status.CANCELLED, finished_at=now, note="")
        entry = Entry("run.stopped", {"cutting": cutting}, {"reason": reason} if reason else {})
        # Its driver says what it cut; where it died before, nobody else would close its calls.
        end_nested(run, by=by, at=now)
        lost = close_over(run, at=now) if has_no_heart(locked, now) else []
        log.append(run, [entry, *lost], by=by, at=now)
    announce(run)
    return run


def approve_run(*, run: Run, by: User, now: datetime) -> Run:
    """Let a run that is held for review go on.

    :raises Conflict: it is not. :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    with transaction.atomic():
        held = Run.objects.filter(pk=run.pk, status=Run.Status.HELD, hold__in=["", Run.Hold.REVIEW])
        log.move(run, Run.Status.QUEUED, of=held, hold="")
        log.append(run, [Entry("run.approved")], by=by.actor, at=now)
        transaction.on_commit(partial(tasks.ring_driver, run.pk))
    announce(run)
    return run


def go_on(*, run: Run, by: User, now: datetime, limit_usd: Decimal | None = None, reason: str = "") -> Run:
    """Let a run that is held at a limit, by rules, or paused go on; with a `limit_usd` after raising its own to that.

    Where a budget or a rule holds it, an admin changes that first: otherwise the run is held again at the same call.

    :raises Conflict: it is neither. :raises NotRaised: the new limit is not above the present one.
    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    with transaction.atomic():
        may_go_on = [Run.Hold.LIMIT, Run.Hold.PAUSE, Run.Hold.RULES]
        held = Run.objects.filter(pk=run.pk, status=Run.Status.HELD, hold__in=may_go_on)
        known = Run.objects.select_for_update().get(pk=run.pk)
        run.limit_usd = known.limit_usd
        if limit_usd is not None:
            raise_limit_of_run(run=run, to=limit_usd, by=by, now=now, reason=reason)
        passed = [key for key in known.breakpoints if key in known.passed or key in known.held_by.get("steps", ())]
        free = {"hold": "", "held_by": {}, "pause_asked": False, "passed": passed, "limit_usd": run.limit_usd}
        log.move(run, Run.Status.QUEUED, of=held, **free)
        told = {"limit_usd": None if run.limit_usd is None else str(run.limit_usd)}
        log.append(run, [Entry("run.resumed", told, {"reason": reason} if reason else {})], by=by.actor, at=now)
        transaction.on_commit(partial(tasks.ring_driver, run.pk))
    announce(run)
    return run


def raise_limit_of_run(*, run: Run, to: Decimal, by: User, now: datetime, reason: str) -> None:
    """Let one run cost more, in the transaction under way; what it was kept under is in the trail of the ledger."""
    # It is made with the run's first call, which may not have been made yet.
    made = {"label": "this run", "limit_usd": run.limit_usd}
    account, _ = Account.objects.get_or_create(key=f"run:{run.code}", defaults=made)
    if account.limit_usd is None:
        raise Invalid("This run has no limit of its own. An admin raises the budget that holds it.", field="limit_usd")
    raise_limit(account=account, to=to, by=by.actor, reason=reason, now=now)
    run.limit_usd = to


def announce(*runs: Run | None) -> None:
    """Tell whoever watches these runs, or the list they stand in, that there is something new to read."""
    for run in runs:
        if run is not None:
            _send(run.group, "run.bell")
            _send(list_group(run.project_id), "runs.changed")


def list_group(project_id: int) -> str:
    """The channel group in which a project's list of runs is watched."""
    return f"runs.{project_id}"


def _send(group: str, kind: str) -> None:
    async def send() -> None:
        async with asyncio.timeout(BELL_S):
            await channel_layer().group_send(group, {"type": kind})

    try:
        async_to_sync(send)()
    except Exception as error:
        # Whatever keeps the bell from ringing: what was done is committed, and viewers look again by themselves.
        logger.warning("the bell could not be rung", group=group, error=str(error))
