"""Approving what flow rules forbid: by somebody who answers for the project, with a reason, for one run."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit.chain import canonical
from apps.audit.log import Actor, Entry
from apps.core.errors import Conflict, Invalid
from apps.runs import log, tasks
from apps.runs.models import Run
from apps.runs.purse import outermost
from apps.runs.services import announce

Told = Mapping[str, Any]


class OtherwiseHeld(Conflict):
    """A run is held by something else than somebody was shown."""

    def __init__(self, *, more: int, fewer: int) -> None:
        new = f"{more} {'call is' if more == 1 else 'calls are'} new" if more else ""
        gone = f"{fewer} {'call is' if fewer == 1 else 'calls are'} gone" if fewer else ""
        changes = " and ".join(filter(None, (new, gone)))
        super().__init__(f"What holds the run has changed since you were shown it: {changes}. Nothing was approved.")


def seal_of(told: Told) -> str:
    """Names exactly what is told of one forbidden call, for the form that approves it."""
    return sha256(canonical(dict(told)).encode()).hexdigest()[:32]


def except_run(*, run: Run, by: User, now: datetime, reason: str, seen: Collection[str]) -> Run:
    """Let a run go on in spite of the rules that hold it: of what somebody was shown, and of nothing beyond.

    `seen` are the seals of all that was shown. What holds runs within it is approved along with it.

    :raises NotAllowed: only an admin of the project may. :raises Invalid: no reason was given.
    :raises OtherwiseHeld: something else was shown. :raises Conflict: no rules hold it, or it is part of another run.
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
        _check_seen(rules, seen)
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


def _check_seen(rules: Iterable[Told], seen: Collection[str]) -> None:
    """:raises OtherwiseHeld: they are not all that was seen, or were not all seen."""
    now, before = {seal_of(each) for each in rules}, set(seen)
    if now != before:
        raise OtherwiseHeld(more=len(now - before), fewer=len(before - now))


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
