"""Trying one worker with a real short call: at the wish of somebody who answers for it, or now and then by itself.

Keys are opened in drivers alone, so a trial is a run: of one step, planned directly, tried once, with nobody to stand
in. It is marked as a trial and left out of lists of runs, and it is paid for and told of like any other.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may, may
from apps.accounts.roles import Deed
from apps.audit import log as audit
from apps.audit.log import STUDIO, Actor, Entry
from apps.core.errors import Denied, Invalid
from apps.runs import log, tasks
from apps.runs.freezing import frozen
from apps.runs.models import TRIAL, Attempt, Run
from apps.runs.services import announce, project_of
from apps.spend.worst_case import REPLY_LIMITS
from apps.workers import standing
from apps.workers.models import Worker
from apps.workers.services import TRAIL

if TYPE_CHECKING:
    import redis

TASK = "Reply with one short sentence that says that you work."

PROBE_AFTER = timedelta(hours=1)
PROBE_TOKENS = 16
THOUGHT_TOKENS = 512  # a model that thinks first would else have nothing left to answer with
MOST_PROBED = 200

ENDED = (Attempt.Status.SUCCEEDED, Attempt.Status.FAILED, Attempt.Status.LATE)


class NotYours(Denied):
    """Trying a worker costs money of a project that somebody else answers for."""


def may_try(*, worker: Worker, by: User) -> bool:
    """Whether `by` answers for a worker: as staff, or as an admin of its project, or of their own where it has none.

    Not even staff answers for a worker of a project that is not theirs to see.
    """
    if by.is_staff and (worker.project is None or may(by, Deed.SEE, worker.project)):
        return True
    project = worker.project or by.home_project
    return project is not None and may(by, Deed.ADMINISTER, project)


def check_may_try(*, worker: Worker, by: User) -> None:
    """:raises NotYours: somebody else answers for it."""
    if not may_try(worker=worker, by=by):
        raise NotYours(f"Only admins may try {worker.name}: it costs money. Ask one.")


def try_worker(*, worker: Worker, by: User, now: datetime, submit_key: str | None = None) -> Run:
    """Begin a real short call of a worker, also of one that is switched off.

    The same `submit_key` from the same person makes one.

    :raises NotYours: somebody else answers for it. :raises Invalid: it turns texts into vectors.
    :raises Denied: there is no project to pay, or the person may spend nothing of it.
    """
    check_may_try(worker=worker, by=by)
    project = worker.project or project_of(by)
    check_may(by, Deed.ACT, project)
    if worker.embeds:
        raise Invalid(f"{worker.name} turns texts into vectors: it cannot be asked for a sentence.")
    known = Run.objects.filter(owner=by, submit_key=submit_key).first() if submit_key else None
    return known or _begin(worker, owner=by, project=project, by=by.actor, now=now, submit_key=submit_key)


def probe_workers(*, now: datetime, is_first: Callable[[str], bool]) -> list[Run]:
    """Try each worker that is to be asked now and then and was not called for an hour; with a tight limit of tokens.

    `is_first` says whether a worker was not probed within the hour, however that came out. Nobody asked for it, so it
    is made in the name of the first admin: without one there is nobody to pay.
    """
    owner = User.objects.filter(is_active=True, is_superuser=True).order_by("pk").first()
    if owner is None:
        return []
    own = owner.home_project or Project.objects.visible_to(owner).first()
    return [
        _begin(worker, owner=owner, project=project, by=STUDIO, now=now, most_tokens=_most_tokens(worker))
        for worker in _silent(now)
        if (project := worker.project or own) is not None and is_first(worker.slug)
    ]


@transaction.atomic
def forgive_worker(*, worker: Worker, client: "redis.Redis", by: User, now: datetime) -> None:
    """Let a worker be called at once that is left alone or pauses: somebody has mended it.

    :raises NotYours: somebody else answers for it. :raises RedisAway: it was not done.
    """
    check_may_try(worker=worker, by=by)
    entry = Entry("worker.forgiven", {"worker": worker.slug})
    audit.append(TRAIL, [entry], by=by.actor, at=now, subject="pool", project="")
    standing.forgive(client, worker.slug)


def _silent(now: datetime) -> Iterator[Worker]:
    """The workers to be asked now and then that were not called lately, and are not being tried."""
    wanted = Worker.objects.enabled().filter(probe=True, embeds=False).select_related("project")
    trials = Run.objects.filter(finished_at=None, profile=TRIAL)
    being_tried = set(trials.values_list("setup__pool__0__slug", flat=True))
    for worker in wanted.order_by("slug")[:MOST_PROBED]:
        calls = Attempt.objects.filter(worker=worker.slug, status__in=ENDED, finished_at__gte=now - PROBE_AFTER)
        if worker.slug not in being_tried and not calls.exists():
            yield worker


def _most_tokens(worker: Worker) -> int:
    return THOUGHT_TOKENS if worker.reasoning_effort else PROBE_TOKENS


def _begin(
    worker: Worker,
    *,
    owner: User,
    project: Project,
    by: Actor,
    now: datetime,
    most_tokens: int | None = None,
    submit_key: str | None = None,
) -> Run:
    run = Run(
        project=project,
        owner=owner,
        task=TASK,
        title=f"Test of {worker.name}",
        profile=TRIAL,
        setup=_setup(worker, project, most_tokens),
        submit_key=submit_key or None,
        created_at=now,
    )
    with transaction.atomic():
        run.save(force_insert=True)
        log.append(run, [_submitted(run)], by=by, at=now)
        transaction.on_commit(partial(tasks.ring_driver, run.pk))
    announce(run)
    return run


def _setup(worker: Worker, project: Project, most_tokens: int | None) -> dict[str, Any]:
    """A run's setup of one step for one worker: what a profile would say, and nothing beyond."""
    alone = frozen([worker], project=project)[0] | {"fallbacks": []}
    if most_tokens is not None:
        params = alone["identity"]["params"]
        limit = next((name for name in REPLY_LIMITS if name in params), "max_tokens")
        alone["identity"] = alone["identity"] | {"params": params | {limit: most_tokens}}
    return {
        "profile": TRIAL,
        "version": 1,
        "test": True,
        "planner": "direct",
        "conductor": None,
        "learnt": None,
        "embedder": None,
        "fallback": None,
        "options": {},
        "pool": [alone],
        "max_steps": 1,
        "rounds": 1,
        "nesting": 0,
        "tries": 1,
        "review": False,
        "seed": 0,
    }


def _submitted(run: Run) -> Entry:
    setup = run.setup
    data = {name: setup[name] for name in ("profile", "version", "planner", "max_steps", "rounds", "nesting", "review")}
    more = {"pool": [worker["slug"] for worker in setup["pool"]], "seed": setup["seed"], "test": True, "parent": None}
    return Entry("run.submitted", data | more, {"task": run.task})
