"""Erasing what was written in a run: everywhere at once, in one transaction, so that no run is ever half erased.

What stays is the frame: who asked when, which worker was called after which, how long it took, what it cost, and every
sealed event with the digests of its texts. The texts themselves, and whatever they could be guessed by, are gone from
tables, search and Redis when the transaction is over.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any

import redis
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Model, Q
from redis.exceptions import RedisError

from apps.accounts.models import User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit import log as audit
from apps.audit.log import Actor, Entry
from apps.core.errors import Conflict, Unavailable
from apps.runs import log, services
from apps.runs.claim import has_no_heart
from apps.runs.erased import check_not_erased, lock, title_when_erased
from apps.runs.live import forget
from apps.runs.models import Attempt, Proposal, Run, Share, Variant
from apps.runs.purse import outermost
from apps.runs.retention.copies import copies_of
from apps.runs.retention.holds import check_not_held, clean_reason
from apps.runs.retention.places import DELETED, ERASED, without_instructions, without_texts
from apps.spend.services import TRAIL as SPENDING
from apps.workers import circuit
from apps.workers.scripts import RedisAway
from apps.workers.standing import unsay

REDIS_PATIENCE_S = 5.0


class NotAtRest(Conflict):
    """Somebody may still write something of it."""


class PartOfAnother(Conflict):
    """A run within another is erased with that."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"Run {run.code} is part of run {outermost(run).code}: they are erased together, from there.")


class LiveTextAway(Unavailable):
    """Redis may still hold texts, and does not answer."""

    def __init__(self) -> None:
        super().__init__("Redis does not answer, and may still hold texts of the run: nothing was erased. Try again.")


@transaction.atomic
def erase_run(*, run: Run, reason: str, by: User, now: datetime, with_copies: bool = False) -> list[Run]:
    """Erase the texts of `run`; `with_copies` also those of every run that has taken some of them over.

    All of it or nothing. What was erased, the run itself first.

    :raises NotAllowed: `by` is no admin of the project. :raises Invalid: no reason is given. :raises RunErased: it was
        done before. :raises PartOfAnother: :raises NotAtRest: :raises OnHold: :raises LiveTextAway: nothing was erased.
    """
    check_may(by, Deed.ADMINISTER, run.project)
    said = clean_reason(reason)
    lock(run.project)
    check_not_erased(Run.objects.get(pk=run.pk))
    copies = list(copies_of(run)) if with_copies else []
    for each in [run, *copies]:
        told = {"why": "by hand"} if each == run else {"why": "by hand", "copy_of": run.code}
        erase(each, by=by.actor, now=now, told=told, reason=said)
    return [run, *copies]


def erase(run: Run, *, by: Actor, now: datetime, told: Mapping[str, Any], reason: str = "") -> None:
    """Erase one run that people asked for and those nested in it, in a transaction that has the project's `lock`.

    :raises PartOfAnother: :raises NotAtRest: :raises OnHold: :raises LiveTextAway: nothing was changed.
    """
    if run.nested_in_id is not None:
        raise PartOfAnother(run)
    family = family_of(run)
    locked = list(Run.objects.filter(pk__in=[each.pk for each in family]).select_for_update().order_by("pk"))
    check_not_held(run.project, locked)
    for each in locked:
        _check_at_rest(each, now)
    held = _held_in_redis(locked)
    for each in sorted(family, key=lambda one: one.pk):
        about = told if each == run else {**told, "with": run.code}
        _erase_one(each, by=by, now=now, told=about, reason=reason if each == run else "")
    _forget(held)
    transaction.on_commit(lambda: services.announce(*family))


def family_of(run: Run) -> list[Run]:
    """The run and those nested in it, however deep."""
    family = [run]
    for each in family:  # which grows
        family += Run.objects.filter(nested_in__run=each).select_related("project")
    return family


def _check_at_rest(run: Run, now: datetime) -> None:
    """:raises NotAtRest: it goes on, or its driver may still bring a reply that came late."""
    if not run.is_ended:
        raise NotAtRest(
            f"Run {run.code} is {run.get_status_display().lower()}: its texts can be erased once it has ended."
        )
    writing = run.attempts.filter(status=Attempt.Status.RUNNING).exists()
    writing = writing or run.proposals.filter(status=Proposal.Status.WRITING).exists()
    if writing or not has_no_heart(run, now):
        raise NotAtRest(f"Run {run.code} ended a moment ago, and its driver is still tidying up. Try again shortly.")


def _erase_one(run: Run, *, by: Actor, now: datetime, told: Mapping[str, Any], reason: str) -> None:
    texts = audit.erase(run.trail, at=now) + audit.erase(SPENDING, at=now, subject=f"run:{run.code}")
    _blank_rows(run)
    run.erased_at = now
    run.title = title_when_erased(run)
    Run.objects.filter(pk=run.pk).update(
        erased_at=now,
        title=run.title,
        setup=without_texts(run.setup),
        workflow_body=without_instructions(run.workflow_body),
        claim=F("claim") + 1,  # whoever drove it writes nothing more
        **ERASED[Run],
    )
    _write_words(run)
    Share.objects.filter(run=run, revoked_at=None).update(revoked_at=now)
    given = {"reason": reason} if reason else {}
    log.append(run, [Entry("run.erased", {**told, "texts": texts}, given)], by=by, at=now)


def _blank_rows(run: Run) -> None:
    for model, blanks in ERASED.items():
        if model is not Run:
            model._default_manager.filter(_of(model, run)).update(**blanks)
    for model in DELETED:
        model._default_manager.filter(run=run).delete()


def _of(model: type[Model], run: Run) -> Q:
    return Q(experiment__run=run) | Q(fork=run) if model is Variant else Q(run=run)


def _write_words(run: Run) -> None:
    """What the run is still found by: its code, its profile and who asked."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runs_runwords SET words = runs_words_of(%s) WHERE run_id = %s", [run.pk, run.pk])


# --- what Redis may still hold --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """What Redis may hold of runs: the texts of calls, and what a worker's circuit quotes of one that failed."""

    attempts: Sequence[int]
    proposals: Sequence[int]
    reasons: Mapping[str, Mapping[str, str]]  # the kind of each reason, by the reason, by the worker's slug


def _held_in_redis(runs: Sequence[Run]) -> Held:
    """Read before the rows say nothing any more."""
    reasons: dict[str, dict[str, str]] = {}
    for worker, kind, error in _failures(runs):
        reasons.setdefault(worker, {})[circuit.worded(kind, error)] = kind
    return Held(
        attempts=list(Attempt.objects.filter(run__in=runs).values_list("pk", flat=True)),
        proposals=list(Proposal.objects.filter(run__in=runs).values_list("pk", flat=True)),
        reasons=reasons,
    )


def _failures(runs: Sequence[Run]) -> Iterator[tuple[str, str, str]]:
    """Of each call that failed, whose it was, of what kind, and in what words: of steps, of planning, of embedding."""
    calls = Attempt.objects.filter(run__in=runs).exclude(error="")
    yield from calls.values_list("worker", "error_kind", "error")
    proposals = Proposal.objects.filter(run__in=runs).exclude(error="")
    for (conductor, error), kind in product(proposals.values_list("conductor", "error"), circuit.DOWN):
        yield conductor, kind, error  # the row does not say which of these it was
    for run in runs:
        for event in audit.read(run.trail, verbs=["embedding.failed"]):
            yield event.data["worker"], event.data["kind"], event.texts.get("error") or ""


def _forget(held: Held) -> None:
    """Before the commit: a run is never said to be erased while Redis holds some of it. :raises LiveTextAway:"""
    patience = {"socket_timeout": REDIS_PATIENCE_S, "socket_connect_timeout": REDIS_PATIENCE_S}
    try:
        with redis.Redis.from_url(settings.REDIS_URL, **patience) as client:
            forget(client, attempts=held.attempts, proposals=held.proposals)
            for slug, kinds in held.reasons.items():
                unsay(client, slug, kinds)
    except (RedisError, RedisAway, OSError):
        raise LiveTextAway from None
