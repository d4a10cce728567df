"""Trying a run's access edges: each switched off once, in a fork that takes over all that does not depend on it.

An experiment makes its forks a few at a time, and never lets them promise more than its limit between them: each fork
gets a limit of its own, and with it the run's ledger holds. Rows are the truth here too: whoever notices that a fork
has ended carries the experiment on, and doing so twice does no harm.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import ROUND_DOWN, ROUND_UP, Decimal
from typing import Any

from django.db import IntegrityError, transaction

from apps.accounts.models import User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit.log import STUDIO, Actor, Entry
from apps.core.errors import Conflict, Denied, Invalid, StudioError
from apps.runs import log, services
from apps.runs.effects import measure
from apps.runs.erased import check_may_be_copied, check_not_erased, lock
from apps.runs.forecasts import Edge, Forecasts, asked_anew, edges_of, most_at_once, tried_edges, without
from apps.runs.models import Experiment, Run, Variant

AT_ONCE = 4
STEP_USD = Decimal("0.0001")  # as finely as a limit is kept
MOST_USD = Decimal(10**9)

State, Status = Variant.State, Experiment.Status


class NotToBeTried(Conflict):
    """Only of a run that came to an answer can it be told what an edge does to it."""


class UnderWay(Conflict):
    """One experiment at a time is made on a run."""


def check_can_be_tried(run: Run) -> None:
    """:raises NotToBeTried: the run has no answer, or nothing that reads anything. :raises RunErased: not any more."""
    check_not_erased(run)
    if not run.is_ended:
        raise NotToBeTried(f"Run {run.code} has not ended yet. Its edges can be tried once it has an answer.")
    if run.status != Run.Status.SUCCEEDED:
        how = run.get_status_display().lower()
        raise NotToBeTried(f"Run {run.code} {how}: there is no answer that an edge could be seen to change.")
    if not edges_of(run):
        raise NotToBeTried(f"No step of run {run.code} reads another: there is no edge to switch off.")


def start_experiment(
    *, run: Run, edges: Sequence[Edge], baseline: bool, limit_usd: Decimal, by: User, now: datetime, reason: str = ""
) -> Experiment:
    """Try each of `edges`, (source, reader), once; with a `baseline` also the whole run once more without any change.

    The reader of an edge that was tried before is asked once more: that makes another sample.
    All of it together costs no more than `limit_usd`, as far as prices are known.

    :raises NotToBeTried: the run has no answer. :raises UnderWay: another experiment on it is under way.
    :raises Invalid: one is no edge of it, or there are none or too many, or a fork could not be run at all.
    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, run.project)
    check_can_be_tried(run)
    _check_edges(run, edges)
    limit_usd = _limit(limit_usd)
    forecasts = Forecasts(run)
    tried: list[Edge | None] = [*([None] if baseline else []), *edges]
    variants = [_variant(forecasts, edge, at) for at, edge in enumerate(tried)]
    try:
        with transaction.atomic():
            check_may_be_copied(run)
            experiment = Experiment.objects.create(run=run, owner=by, limit_usd=limit_usd, created_at=now)
            for variant in variants:
                variant.experiment = experiment
            Variant.objects.bulk_create(variants)
            told = {"edges": len(edges), "baseline": baseline, "limit_usd": str(limit_usd)}
            _tell(experiment, "experiment.started", told, by=by.actor, at=now, reason=reason)
            _go_on(experiment, now)
    except IntegrityError:
        raise UnderWay(f"An experiment on run {run.code} is under way. Wait for its end, or stop it.") from None
    services.announce(run)
    return experiment


def _check_edges(run: Run, edges: Sequence[Edge]) -> None:
    known = set(edges_of(run))
    if not edges:
        raise Invalid("Choose at least one edge to try.", field="edges")
    if len(edges) > (most := most_at_once(run)):
        raise Invalid(f"At most {most} edges are tried at once: {len(edges)} are chosen.", field="edges")
    if unknown := [edge for edge in edges if edge not in known]:
        source, reader = (key[:40] for key in unknown[0])
        raise Invalid(f"“{reader}” does not read “{source}” in this run.", field="edges")
    if len(set(edges)) < len(edges):
        raise Invalid("An edge is chosen twice.", field="edges")


def _limit(given: Decimal) -> Decimal:
    if not given.is_finite() or not 0 <= given < MOST_USD:
        raise Invalid("Give the most that the experiment may cost in USD, such as 0.50.", field="limit_usd")
    return given.quantize(STEP_USD, ROUND_DOWN)


def _variant(forecasts: Forecasts, edge: Edge | None, position: int) -> Variant:
    """:raises WorkflowInvalid: a worker it needs is not to be had any more."""
    services.check_workflow(forecasts.workflow_without(edge), workers=forecasts.pool)
    most = forecasts.of(edge).most_usd
    source, reader = edge or ("", "")
    most_usd = None if most is None else most.quantize(STEP_USD, ROUND_UP)
    return Variant(position=position, source=source, reader=reader, most_usd=most_usd)


def stop_experiment(*, experiment: Experiment, by: User, now: datetime, reason: str = "") -> Experiment:
    """Begin no more forks of an experiment, and stop those under way.

    :raises Conflict: it is over. :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, experiment.run.project)
    with transaction.atomic():
        locked = _locked(experiment.pk)
        if locked is None:
            raise Conflict("This experiment is over already.")
        _end(locked, Status.STOPPED, by=by.actor, now=now, why="The experiment was stopped.", reason=reason)
    services.announce(locked.run)
    return locked


def go_on(*, experiment_id: int, now: datetime) -> None:
    """Carry an experiment on as far as can be: measure what has ended, begin what may begin, and end it at its end."""
    with transaction.atomic():
        experiment = _locked(experiment_id)
        if experiment is None:
            return
        _go_on(experiment, now)
    services.announce(experiment.run)


def go_on_after(*, run_id: int, now: datetime) -> None:
    """Carry on the experiment that a run is a fork of, if there is one."""
    experiment = Variant.objects.filter(fork=run_id, state=State.RUNNING).values_list("experiment", flat=True).first()
    if experiment is not None:
        go_on(experiment_id=experiment, now=now)


def go_on_with_all(*, now: datetime) -> None:
    """Carry on whatever is under way: a fork may have ended without anybody's noticing."""
    for pk in list(Experiment.objects.filter(status=Status.RUNNING).order_by("pk").values_list("pk", flat=True)):
        go_on(experiment_id=pk, now=now)


def _locked(pk: int) -> Experiment | None:
    """The experiment, for this transaction alone; None where it is over."""
    running = Experiment.objects.filter(pk=pk, status=Status.RUNNING).select_related("run__project", "owner")
    if (found := running.first()) is None:
        return None
    lock(found.run.project)  # first of all, as whoever copies a run does: it may begin forks
    return running.select_for_update(of=("self",)).first()


def _go_on(experiment: Experiment, now: datetime) -> None:
    variants = list(experiment.variants.select_related("fork"))
    _stop_ruled(experiment, variants, now)
    _measure(variants)
    if why := _stuck(experiment, variants, now):
        _end(experiment, Status.LIMIT, by=STUDIO, now=now, why=why)
        return
    for variant in variants:
        if variant.state == State.WAITING and not _begin(experiment, variant, variants, now):
            break
    states = {variant.state for variant in variants}
    if State.RUNNING not in states:
        is_whole = State.WAITING not in states
        why = "" if is_whole else "Nothing was left of the experiment's limit."
        status = Status.DONE if is_whole else Status.LIMIT
        _end(experiment, status, by=STUDIO, now=now, why=why)


def _stop_ruled(experiment: Experiment, variants: Iterable[Variant], now: datetime) -> None:
    """Stop the forks that flow rules hold: what was approved of the run is approved of none of them."""
    for fork in _under_way(variants):
        if fork.status == Run.Status.HELD and fork.hold == Run.Hold.RULES:
            with suppress(Conflict):  # it has gone on meanwhile
                services.stop_run(run=fork, by=experiment.owner, now=now, reason="Flow rules hold it.")
            fork.refresh_from_db()


def _measure(variants: Iterable[Variant]) -> None:
    """Write down what came of the forks that have ended since."""
    for variant in variants:
        if variant.state == State.RUNNING and (variant.fork is None or variant.fork.is_ended):
            measure(variant)
            variant.save()


def _under_way(variants: Iterable[Variant]) -> list[Run]:
    return [variant.fork for variant in variants if variant.state == State.RUNNING and variant.fork is not None]


def _left(experiment: Experiment, variants: Sequence[Variant]) -> Decimal:
    """What is neither spent by forks that have ended nor promised to those under way."""
    forks = [variant.fork for variant in variants if variant.fork is not None]
    gone = sum((fork.cost_usd for fork in forks if fork.is_ended), Decimal(0))
    promised = sum((fork.limit_usd or Decimal(0) for fork in _under_way(variants)), Decimal(0))
    return (experiment.limit_usd - gone - promised).quantize(STEP_USD, ROUND_DOWN)


def _begin(experiment: Experiment, variant: Variant, variants: Sequence[Variant], now: datetime) -> bool:
    """Whether the next fork may begin already: it does, with as much as it may cost, or all that is left where it is
    alone."""
    going, left = _under_way(variants), _left(experiment, variants)
    needed = left if variant.most_usd is None else variant.most_usd
    if len(going) >= AT_ONCE or (going and (variant.most_usd is None or needed > left)) or left < min(needed, STEP_USD):
        return False
    try:
        with transaction.atomic():
            variant.fork, variant.state = _fork(experiment, variant, min(needed, left), now), State.RUNNING
    except StudioError as refusal:
        variant.state, variant.note = State.FAILED, refusal.message
    variant.save()
    return True


def _fork(experiment: Experiment, variant: Variant, limit_usd: Decimal, now: datetime) -> Run:
    run = experiment.run
    assert run.workflow is not None, "a run that succeeded has one"
    edge = (variant.source, variant.reader) if variant.source else None
    workflow = without(run.workflow, edge)
    return services.fork_run(
        parent=run,
        workflow=workflow,
        by=experiment.owner,
        now=now,
        fresh=asked_anew(workflow, edge, tried=tried_edges(run)),
        reason=_reason(run, edge),
        limit_usd=limit_usd,
        submit_key=f"experiment-{experiment.pk}-{variant.position}",
    )


def _reason(run: Run, edge: Edge | None) -> str:
    if edge is None or run.workflow is None:
        return "Experiment: once more without any change"
    source, reader = (run.workflow.position(key) + 1 for key in edge)
    return f"Experiment: step {reader} does not read step {source}"


def _stuck(experiment: Experiment, variants: Sequence[Variant], now: datetime) -> str:
    """Why nothing can go on, where nothing can; a fork that is held at its own limit gets what is left."""
    going = _under_way(variants)
    held = [fork for fork in going if fork.status == Run.Status.HELD and fork.hold == Run.Hold.LIMIT]
    for fork in held:
        if fork.held_by.get("account") != f"run:{fork.code}":
            return f"The limit of “{fork.held_by.get('label', '')}” holds its next call."
        left = _left(experiment, variants)
        if left > 0 and fork.limit_usd is not None:
            return _let_go_on(fork, experiment.owner, limit_usd=fork.limit_usd + left, now=now)
    is_stuck = bool(held) and len(held) == len(going)
    return "The next call could have crossed the experiment's limit." if is_stuck else ""


def _let_go_on(fork: Run, owner: User, *, limit_usd: Decimal, now: datetime) -> str:
    """Why the fork cannot go on: whose experiment it is may be no member any more."""
    try:
        services.go_on(run=fork, by=owner, now=now, limit_usd=limit_usd)
    except Conflict:  # somebody else has stopped it or let it go on
        return ""
    except Denied as refusal:
        return refusal.message
    return ""


def _end(experiment: Experiment, status: str, *, by: Actor, now: datetime, why: str, reason: str = "") -> None:
    """The experiment is over: what is under way is stopped, what has not begun is left."""
    variants = list(experiment.variants.select_related("fork"))
    for fork in _under_way(variants):
        with suppress(Conflict):  # it has ended meanwhile
            services.cut_short(run=fork, by=by, now=now, reason=why)
        fork.refresh_from_db()
    _measure(variants)
    experiment.variants.filter(state=State.WAITING).update(state=State.LEFT, note=why)
    experiment.status, experiment.finished_at = status, now
    experiment.save(update_fields=["status", "finished_at"])
    tried = sum(variant.state in (State.DONE, State.FAILED) for variant in variants)
    cost_usd = sum((variant.fork.cost_usd for variant in variants if variant.fork), Decimal(0))
    told = {"status": status, "tried": tried, "of": len(variants), "cost_usd": str(cost_usd)}
    _tell(experiment, "experiment.ended", told, by=by, at=now, reason=reason)


def _tell(
    experiment: Experiment, verb: str, data: dict[str, Any], *, by: Actor, at: datetime, reason: str = ""
) -> None:
    entry = Entry(verb, {"experiment": experiment.pk, **data}, {"reason": reason} if reason else {})
    log.append(experiment.run, [entry], by=by, at=at)
