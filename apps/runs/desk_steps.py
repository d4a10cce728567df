"""What a driver writes of the steps of its run: begun, waiting, answered, failed, skipped, reused."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from apps.audit.statements import Statement, together
from apps.runs import rows
from apps.runs.calls import spend, told
from apps.runs.models import Attempt, Run, Step
from apps.runs.nesting import is_nested, nested_task, open_nested
from apps.runs.pen import Asked, Page, Pen, at_once, pays
from apps.runs.purse import step_ref
from apps.spend.book import Refusal
from apps.workers.calls import CallFailed, Completion, Usage
from apps.workflows.prompt import Rendered


class StepDesk(Pen):
    """The steps' part of the desk."""

    @pays
    @at_once
    def start_step(
        self,
        page: Page,
        *,
        step: Step,
        number: int,
        frozen: Mapping[str, Any],
        digest: str,
        messages: list[dict[str, str]],
    ) -> Asked[Attempt | Refusal]:
        """A worker is about to be called: from now on its reply streams under the attempt.

        Unless what it could cost would cross a limit: then nothing is written, and that limit is the answer.
        """
        ref, worker = step_ref(self.run, step.key, number), frozen["slug"]
        setting_aside = self.purse.reserve(ref=ref, frozen=frozen, messages=messages, at=page.at)
        start = rows.start(
            step=step,
            number=number,
            worker=worker,
            digest=digest,
            messages=messages,
            at=page.at,
            ref=None if setting_aside is None else ref,
        )

        def told(*answers: Any) -> Attempt | Refusal:
            started: tuple[Attempt, bool] | None = answers[-1]
            if started is None:
                refusal: Refusal = answers[0]
                return refusal
            attempt, new = started
            if new:
                data = {"step": step.key, "attempt": attempt.pk, "number": number, "worker": worker}
                page.tell("step.started", data, {"request": json.dumps(messages, ensure_ascii=False)})
            return attempt

        return Asked([start] if setting_aside is None else [setting_aside, start], told)

    def nest(
        self,
        page: Page,
        *,
        step: Step,
        number: int,
        frozen: Mapping[str, Any],
        digest: str,
        rendered: Rendered,
        tags: Sequence[str] = (),
    ) -> tuple[Attempt, Run]:
        """The step is given to the conductor itself: it becomes a run of its own, which `drive_nested` carries out.

        Its task carries the `tags` of all that the step reads.
        """
        given = {"number": number, "worker": frozen["slug"], "digest": digest, "messages": rendered.messages}
        started = together([rows.start(step=step, at=page.at, **given)])[0]
        assert started is not None, "its calls are paid for in the nested run"
        attempt, new = started
        task = nested_task(step.instruction, rendered)
        nest = partial(open_nested, self.run, attempt=attempt, instruction=step.instruction, task=task, frozen=frozen)
        nested = nest(tags=tags, by=self.by, at=page.at)
        if new:
            data = {"step": step.key, "attempt": attempt.pk, "number": number, "worker": frozen["slug"]}
            request = json.dumps(rendered.messages, ensure_ascii=False)
            page.tell("step.started", data | {"nested": nested.code}, {"request": request})
        return attempt, nested

    @pays
    @at_once
    def succeed_step(
        self, page: Page, *, step: Step, attempt: Attempt, frozen: Mapping[str, Any], completion: Completion
    ) -> Asked[None]:
        """The worker's reply is the step's result. A nested run has paid for its calls itself."""
        paid = [] if is_nested(frozen) else [self._bill(step, attempt, frozen, completion, page.at)]

        def told(new: bool, *_: bool) -> None:
            if new:
                page.tell("step.succeeded", event_of(step, attempt, completion), {"result": completion.text})

        return Asked([rows.succeed(step=step, attempt=attempt, completion=completion, at=page.at), *paid], told)

    def _bill(
        self, step: Step, attempt: Attempt, frozen: Mapping[str, Any], completion: Completion, at: datetime
    ) -> Statement[bool]:
        ref = step_ref(self.run, step.key, attempt.number)
        return self.purse.settle(ref=ref, frozen=frozen, usage=completion.usage, cost_usd=completion.cost_usd, at=at)

    def wait_step(self, page: Page, *, step: Step, worker: str, waiting: Mapping[str, Any], words: str) -> None:
        """The step must wait at its worker's door, and why."""
        going = Step.objects.filter(pk=step.pk, status__in=[Step.Status.WAITING, Step.Status.RUNNING])
        if going.update(note=words):
            page.tell("step.waiting", {"step": step.key, "worker": worker, "words": words, **waiting})

    def stand_in(self, page: Page, *, step: Step, worker: str, instead: str, kind: str, why: str) -> None:
        """The step's worker cannot be asked, or not with success: another one is."""
        about = {"step": step.key, "from": worker, "to": instead, "kind": kind}
        page.tell("step.fellback", about, {"reason": why})

    @pays
    def fail_attempt(
        self,
        page: Page,
        *,
        step: Step,
        attempt: Attempt,
        frozen: Mapping[str, Any],
        failure: CallFailed,
        cost_usd: Decimal | None,
        retry_in_s: float | None,
        is_last: bool,
        duration_ms: float,
    ) -> None:
        """A call failed. With no `retry_in_s` its worker is not tried again; if `is_last`, the step failed."""
        usage = failure.usage or Usage(0)
        ended = Attempt.objects.filter(pk=attempt.pk, status=Attempt.Status.RUNNING).update(
            status=Attempt.Status.FAILED,
            text=failure.partial,
            track=attempt.track,
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
        if not is_nested(frozen):
            ref = step_ref(self.run, step.key, attempt.number)
            self.purse.pay(ref=ref, frozen=frozen, usage=usage, cost_usd=cost_usd, at=page.at)
        about: dict[str, Any] = {"step": step.key, "attempt": attempt.pk, "number": attempt.number}
        about["worker"] = attempt.worker
        data = about | {
            "kind": failure.kind,
            "retryable": failure.retryable,
            "status": failure.status,
            "retry_in_s": retry_in_s,
            "duration_ms": round(duration_ms, 1),
            **told(usage, cost_usd),
        }
        page.tell("attempt.failed", data, {"error": failure.message})
        if is_last:
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
            "worker": attempt.worker,
            "source": {"run": source.run.code, "attempt": source.pk},
            "once_cost_usd": None if source.cost_usd is None else str(source.cost_usd),
            "output_tokens": source.output_tokens,
        }
        page.tell("step.reused", data, {"result": source.text})

    def _fail(self, step: Step, message: str, at: datetime) -> bool:
        going = Step.objects.filter(pk=step.pk, status__in=[Step.Status.WAITING, Step.Status.RUNNING])
        return bool(going.update(status=Step.Status.FAILED, note=message, finished_at=at))


def event_of(step: Step, attempt: Attempt, completion: Completion) -> dict[str, Any]:
    return {
        "step": step.key,
        "attempt": attempt.pk,
        "worker": attempt.worker,
        **told(completion.usage, completion.cost_usd),
        "ttft_ms": None if completion.ttft_ms is None else round(completion.ttft_ms, 1),
        "duration_ms": round(completion.duration_ms, 1),
        "finish_reason": completion.finish_reason,
    }
