"""Where a driver writes: the rows of its run and the events that explain them, in one transaction for one moment.

What happens together (a step ends, its readers start) is written together; and each write first makes sure that the
run is still the driver's own and still going, so of a driver and a person who stops the run, or of two drivers, one
wins. Where the database went away between a commit and its answer, the same is asked again and changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from apps.audit.log import Entry
from apps.audit.statements import together
from apps.runs import rows
from apps.runs.calls import NO_TRACKS, close_cut, close_lost, spend, unspend
from apps.runs.desk_planning import PlanningDesk
from apps.runs.desk_steps import StepDesk, event_of
from apps.runs.log import IllegalMove, append, move
from apps.runs.models import Attempt, Run, Step
from apps.runs.nesting import end_nested, is_nested
from apps.runs.pen import Asked, Page, RunStopped, RunTaken, at_once
from apps.runs.tracks import Marks
from apps.workers.calls import Completion
from apps.workflows.sinks import Answer

__all__ = ["Desk", "Page", "RunStopped", "RunTaken"]

# A call in one of these may still bring a reply, though nobody waits for it any more.
UNFINISHED = (Attempt.Status.RUNNING, Attempt.Status.CUT, Attempt.Status.LOST)


class Desk(PlanningDesk, StepDesk):
    """Where one driver writes one run that it claimed.

    What returns after a commit of its own is said so; everything else is written on a `Page`, through `write`.
    """

    @at_once
    def succeed(self, page: Page, *, answer: Answer) -> Asked[None]:
        """The run reached its answer. :raises IllegalMove: it was in no state to."""

        def told(totals: tuple[int, Decimal | None] | None) -> None:
            if totals is None:
                raise IllegalMove(f"run {self.run.code} is not running, so it cannot succeed")
            how = {"rule": answer.rule, "step": answer.step, "duration_ms": self._duration_ms(page.at)}
            tokens, cost_usd = totals
            spent = {"tokens": tokens, "cost_usd": None if cost_usd is None else str(cost_usd)}
            detail, said = sealed_detail(answer.detail)
            page.tell("run.succeeded", how | spent | detail, {"answer": answer.text} | said)

        return Asked([rows.succeed_run(run=self.run, answer=answer, at=page.at)], told)

    def hold(self, page: Page, *, reason: str, about: Mapping[str, Any], steps: Sequence[str]) -> None:
        """Steps were not begun: a limit would be crossed, a rule forbids it, or somebody wants to look.

        The run waits, held by nobody.
        """
        self.run.steps.filter(status=Step.Status.WAITING).exclude(note="").update(note="")
        tried = self.run.steps.filter(key__in=steps, status=Step.Status.RUNNING)  # it is the next try that is held
        tried.exclude(attempts__status=Attempt.Status.RUNNING).update(status=Step.Status.WAITING)
        held_by = {**about, "step": steps[0] if steps else "", "steps": list(steps)}
        held: dict[str, Any] = {"hold": reason, "held_by": held_by, "driver": "", "heart_at": None}
        move(self.run, Run.Status.HELD, **held)
        limit = {"limit": dict(about)} if reason == Run.Hold.LIMIT else dict(about)
        page.tell("run.held", {"reason": reason, "step": held_by["step"] or None, "steps": list(steps)} | limit)

    def fail(self, page: Page, *, message: str, step: str = "", code: str) -> None:
        """The run ended without an answer; `message` tells a person what to do next."""
        end_nested(self.run, by=self.by, at=page.at)
        unfinished = self.run.steps.filter(status__in=[Step.Status.RUNNING, Step.Status.WAITING])
        unfinished.update(status=Step.Status.CANCELLED, finished_at=page.at, note="")
        move(self.run, Run.Status.FAILED, error=message, error_step=step, finished_at=page.at)
        page.tell("run.failed", {"step": step or None, "code": code} | self._totals(page.at), {"error": message})

    def cut(self, texts: Mapping[str, str], tracks: Mapping[str, Marks] = NO_TRACKS) -> None:
        """The run was stopped: say which calls were cut, and keep what they had written. `texts` by stream.

        Of one that is held nothing is under way; a run within it that is held, too, goes on with it.
        """
        with transaction.atomic():
            mine = Run.objects.filter(pk=self.run.pk, claim=self.run.claim).exclude(status=Run.Status.HELD)
            if not mine.select_for_update().exists():
                return
            at = self.clock()
            entries = close_cut(self.run, texts=texts, tracks=tracks, at=at)
            append(self.run, entries, by=self.by, at=at)
        self.ring(self.run, [entry.verb for entry in entries])

    def late(self, step: Step, attempt: Attempt, frozen: Mapping[str, Any], completion: Completion) -> None:
        """A reply came whole after the run was stopped: it is billed, and not used.

        Where whoever stopped the run had closed the call already, because this driver had not been heard, what was
        estimated of it gives way to what it really consumed.
        """
        with transaction.atomic():
            if not Run.objects.filter(pk=self.run.pk, claim=self.run.claim).select_for_update().exists():
                return
            at = self.clock()
            before = Attempt.objects.get(pk=attempt.pk)
            if not _end_attempt(attempt, Attempt.Status.LATE, completion, at, of=UNFINISHED):
                return
            if before.status != Attempt.Status.RUNNING:
                unspend(self.run, before)
            spend(self.run, completion.usage, completion.cost_usd)
            if not is_nested(frozen):
                together([self._bill(step, attempt, frozen, completion, at)])
            entry = Entry("attempt.late", event_of(step, attempt, completion), {"result": completion.text})
            append(self.run, [entry], by=self.by, at=at)
        self.ring(self.run, [entry.verb])

    def let_go(self, texts: Mapping[str, str], tracks: Mapping[str, Marks] = NO_TRACKS) -> None:
        """The driver is ending: the run is anybody's at once, and its open calls are lost.

        Where somebody has just stopped it, they are cut as ever: no other driver will see to them.
        """
        if not self._released():
            self.cut(texts, tracks)

    def _released(self) -> bool:
        with transaction.atomic():
            mine = Run.objects.filter(pk=self.run.pk, claim=self.run.claim).live()
            if not mine.update(heart_at=None, driver=""):
                return False
            at = self.clock()
            released = Entry("run.released", {"claim": self.run.claim})
            append(self.run, [*close_lost(self.run, at=at), released], by=self.by, at=at)
        return True

    def _totals(self, at: datetime) -> dict[str, Any]:
        run = Run.objects.only("input_tokens", "output_tokens", "cost_usd", "cost_unknown").get(pk=self.run.pk)
        return {
            "duration_ms": self._duration_ms(at),
            "tokens": run.input_tokens + run.output_tokens,
            "cost_usd": None if run.cost_unknown else str(run.cost_usd),
        }

    def _duration_ms(self, at: datetime) -> float:
        return round((at - self.run.created_at).total_seconds() * 1000, 1)


def sealed_detail(detail: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """What an answer went by, as an event holds it: what was voted for are texts, which the data names by numbers."""
    if not detail:
        return {}, {}
    votes = {str(number): (said, keys) for number, (said, keys) in enumerate(detail.get("counts", {}).items(), start=1)}
    counts = {"counts": {number: keys for number, (_, keys) in votes.items()}} if votes else {}
    return {"detail": {**detail, **counts}}, {f"vote:{number}": said for number, (said, _) in votes.items()}


def _end_attempt(
    attempt: Attempt,
    status: Attempt.Status,
    completion: Completion,
    at: datetime,
    of: Collection[str] = (Attempt.Status.RUNNING,),
) -> bool:
    """Keep what came back. False where that was done before: the database went away between commit and answer."""
    usage = completion.usage
    return bool(
        Attempt.objects.filter(pk=attempt.pk, status__in=of).update(
            status=status,
            text=completion.text,
            track=attempt.track,
            finish_reason=completion.finish_reason or "",
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            output_tokens=usage.output_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            estimated=usage.estimated,
            cost_usd=completion.cost_usd,
            ttft_ms=completion.ttft_ms,
            duration_ms=completion.duration_ms,
            finished_at=at,
        )
    )
