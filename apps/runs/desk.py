"""Where a driver writes: the rows of its run and the events that explain them, in one transaction for one moment.

What happens together (a step ends, its readers start) is written together; and each write first makes sure that the
run is still the driver's own and still going, so of a driver and a person who stops the run, or of two drivers, one
wins. Where the database went away between a commit and its answer, the same is asked again and changes nothing.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from django.db import transaction

from apps.audit.log import Actor, Entry
from apps.audit.statements import Statement, together
from apps.runs import rows
from apps.runs.calls import close_cut, close_lost, spend, told, unspend
from apps.runs.log import IllegalMove, adopted, append, extended, lay_out, move, take_head
from apps.runs.models import Attempt, Proposal, Run, Step
from apps.runs.nesting import end_nested, nested_task, open_nested
from apps.workers.calls import CallFailed, Completion, Usage
from apps.workflows.graph import Problem
from apps.workflows.prompt import Rendered
from apps.workflows.sinks import Answer
from apps.workflows.workflow import Workflow

# A call in one of these may still bring a reply, though nobody waits for it any more.
UNFINISHED = (Attempt.Status.RUNNING, Attempt.Status.CUT, Attempt.Status.LOST)

T = TypeVar("T")
P = ParamSpec("P")


class RunTaken(Exception):
    """Another driver has taken the run over: this one's heart was not heard in time."""


class RunStopped(Exception):
    """A person stopped the run while its driver worked."""


@dataclass
class Page:
    """An open transaction in which a driver writes: the time it writes at, and the events that will explain it."""

    at: datetime
    entries: list[Entry] = field(default_factory=list)

    def tell(self, verb: str, data: Mapping[str, Any], texts: Mapping[str, str] | None = None) -> None:
        self.entries.append(Entry(verb, dict(data), texts or {}))


@dataclass(frozen=True)
class Asked(Generic[T]):
    """A job that is one statement: it goes to the database with all that is asked in this moment."""

    statement: Statement[Any]
    told: Callable[[Any], T]  # makes the job's result of the answer, and tells what happened


def at_once(method: Callable[Concatenate[Any, "Page", P], Asked[T]]) -> Callable[Concatenate[Any, "Page", P], T]:
    """Marks a job of the desk that is `Asked`; `Desk.write` gives its result to whoever asked."""
    method.is_at_once = True  # type: ignore[attr-defined]  # a mark on a function
    return cast("Callable[Concatenate[Any, Page, P], T]", method)


def _is_at_once(job: Callable[[Page], Any]) -> bool:
    return getattr(getattr(job, "func", job), "is_at_once", False)


@dataclass
class Desk:
    """Where one driver writes one run that it claimed.

    Everything but the last three methods is written on a `Page`, together with whatever else happens in that moment.
    `ring` is called after each commit with the verbs written, so that viewers come and read.
    """

    run: Run
    by: Actor
    clock: Callable[[], datetime]
    ring: Callable[[Run, Sequence[str]], None]

    def write(self, jobs: Sequence[Callable[[Page], Any]]) -> list[Any]:
        """Carry out `jobs` in one transaction, if the run is still this driver's and still going.

        :raises RunStopped: :raises RunTaken:
        """
        with transaction.atomic():
            page = Page(self.clock())
            asked = {number: job(page) for number, job in enumerate(jobs) if _is_at_once(job)}
            hold: list[Statement[Any]] = [rows.lock_run(self.run.pk), take_head(self.run)]
            held, head, *answers = together([*hold, *(each.statement for each in asked.values())])
            self._check_hold(*held)
            answered = dict(zip(asked, answers, strict=True))
            results = [
                asked[number].told(answered[number]) if number in asked else job(page)
                for number, job in enumerate(jobs)
            ]
            append(self.run, page.entries, by=self.by, at=page.at, head=head)
        self.ring(self.run, [entry.verb for entry in page.entries])
        return results

    def _check_hold(self, status: str, claim: int) -> None:
        """The run's row is locked: a stop or another driver waits for this write, or is seen by it."""
        if claim != self.run.claim:
            raise RunTaken
        if status not in Run.LIVE:
            raise RunStopped

    # --- planning --------------------------------------------------------------------------------------------------

    def start_planning(
        self, page: Page, *, messages: Sequence[Mapping[str, str]], number: int, conductor: str, round: int = 1
    ) -> Proposal:
        """A planner is being asked: from now on its text streams under the proposal."""
        given = {"conductor": conductor, "round": round, "sent": list(messages), "started_at": page.at}
        proposal, new = Proposal.objects.get_or_create(run=self.run, number=number, defaults=given)
        if new:
            data = {"proposal": proposal.pk, "number": number, "round": round, "conductor": conductor or None}
            page.tell("planning.started", data, {"request": json.dumps(messages, ensure_ascii=False)})
        return proposal

    def finish_planning(
        self,
        page: Page,
        *,
        proposal: Proposal,
        status: Proposal.Status,
        raw: str,
        repairs: Sequence[str] = (),
        problems: Sequence[str] = (),
        verdict: str = "",
        steps: int = 0,
        completion: Completion | None = None,
        failure: CallFailed | None = None,
        cost_usd: Decimal | None = None,
    ) -> None:
        """Keep what a planner returned, whatever came of it."""
        usage = completion.usage if completion else failure.usage if failure else None
        cost_usd = completion.cost_usd if completion else cost_usd
        ttft_ms = completion.ttft_ms if completion else failure.ttft_ms if failure else None
        if not Proposal.objects.filter(pk=proposal.pk, status=Proposal.Status.WRITING).exists():
            return  # written before: the database went away between the commit and its answer
        spend(self.run, usage, cost_usd)
        duration_ms = (page.at - proposal.started_at).total_seconds() * 1000
        fields: dict[str, Any] = {
            "status": status,
            "verdict": verdict,
            "raw": raw,
            "repairs": list(repairs),
            "problems": list(problems),
            "input_tokens": usage.input_tokens if usage else 0,
            "output_tokens": usage.output_tokens if usage else 0,
            "estimated": usage.estimated if usage else False,
            "cost_usd": cost_usd,
            "ttft_ms": ttft_ms,
            "duration_ms": duration_ms,
            "finished_at": page.at,
        }
        Proposal.objects.filter(pk=proposal.pk).update(**fields)
        valid = status == Proposal.Status.VALID
        data: dict[str, Any] = {
            "proposal": proposal.pk,
            "number": proposal.number,
            "round": proposal.round,
            "verdict": verdict or None,
            "repairs": list(repairs),
            "problems": list(problems),
            "steps": steps,
            "input_tokens": fields["input_tokens"],
            "output_tokens": fields["output_tokens"],
            "estimated": fields["estimated"],
            "cost_usd": None if cost_usd is None else str(cost_usd),
            "duration_ms": round(duration_ms, 1),
            "ttft_ms": None if ttft_ms is None else round(ttft_ms, 1),
        }
        texts = {"raw": raw} | ({"error": failure.message} if failure else {})
        page.tell("planning.done" if valid else "planning.failed", data, texts)

    def fall_back(self, page: Page, *, planner: str, why: str) -> None:
        """The run's planner brought no workflow: another one stands in, and people are told."""
        notice = f"{why} So the planner “{planner}” stood in."
        if Run.objects.filter(pk=self.run.pk, notice="").update(notice=notice):
            self.run.notice = notice
            page.tell("planning.fellback", {"from": self.run.setup["planner"], "to": planner}, {"reason": why})

    def adopt(
        self, page: Page, *, workflow: Workflow, by: str, planner: str, warnings: Sequence[Problem], hold: bool
    ) -> None:
        """Take `workflow` as the one to carry out: at once, or after somebody has approved it."""
        if Run.objects.filter(pk=self.run.pk, workflow_body__isnull=False).exists():
            return  # written before, as above
        page.entries.append(adopted(workflow, by=by, warnings=warnings))
        lay_out(self.run, workflow)
        body = workflow.model_dump(mode="json")
        if hold:
            move(self.run, Run.Status.HELD, workflow_body=body, planned_by=planner, driver="", heart_at=None)
            page.tell("run.held", {"reason": "review"})
        else:
            move(self.run, Run.Status.RUNNING, workflow_body=body, planned_by=planner)

    def extend(self, page: Page, *, workflow: Workflow, warnings: Sequence[Problem]) -> None:
        """The planner saw what came of its workflow, and adds steps to it: another round, or its next turn."""
        old = self.run.steps.count()
        if old == len(workflow.steps):
            return  # written before, as above
        page.entries.append(extended(workflow, since=old, warnings=warnings))
        lay_out(self.run, workflow, since=old)
        self.run.workflow_body = workflow.model_dump(mode="json")
        Run.objects.filter(pk=self.run.pk).update(workflow_body=self.run.workflow_body)

    def give_notice(self, page: Page, *, notice: str) -> None:
        """Something of the planning that people must know, though the run goes on."""
        self.run.notice = " ".join(filter(None, [self.run.notice, notice]))
        Run.objects.filter(pk=self.run.pk).update(notice=self.run.notice)
        page.tell("run.noticed", {}, {"reason": notice})

    # --- steps -----------------------------------------------------------------------------------------------------

    @at_once
    def start_step(
        self, page: Page, *, step: Step, number: int, worker: str, digest: str, messages: list[dict[str, str]]
    ) -> Asked[Attempt]:
        """A worker is about to be called: from now on its reply streams under the attempt."""

        def told(answer: tuple[Attempt, bool]) -> Attempt:
            attempt, new = answer
            if new:
                data = {"step": step.key, "attempt": attempt.pk, "number": number, "worker": worker}
                page.tell("step.started", data, {"request": json.dumps(messages, ensure_ascii=False)})
            return attempt

        return Asked(
            rows.start(step=step, number=number, worker=worker, digest=digest, messages=messages, at=page.at), told
        )

    def nest(
        self, page: Page, *, step: Step, number: int, frozen: Mapping[str, Any], digest: str, rendered: Rendered
    ) -> tuple[Attempt, Run]:
        """The step is given to the conductor itself: it becomes a run of its own, which `drive_nested` carries out."""
        given = {"number": number, "worker": frozen["slug"], "digest": digest, "messages": rendered.messages}
        [(attempt, new)] = together([rows.start(step=step, at=page.at, **given)])
        task = nested_task(step.instruction, rendered)
        nested = open_nested(
            self.run, attempt=attempt, instruction=step.instruction, task=task, frozen=frozen, by=self.by, at=page.at
        )
        if new:
            data = {"step": step.key, "attempt": attempt.pk, "number": number, "worker": frozen["slug"]}
            request = json.dumps(rendered.messages, ensure_ascii=False)
            page.tell("step.started", data | {"nested": nested.code}, {"request": request})
        return attempt, nested

    @at_once
    def succeed_step(self, page: Page, *, step: Step, attempt: Attempt, completion: Completion) -> Asked[None]:
        """The worker's reply is the step's result."""

        def told(new: bool) -> None:
            if new:
                page.tell("step.succeeded", _event_of(step, attempt, completion), {"result": completion.text})

        return Asked(rows.succeed(step=step, attempt=attempt, completion=completion, at=page.at), told)

    def fail_attempt(
        self,
        page: Page,
        *,
        step: Step,
        attempt: Attempt,
        failure: CallFailed,
        cost_usd: Decimal | None,
        retry_in_s: float | None,
        duration_ms: float,
    ) -> None:
        """A call failed. Where `retry_in_s` is None nothing more is tried, and the step has failed with it."""
        usage = failure.usage or Usage(0)
        ended = Attempt.objects.filter(pk=attempt.pk, status=Attempt.Status.RUNNING).update(
            status=Attempt.Status.FAILED,
            text=failure.partial,
            error=failure.message,
            error_kind=failure.kind,
            error_status=failure.status,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            estimated=usage.estimated,
            cost_usd=cost_usd,
            ttft_ms=failure.ttft_ms,
            duration_ms=duration_ms,
            finished_at=page.at,
        )
        if not ended:
            return
        spend(self.run, failure.usage, cost_usd)
        about: dict[str, Any] = {"step": step.key, "attempt": attempt.pk, "number": attempt.number}
        data = about | {
            "kind": failure.kind,
            "retryable": failure.retryable,
            "status": failure.status,
            "retry_in_s": retry_in_s,
            "duration_ms": round(duration_ms, 1),
            **told(usage, cost_usd),
        }
        page.tell("attempt.failed", data, {"error": failure.message})
        if retry_in_s is None:
            self._fail(step, failure.message, page.at)
            page.tell("step.failed", about | {"kind": failure.kind}, {"error": failure.message})

    def fail_step(self, page: Page, *, step: Step, kind: str, message: str) -> None:
        """The step could not even be tried."""
        if self._fail(step, message, page.at):
            page.tell("step.failed", {"step": step.key, "attempt": None, "kind": kind}, {"error": message})

    def skip_step(self, page: Page, *, step: Step, because: Sequence[str]) -> None:
        """What the step reads will never come."""
        waiting = Step.objects.filter(pk=step.pk, status=Step.Status.WAITING)
        if waiting.update(status=Step.Status.SKIPPED, finished_at=page.at):
            page.tell("step.skipped", {"step": step.key, "because": list(because)})

    def reuse(
        self, page: Page, *, step: Step, source: Attempt, messages: list[dict[str, str]], number: int = 1
    ) -> None:
        """Take the recorded result of an attempt in the lineage whose request was the same: it costs nothing."""
        given = {
            "run": self.run,
            "worker": source.worker,
            "status": Attempt.Status.REUSED,
            "digest": source.digest,
            "sent": messages,
            "text": source.text,
            "source": source,
            "cost_usd": Decimal(0),
            "started_at": page.at,
            "finished_at": page.at,
        }
        attempt, new = Attempt.objects.get_or_create(step=step, number=number, defaults=given)
        if not new:
            return
        Step.objects.filter(pk=step.pk).update(
            status=Step.Status.REUSED, result=source.text, started_at=page.at, finished_at=page.at
        )
        data = {
            "step": step.key,
            "attempt": attempt.pk,
            "source": {"run": source.run.code, "attempt": source.pk},
            "once_cost_usd": None if source.cost_usd is None else str(source.cost_usd),
            "output_tokens": source.output_tokens,
        }
        page.tell("step.reused", data, {"result": source.text})

    # --- the end ---------------------------------------------------------------------------------------------------

    @at_once
    def succeed(self, page: Page, *, answer: Answer) -> Asked[None]:
        """The run reached its answer. :raises IllegalMove: it was in no state to."""

        def told(totals: tuple[int, Decimal | None] | None) -> None:
            if totals is None:
                raise IllegalMove(f"run {self.run.code} is not running, so it cannot succeed")
            how = {"rule": answer.rule, "step": answer.step, "duration_ms": self._duration_ms(page.at)}
            tokens, cost_usd = totals
            spent = {"tokens": tokens, "cost_usd": None if cost_usd is None else str(cost_usd)}
            detail = {"detail": dict(answer.detail)} if answer.detail else {}
            page.tell("run.succeeded", how | spent | detail, {"answer": answer.text})

        return Asked(rows.succeed_run(run=self.run, answer=answer, at=page.at), told)

    def fail(self, page: Page, *, message: str, step: str = "", code: str) -> None:
        """The run ended without an answer; `message` tells a person what to do next."""
        end_nested(self.run, by=self.by, at=page.at)
        move(self.run, Run.Status.FAILED, error=message, error_step=step, finished_at=page.at)
        page.tell("run.failed", {"step": step or None, "code": code} | self._totals(page.at), {"error": message})

    def cut(self, texts: Mapping[str, str]) -> None:
        """The run was stopped: say which calls were cut, and keep what they had written. `texts` by stream."""
        with transaction.atomic():
            if not Run.objects.filter(pk=self.run.pk, claim=self.run.claim).select_for_update().exists():
                return
            at = self.clock()
            entries = close_cut(self.run, texts=texts, at=at)
            append(self.run, entries, by=self.by, at=at)
        self.ring(self.run, [entry.verb for entry in entries])

    def late(self, step: Step, attempt: Attempt, completion: Completion) -> None:
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
            entry = Entry("attempt.late", _event_of(step, attempt, completion), {"result": completion.text})
            append(self.run, [entry], by=self.by, at=at)
        self.ring(self.run, [entry.verb])

    def let_go(self) -> None:
        """The driver is ending: the run is anybody's at once, and its open calls are lost."""
        with transaction.atomic():
            mine = Run.objects.filter(pk=self.run.pk, claim=self.run.claim).live()
            if not mine.update(heart_at=None, driver=""):
                return
            at = self.clock()
            released = Entry("run.released", {"claim": self.run.claim})
            append(self.run, [*close_lost(self.run, at=at), released], by=self.by, at=at)

    # --- helpers ---------------------------------------------------------------------------------------------------

    def _fail(self, step: Step, message: str, at: datetime) -> bool:
        going = Step.objects.filter(pk=step.pk, status__in=[Step.Status.WAITING, Step.Status.RUNNING])
        return bool(going.update(status=Step.Status.FAILED, note=message, finished_at=at))

    def _totals(self, at: datetime) -> dict[str, Any]:
        run = Run.objects.only("input_tokens", "output_tokens", "cost_usd", "cost_unknown").get(pk=self.run.pk)
        return {
            "duration_ms": self._duration_ms(at),
            "tokens": run.input_tokens + run.output_tokens,
            "cost_usd": None if run.cost_unknown else str(run.cost_usd),
        }

    def _duration_ms(self, at: datetime) -> float:
        return round((at - self.run.created_at).total_seconds() * 1000, 1)


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


def _event_of(step: Step, attempt: Attempt, completion: Completion) -> dict[str, Any]:
    return {
        "step": step.key,
        "attempt": attempt.pk,
        **told(completion.usage, completion.cost_usd),
        "ttft_ms": None if completion.ttft_ms is None else round(completion.ttft_ms, 1),
        "duration_ms": round(completion.duration_ms, 1),
        "finish_reason": completion.finish_reason,
    }
