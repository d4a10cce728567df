"""Approving what flow rules forbid: by somebody who answers for the project, with a reason, for one run."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit.log import Actor, Entry
from apps.core.errors import Conflict, Invalid
from apps.runs import log, tasks
from apps.runs.models import Run
from apps.runs.purse import outermost
from apps.runs.services import announce

Told = Mapping[str, Any]


def except_run(*, run: Run, by: User, now: datetime, reason: str) -> Run:
    """Let a run go on in spite of the rules that hold it: of what it was held by, and of nothing beyond.

    What holds runs within it is approved along with it.

    :raises NotAllowed: only an admin of the project may. :raises Invalid: no reason was given.
    :raises Conflict: no rules hold it, or it is part of another run.
    """
    check_may(by, Deed.ADMINISTER, run.project)
    if run.nested_in_id is not None:
        raise Conflict(f"Run {run.code} is held with the run around it: approve that, run {outermost(run).code}.")
    with transaction.atomic():
        held = Run.objects.filter(pk=run.pk, status=Run.Status.HELD, hold=Run.Hold.RULES)
        known = held.select_for_update().first()
        if known is None:
            raise Conflict(f"No rules hold run {run.code} any more.")
        rules: list[Told] = known.held_by["rules"]
        if not reason.strip():
            raise Invalid(
                "Say why it may be read all the same: whoever reviews this run wants to know.", field="reason"
            )
        inner = _except_within(known, rules, by=by.actor, at=now, reason=reason)
        changes = {"hold": "", "held_by": {}, "excepted": _with_more(known, rules)}
        data: dict[str, Any] = {"rules": rules, "within": inner}
        log.move(run, Run.Status.QUEUED, of=held, **changes)
        log.append(run, [Entry("run.excepted", data, {"reason": reason})], by=by.actor, at=now)
        transaction.on_commit(partial(tasks.ring_driver, run.pk))
    announce(run)
    return run


def _except_within(outer: Run, rules: Sequence[Told], *, by: Actor, at: datetime, reason: str) -> list[str]:
    """Approve what of `rules` holds the runs within: they go on with the outer one. Their codes."""
    if not outer.setup.get("nesting"):
        return []
    codes: list[str] = []
    for run in Run.objects.filter(nested_in__run=outer, status=Run.Status.HELD, hold=Run.Hold.RULES).order_by("pk"):
        mine = [each for each in run.held_by["rules"] if each in rules]
        if mine:
            codes += [run.code, *_except_within(run, mine, by=by, at=at, reason=reason)]
            Run.objects.filter(pk=run.pk).update(excepted=_with_more(run, mine))
            entry = Entry("run.excepted", {"rules": mine, "with": outer.code}, {"reason": reason})
            log.append(run, [entry], by=by, at=at)
    return codes


def _with_more(run: Run, rules: Iterable[Told]) -> Sequence[str]:
    """What was approved of a run before, and what of `rules` is about it: keys of steps are the same in all runs."""
    return list(dict.fromkeys([*run.excepted, *(each["name"] for each in rules if each["run"] == run.code)]))
