"""Carrying out single steps: reused, nested or called, and written down however it ends."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.models import Max
from django.utils import timezone

from apps.core.errors import StudioError
from apps.runs.calling import Credit, Door, Tries, Wait, tokens_of
from apps.runs.desk import Desk, Page, RunStopped, RunTaken
from apps.runs.engine import StepFailed, StepHeld
from apps.runs.guard import Guard, held_within
from apps.runs.models import Attempt, Run, Step
from apps.runs.nesting import is_nested, reply_of
from apps.runs.notes import Notes
from apps.runs.process import Process
from apps.runs.reuse import Recorded, digest_of, forecast, recorded, render, same_request
from apps.runs.tracks import Heard, Marks
from apps.spend.book import Refusal
from apps.workers.calls import CallFailed, Completion, Endpoint
from apps.workers.places import Place
from apps.workers.services import open_endpoint
from apps.workflows import workflow as workflows
from apps.workflows.workflow import Workflow

# What keeps a call from being made, so that no attempt tells of it.
NOT_MADE = ("circuit", "unavailable")

Frozen = Mapping[str, Any]
Messages = list[dict[str, str]]


class Stepping:
    """The steps of one run in the hands of one driver. `drive_nested` carries out a run within this one."""

    def __init__(
        self,
        run: Run,
        desk: Desk,
        process: Process,
        notes: Notes,
        guard: Guard,
        drive_nested: Callable[[int], Awaitable[None]],
    ) -> None:
        self.run = run
        self.desk = desk
        self.process = process
        self.notes = notes
        self.guard = guard
        self.drive_nested = drive_nested
        self.steps: dict[str, Step] = {}
        self.failed: dict[str, StepFailed] = {}  # steps that failed for good in the hands of a driver before this one
        self.nested: dict[str, tuple[Attempt, Run]] = {}  # steps that are runs of their own, begun by a driver before
        self.recorded: Recorded = {}
        self.endpoints: dict[str, Endpoint] = {}
        self.writing: dict[str, Heard] = {}  # stream -> what a worker has written so far
        self.tried: Counter[str] = Counter()  # the number of a step's last attempt, by any driver

    def load(self) -> dict[str, str]:
        """The step rows, what the lineage offers for reuse, and the results of steps that finished before."""
        self.steps = {step.key: step for step in self.run.steps.all()}
        if self.run.claim > 1:
            last = self.run.attempts.order_by().values_list("step__key").annotate(Max("number"))
            self.tried = Counter(dict(last))
            self.guard.answered = self._answered()
        if self.run.root_id is not None:
            self.recorded = recorded(self.run, keys=self.steps)
        if self.run.claim > 1 and self.run.setup.get("nesting"):
            going = self.run.attempts.filter(status=Attempt.Status.RUNNING, nested__isnull=False)
            self.nested = {each.step.key: (each, each.nested) for each in going.select_related("step", "nested")}
        self.failed = {
            key: StepFailed(step.note) for key, step in self.steps.items() if step.status == Step.Status.FAILED
        }
        _ = self.desk.purse.payer  # read here: on the loop nothing may be
        for worker in {step.worker for step in self.steps.values() if step.status == Step.Status.WAITING}:
            if not self.desk.purse.knows(self.run.pool[worker]):
                self.desk.purse.look_up(worker, at=timezone.now())
        return {key: step.result for key, step in self.steps.items() if step.status in Step.DONE}

    def _answered(self) -> dict[str, str]:
        """Whose reply the result of each step is that was done before, a person's left out."""
        replies = self.run.attempts.filter(status__in=(Attempt.Status.SUCCEEDED, Attempt.Status.REUSED))
        return dict(replies.exclude(worker="").order_by("number").values_list("step__key", "worker"))

    def taken_over(self, workflow: Workflow) -> set[str]:
        """The steps for which nobody is asked: the very same was answered in the lineage, and all that they read."""
        if not self.recorded:
            return set()
        fates = forecast(workflow, task=self.run.task, pool=self.run.pool, known=self.recorded, fresh=self.run.fresh)
        return {fate.step for fate in fates if fate.verdict == "reuse"}

    async def call(self, workflow: Workflow, step: workflows.Step, results: Mapping[str, str]) -> str:
        """The result of one step: taken from the lineage where the very same request was answered, else asked for.

        :raises StepFailed: nobody in its stead gave one, either. :raises StepHeld: a limit or a rule forbids it.
        """
        row, frozen = self.steps[step.key], self.run.pool[step.worker]
        rendered = render(workflow, step, task=self.run.task, results=results)
        known = {} if step.key in self.run.fresh else self.recorded
        if source := same_request(known, step.key, frozen, rendered.messages):
            return await self._reuse(row, source, rendered.messages)
        self._check_pause(step.key)
        if is_nested(frozen):
            await self.guard.check_call(step.key, frozen)
            number, digest = self.tried[step.key] + 1, digest_of(frozen, rendered.messages)
            nest = partial(self.desk.nest, step=row, number=number, frozen=frozen, digest=digest, rendered=rendered)
            return await self._nest(row, frozen, nest)
        chain: list[Frozen] = list(frozen.get("fallbacks", ()))
        each: Frozen = frozen
        while True:
            digest = digest_of(each, rendered.messages)
            try:
                text = await self._ask(row, each, digest, rendered.messages, is_last=not chain)
            except CallFailed as failure:
                each = await self._instead_of(row, each, chain, failure)
            else:
                self.guard.answered[step.key] = each["slug"]
                return text

    async def _instead_of(self, row: Step, failed: Frozen, chain: list[Frozen], failure: CallFailed) -> Frozen:
        """The next of `chain` who may be asked in the place of one that `failed`; it is told, and taken off.

        :raises StepFailed: there is none. :raises StepHeld: rules keep the step's text from all that are left.
        """
        if not chain:
            if failure.kind in NOT_MADE:
                fail = partial(self.desk.fail_step, step=row, kind=failure.kind, message=failure.message)
                await self.notes.write(fail)
            raise StepFailed(failure.message, kind=failure.kind) from failure
        instead = await self.guard.first_that_may(row.key, chain)
        del chain[: chain.index(instead) + 1]
        away = partial(self.desk.stand_in, step=row, worker=failed["slug"], instead=instead["slug"])
        await self.notes.write(partial(away, kind=failure.kind, why=failure.message))
        return instead

    @property
    def is_paused(self) -> bool:
        """Whether somebody asked that no more steps begin, in this run or in the one around it."""
        return self.process.wishes_of(self.desk.purse.payer).pause

    def _check_pause(self, key: str) -> None:
        """:raises StepHeld: somebody wants to look before this step begins."""
        if self.is_paused:
            raise StepHeld("pause")
        wishes = self.process.wishes_of(self.run)
        if key in wishes.breakpoints and key not in self.run.passed:
            raise StepHeld("pause", {"breakpoint": key})

    def being_written(self) -> dict[str, str]:
        """What workers were writing when they were cut, by stream."""
        return {stream: heard.text for stream, heard in self.writing.items()}

    def tracks(self) -> dict[str, Marks]:
        """When those texts were how long."""
        return {stream: heard.track for stream, heard in self.writing.items()}

    async def skip(self, step: workflows.Step, because: tuple[str, ...]) -> None:
        """What the step reads will never come."""
        await self.notes.write(partial(self.desk.skip_step, step=self.steps[step.key], because=because))

    async def _reuse(self, row: Step, source: Attempt, messages: Messages) -> str:
        reuse = partial(self.desk.reuse, step=row, source=source, messages=messages, number=self.tried[row.key] + 1)
        await self.notes.write(reuse)
        self.guard.answered[row.key] = source.worker
        return source.text

    # --- a step that is a run of its own -----------------------------------------------------------------------------

    async def _nest(self, row: Step, frozen: Frozen, nest: Callable[..., tuple[Attempt, Run]]) -> str:
        """The answer of the run that the step becomes, or became in the hands of the driver before this one."""
        begun = self.nested.pop(row.key, None)
        if begun is None:
            begun = await self.notes.write(partial(nest, tags=await self.guard.given_to(row.key)))
        attempt, nested = begun
        began = time.monotonic()
        await self.drive_nested(nested.pk)
        nested = await self.notes.do(partial(Run.objects.get, pk=nested.pk))
        if nested.status == Run.Status.HELD:
            raise held_within(nested)
        if not nested.is_ended:
            raise OperationalError(f"the nested run {nested.code} was let go of")  # and with it this one must be
        try:
            completion = reply_of(nested)
        except CallFailed as failure:
            cost_usd = None if nested.cost_unknown else nested.cost_usd
            fail = partial(self.desk.fail_attempt, step=row, attempt=attempt, frozen=frozen, failure=failure)
            duration_ms = (time.monotonic() - began) * 1000
            await self.notes.write(
                partial(fail, cost_usd=cost_usd, retry_in_s=None, is_last=True, duration_ms=duration_ms)
            )
            raise StepFailed(failure.message, kind=failure.kind) from failure
        self._keep(row, attempt, frozen, completion)
        return completion.text

    # --- a step that a worker is called for --------------------------------------------------------------------------

    async def _ask(self, row: Step, frozen: Frozen, digest: str, messages: Messages, *, is_last: bool) -> str:
        """One worker's reply: as many tries as help, each from behind the worker's door and with the money set aside.

        :raises CallFailed: the last one, written down. :raises StepHeld: it would cross a limit.
        """
        endpoint = await self._endpoint(frozen)
        tell = partial(self._tell_wait, row, frozen)
        door = Door(self.process.turnstile, frozen, limits=self.process.limits, tell=tell)
        tries = Tries(self.run.setup["tries"], may_wait=is_last)
        credit = Credit(tell=tell)
        async for trial in tries.again():
            with trial:
                while True:
                    async with door.open(tokens=tokens_of(frozen, messages), may_wait=is_last) as place:
                        attempt = await self._begin(row, frozen, digest, messages)
                        if isinstance(attempt, Attempt):
                            fails = partial(tries.failed, state=trial.retry_state)
                            return await self._call(row, attempt, frozen, endpoint, place, fails, is_last=is_last)
                    await credit.wait(attempt)
        raise AssertionError("tenacity either returns or raises")

    async def _call(
        self,
        row: Step,
        attempt: Attempt,
        frozen: Frozen,
        endpoint: Endpoint,
        place: Place,
        fails: Callable[[CallFailed], float | None],
        *,
        is_last: bool,
    ) -> str:
        """One call, written down however it ends. `fails` says how long until the next one, if there is any."""
        began = time.monotonic()
        place.unused = False
        try:
            completion = await self._stream(attempt, endpoint, attempt.sent)
        except CallFailed as failure:
            await place.heard(failure)
            told = partial(self._note_failure, row, attempt, frozen, endpoint, failure, fails(failure))
            await told(is_last=is_last, duration_ms=(time.monotonic() - began) * 1000)
            raise
        place.tokens_used = completion.usage.input_tokens + completion.usage.output_tokens
        self._keep(row, attempt, frozen, completion)
        await place.heard(None)
        return completion.text

    async def _begin(self, row: Step, frozen: Frozen, digest: str, messages: Messages) -> Attempt | Refusal:
        """The attempt, written down with the money for it set aside; or the limit that forbids it.

        :raises StepHeld: the run was paused while the step waited for its place, or for its next try; or rules keep
            what the step reads from whom it would ask.
        """
        if self.is_paused:
            raise StepHeld("pause")
        await self.guard.check_call(row.key, frozen)
        purse = self.desk.purse
        if not purse.knows(frozen):
            await self.notes.do(partial(purse.look_up, frozen["slug"], at=timezone.now()))
        start = partial(self.desk.start_step, step=row, number=self.tried[row.key] + 1, frozen=frozen)
        begun = await self.notes.write(partial(start, digest=digest, messages=messages))
        self.tried[row.key] += isinstance(begun, Attempt)
        return begun

    async def _endpoint(self, frozen: Frozen) -> Endpoint:
        slug = frozen["slug"]
        if slug not in self.endpoints:
            try:
                opening = partial(open_endpoint, frozen)  # reads the database only for a key
                self.endpoints[slug] = opening() if frozen["credential"] is None else await self.notes.do(opening)
            except StudioError as refusal:
                raise CallFailed("unavailable", refusal.message, retryable=False) from refusal
        return self.endpoints[slug]

    async def _tell_wait(self, row: Step, frozen: Frozen, wait: Wait) -> None:
        words = wait.words(frozen["name"])
        tell = partial(self.desk.wait_step, step=row, worker=frozen["slug"], waiting=wait.told, words=words)
        await self.notes.write(tell)

    async def _stream(self, attempt: Attempt, endpoint: Endpoint, messages: Messages) -> Completion:
        """The worker's reply, shown as it comes."""
        stream, code, typist = attempt.stream, self.run.code, self.process.typist
        heard = self.writing[stream] = Heard(since=attempt.started_at)

        def on_delta(piece: str) -> None:
            heard.hear(piece)
            typist.say(code=code, stream=stream, piece=piece)

        try:
            return await self.process.gateway.stream(endpoint, messages, on_delta=on_delta)
        finally:
            attempt.track = heard.track

    def _keep(self, row: Step, attempt: Attempt, frozen: Frozen, completion: Completion) -> None:
        """Have a reply written down as the step's result.

        Its readers start at once: what they write joins this in one transaction, before any of them is called.
        """
        done = partial(self.desk.succeed_step, step=row, attempt=attempt, frozen=frozen, completion=completion)
        late = partial(self.desk.late, step=row, attempt=attempt, frozen=frozen, completion=completion)
        self.notes.keep(self._note_success(self.notes.scribe.write(done), done, late))
        self._close(attempt)

    async def _note_success(
        self, writing: "asyncio.Future[None]", done: Callable[[Page], None], late: Callable[[], None]
    ) -> None:
        """See that a reply is written down: as the step's result, or as late where the run was stopped meanwhile."""
        try:
            try:
                await writing
            except (OperationalError, InterfaceError):
                await self.notes.patiently(lambda: self.notes.scribe.write(done))
        except RunStopped:
            await self.notes.do(late)
        except RunTaken:
            pass  # another driver asks again; whoever wrote next learnt it too
        except Exception as fault:
            self.notes.fault = fault

    async def _note_failure(
        self,
        row: Step,
        attempt: Attempt,
        frozen: Frozen,
        endpoint: Endpoint,
        failure: CallFailed,
        retry_in_s: float | None,
        *,
        is_last: bool,
        duration_ms: float,
    ) -> None:
        """Write a failed call down, with the wait before the next one; where nobody stands in, the step has failed."""
        cost: Decimal | None = endpoint.price.cost_usd(failure.usage) if failure.usage else Decimal(0)
        fail = partial(self.desk.fail_attempt, step=row, attempt=attempt, frozen=frozen, failure=failure, cost_usd=cost)
        wait_s = None if retry_in_s is None else round(retry_in_s, 2)
        is_over = is_last and retry_in_s is None
        await self.notes.write(partial(fail, retry_in_s=wait_s, is_last=is_over, duration_ms=duration_ms))
        self._close(attempt)

    def _close(self, attempt: Attempt) -> None:
        self.process.typist.close(attempt.stream)
        self.writing.pop(attempt.stream, None)
