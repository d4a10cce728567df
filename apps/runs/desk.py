"""Where a driver writes: the rows of its run and the events that explain them, in one transaction for one moment.

What happens together (a step ends, its readers start) is written together; and each write first makes sure that the
run is still the driver's own and still going, so of a driver and a person who stops the run, or of two drivers, one
wins. Where the database went away between a commit and its answer, the same is asked again and changes nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from apps.audit.log import Actor, Entry
from apps.runs import rows
from apps.runs.calls import close_cut, close_lost, spend, told
from apps.runs.log import adopted, append, lay_out, move
from apps.runs.models import Attempt, Proposal, Run, Step
from apps.workers.calls import CallFailed, Completion, Usage
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow


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
            self._check_hold()
            page = Page(self.clock())
            results = [job(page) for job in jobs]
            append(self.run, page.entries, by=self.by, at=page.at)
        self.ring(self.run, [entry.verb for entry in page.entries])
        return results

    def _check_hold(self) -> None:
        """Lock the run's row, so that a stop or another driver waits for this write or is seen by it."""
        status, claim = rows.lock_run(self.run.pk)
        if claim != self.run.claim:
            raise RunTaken
        if status not in Run.LIVE:
            raise RunStopped

    # --- planning --------------------------------------------------------------------------------------------------

    def start_planning(
        self, page: Page, *, messages: Sequence[Mapping[str, str]], number: int, conductor: str
    ) -> Proposal:
        """A planner is being asked: from now on its text streams under the proposal."""
        given = {"conductor": conductor, "sent": list(messages), "started_at": page.at}
        proposal, new = Proposal.objects.get_or_create(run=self.run, number=number, defaults=given)
        if new:
            data = {"proposal": proposal.pk, "number": number, "conductor": conductor or None}
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

    def adopt(self, page: Page, *, workflow: Workflow, by: str, warnings: Sequence[Problem], hold: bool) -> None:
        """Take `workflow` as the one to carry out: at once, or after somebody has approved it."""
        if Run.objects.filter(pk=self.run.pk, workflow_body__isnull=False).exists():
            return  # written before, as above
        page.entries.append(adopted(workflow, by=by, warnings=warnings))
        lay_out(self.run, workflow)
        body = workflow.model_dump(mode="json")
        if hold:
            move(self.run, Run.Status.HELD, workflow_body=body, driver="", heart_at=None)
            page.tell("run.held", {"reason": "review"})
        else:
            move(self.run, Run.Status.RUNNING, workflow_body=body)

    # --- steps -----------------------------------------------------------------------------------------------------

    def start_step(
        self, page: Page, *, step: Step, number: int, worker: str, digest: str, messages: list[dict[str, str]]
    ) -> Attempt:
        """A worker is about to be called: from now on its reply streams under the attempt."""
        attempt, new = rows.start(step=step, number=number, worker=worker, digest=digest, messages=messages, at=page.at)
        if new:
            data = {"step": step.key, "attempt": attempt.pk, "number": number, "worker": worker}
            page.tell("step.started", data, {"request": json.dumps(messages, ensure_ascii=False)})
        return attempt

    def succeed_step(self, page: Page, *, step: Step, attempt: Attempt, completion: Completion) -> None:
        """The worker's reply is the step's result."""
        if rows.succeed(step=step, attempt=attempt, completion=completion, at=page.at):
            page.tell("step.succeeded", _event_of(step, attempt, completion), {"result": completion.text})

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

    def succeed(self, page: Page, *, answer: str, step: str, rule: str) -> None:
        """The run reached its answer."""
        move(self.run, Run.Status.SUCCEEDED, answer=answer, answer_step=step, answer_rule=rule, finished_at=page.at)
        page.tell("run.succeeded", {"rule": rule, "step": step} | self._totals(page.at), {"answer": answer})

    def fail(self, page: Page, *, message: str, step: str = "", code: str) -> None:
        """The run ended without an answer; `message` tells a person what to do next."""
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
        """A reply came whole after the run was stopped: it is billed, and not used."""
        with transaction.atomic():
            if not Run.objects.filter(pk=self.run.pk, claim=self.run.claim).select_for_update().exists():
                return
            at = self.clock()
            if not _end_attempt(attempt, Attempt.Status.LATE, completion, at):
                return
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
            "duration_ms": round((at - self.run.created_at).total_seconds() * 1000, 1),
            "tokens": run.input_tokens + run.output_tokens,
            "cost_usd": None if run.cost_unknown else str(run.cost_usd),
        }


def _end_attempt(attempt: Attempt, status: Attempt.Status, completion: Completion, at: datetime) -> bool:
    """Keep what came back. False where that was done before: the database went away between commit and answer."""
    usage = completion.usage
    return bool(
        Attempt.objects.filter(pk=attempt.pk, status=Attempt.Status.RUNNING).update(
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
