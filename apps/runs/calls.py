"""What calls of models consumed, in rows and events: also of those that were cut off or lost before they could say."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F

from apps.audit.log import Entry
from apps.audit.statements import Statement, together
from apps.runs.models import Attempt, Proposal, Run
from apps.runs.purse import Purse, embedding_ref, is_free, plan_ref, step_ref
from apps.runs.tracks import Marks
from apps.spend import book
from apps.spend.models import Line
from apps.workers.calls import Usage, estimate
from apps.workers.services import price_of

NO_TRACKS: Mapping[str, Marks] = {}


def told(usage: Usage, cost_usd: Decimal | None) -> dict[str, Any]:
    """A call's consumption as an event holds it."""
    return {
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "estimated": usage.estimated,
        "cost_usd": None if cost_usd is None else str(cost_usd),
    }


def spend(run: Run, usage: Usage | None, cost_usd: Decimal | None) -> None:
    """Add a call to the run's totals: what an unknown price leaves unknown is said, not counted as nothing."""
    if usage is None:
        return
    changes: dict[str, Any] = {
        "input_tokens": F("input_tokens") + usage.input_tokens,
        "output_tokens": F("output_tokens") + usage.output_tokens,
    }
    if cost_usd is None:
        changes["cost_unknown"] = True
    elif cost_usd:
        changes["cost_usd"] = F("cost_usd") + cost_usd
    Run.objects.filter(pk=run.pk).update(**changes)


def unspend(run: Run, attempt: Attempt) -> None:
    """Take what was estimated of a call out of the run's totals again, now that it is known.

    That a price was unknown stays said: other calls may have been the reason.
    """
    Run.objects.filter(pk=run.pk).update(
        input_tokens=F("input_tokens") - attempt.input_tokens,
        output_tokens=F("output_tokens") - attempt.output_tokens,
        cost_usd=F("cost_usd") - (attempt.cost_usd or 0),
    )


def close_cut(
    run: Run, *, texts: Mapping[str, str], at: datetime, tracks: Mapping[str, Marks] = NO_TRACKS
) -> list[Entry]:
    """Close the calls that a stop cut off, with what they had written (by stream); the caller appends the events.

    Nobody tells what a call consumed that was cut: it is estimated from the lengths, and marked so.
    """
    entries = []
    bills = Bills(run, at)
    for attempt in _open_attempts(run):
        text = texts.get(attempt.stream, "")
        usage, cost_usd = _consumed(run, attempt, text)
        _end(attempt, Attempt.Status.CUT, usage, cost_usd, at, text, tracks.get(attempt.stream))
        spend(run, usage, cost_usd)
        bills.of_attempt(attempt, usage, cost_usd)
        data = {"step": attempt.step.key, "attempt": attempt.pk, "chars": len(text)} | told(usage, cost_usd)
        entries.append(Entry("attempt.cut", data))
    for proposal in run.proposals.filter(status=Proposal.Status.WRITING):
        raw = texts.get(proposal.stream, "")
        usage, cost_usd = _estimated(_conductor_of(run, proposal), proposal.sent, raw)
        _end(proposal, Proposal.Status.CUT, usage, cost_usd, at, raw, tracks.get(proposal.stream))
        spend(run, usage, cost_usd)
        bills.of_proposal(proposal, usage, cost_usd)
        data = {"proposal": proposal.pk, "number": proposal.number, "chars": len(raw)} | told(usage, cost_usd)
        entries.append(Entry("planning.cut", data, {"raw": raw}))
    bills.of_embeddings()
    bills.pay()
    return entries


def close_lost(run: Run, *, at: datetime) -> list[Entry]:
    """Close the calls that a driver left open when it died or ended; the caller appends the events.

    What they had written died with it, so what they cost is unknown, unless the model is free. A step that is a run of
    its own stays open: the next driver carries that run on.
    """
    entries = []
    bills = Bills(run, at)
    for attempt in _open_attempts(run).filter(nested=None):
        usage, cost_usd = _estimated(_worker_of(run, attempt), attempt.sent, "")
        known_usd = None if cost_usd else cost_usd  # only of what is free it is sure
        _end(attempt, Attempt.Status.LOST, usage, known_usd, at)
        spend(run, usage, known_usd)
        bills.of_attempt(attempt, usage, known_usd)
        entries.append(Entry("attempt.lost", {"step": attempt.step.key, "attempt": attempt.pk}))
    for proposal in run.proposals.filter(status=Proposal.Status.WRITING):
        usage, cost_usd = _estimated(_conductor_of(run, proposal), proposal.sent, "")
        known_usd = None if cost_usd else cost_usd
        _end(proposal, Proposal.Status.LOST, usage, known_usd, at)
        spend(run, usage, known_usd)
        bills.of_proposal(proposal, usage, known_usd)
        entries.append(Entry("planning.lost", {"proposal": proposal.pk, "number": proposal.number}))
    bills.of_embeddings()
    bills.pay()
    return entries


def close_over(run: Run, *, at: datetime) -> list[Entry]:
    """Close what is open of a run that is over and that nobody drives; the caller appends the events.

    What a run within it consumed is known, however that ended.
    """
    return [*close_lost(run, at=at), *close_cut(run, texts={}, at=at)]


class Bills:
    """What closed calls cost, gathered and then booked at once: accounts are locked together, or two would deadlock."""

    def __init__(self, run: Run, at: datetime) -> None:
        self.run = run
        self.at = at
        self.purse = Purse(run)
        self.settled: dict[str, Statement[bool]] = {}

    def of_attempt(self, attempt: Attempt, usage: Usage, cost_usd: Decimal | None) -> None:
        if self.run.setup.get("nesting") and Run.objects.filter(nested_in=attempt).exists():
            return  # it pays by itself
        frozen = _worker_of(self.run, attempt)
        self._add(step_ref(self.run, attempt.step.key, attempt.number), frozen, usage, cost_usd)

    def of_proposal(self, proposal: Proposal, usage: Usage, cost_usd: Decimal | None) -> None:
        self._add(plan_ref(self.run, proposal.number), _conductor_of(self.run, proposal), usage, cost_usd)

    def of_embeddings(self) -> None:
        """Calls that left no row: what they cost died with whoever made them."""
        begun = Line.objects.filter(ref__startswith=embedding_ref(self.run, ""), state=Line.State.RESERVED)
        for ref in begun.values_list("ref", flat=True):
            self._add(ref, None, Usage(0, estimated=True), None)

    def _add(self, ref: str, frozen: Mapping[str, Any] | None, usage: Usage, cost_usd: Decimal | None) -> None:
        # What is free has no line yet: nothing was set aside for it.
        about = self.purse.about(frozen) if frozen is not None and is_free(frozen) else None
        self.settled[ref] = book.settle(ref=ref, usage=usage, cost_usd=cost_usd, at=self.at, about=about)

    def pay(self) -> None:
        """Book them, in the transaction under way."""
        if self.settled:
            together([book.hold(refs=list(self.settled)), *self.settled.values()])


def _consumed(run: Run, attempt: Attempt, text: str) -> tuple[Usage, Decimal | None]:
    nested = Run.objects.filter(nested_in=attempt).first() if run.setup.get("nesting") else None
    if nested is not None:
        return usage_of(nested), None if nested.cost_unknown else nested.cost_usd
    return _estimated(_worker_of(run, attempt), attempt.sent, text)


def usage_of(nested: Run) -> Usage:
    """All that a nested run consumed so far."""
    return Usage(nested.input_tokens, output_tokens=nested.output_tokens)


def _open_attempts(run: Run) -> Any:
    return run.attempts.filter(status=Attempt.Status.RUNNING).select_related("step").order_by("pk")


def _estimated(frozen: Mapping[str, Any] | None, sent: Any, text: str) -> tuple[Usage, Decimal | None]:
    usage = estimate(sent, text)
    return usage, None if frozen is None else price_of(frozen).cost_usd(usage)


def _worker_of(run: Run, attempt: Attempt) -> Mapping[str, Any] | None:
    """The frozen worker that was called: of the pool, or one that stood in."""
    stand_ins = [each for worker in run.setup["pool"] for each in worker.get("fallbacks", ())]
    return next((each for each in [*run.setup["pool"], *stand_ins] if each["slug"] == attempt.worker), None)


def _conductor_of(run: Run, proposal: Proposal) -> Mapping[str, Any] | None:
    """The frozen conductor that was asked for the proposal: the run's, or that of the planner which stood in."""
    known = [run.setup["conductor"], (run.setup.get("fallback") or {}).get("conductor")]
    return next((each for each in known if each and each["slug"] == proposal.conductor), None)


def _end(
    call: Attempt | Proposal,
    status: str,
    usage: Usage,
    cost_usd: Decimal | None,
    at: datetime,
    text: str = "",
    track: Marks | None = None,
) -> None:
    rows: Any = type(call)._default_manager.filter(pk=call.pk)
    rows.update(
        status=status,
        track=track,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        estimated=True,
        cost_usd=cost_usd,
        duration_ms=(at - call.started_at).total_seconds() * 1000,
        finished_at=at,
        **{"text" if isinstance(call, Attempt) else "raw": text},
    )
