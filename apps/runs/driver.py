"""Driving one run: plan, check, execute, and write everything down.

The coroutine runs on the process's loop and waits for models there; whatever it writes is written by the run's own
thread, through a `Scribe`. It is cancelled from outside when the run was stopped, taken over, or must be let go of.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from apps.conductor.learning.vectors import tfidf_vectors
from apps.core.errors import StudioError
from apps.runs import claim as claims
from apps.runs import process as processes
from apps.runs.desk import Desk, Page, RunStopped, RunTaken
from apps.runs.embedding import Embedding
from apps.runs.engine import StepFailed, execute
from apps.runs.models import Attempt, Run, Step
from apps.runs.nesting import is_nested, reply_of
from apps.runs.planning import PlanFailed, Planning, part_of
from apps.runs.process import Process
from apps.runs.reuse import Recorded, digest_of, recorded, render
from apps.runs.scribe import Scribe
from apps.workers.calls import CallFailed, Completion, Endpoint
from apps.workers.patience import is_worth_retrying, wait_for_call
from apps.workers.services import open_endpoint
from apps.workflows import workflow as workflows
from apps.workflows.sinks import Answer, take_answer
from apps.workflows.workflow import Select, Workflow

logger = structlog.get_logger(__name__)

T = TypeVar("T")

# A database that restarts is back within seconds; a run waits that long for it before the driver gives the run up.
DATABASE_PATIENCE_S = 30

TFIDF = "TF-IDF"
COMPARED_BY_WORDS = "So the answers were compared by their words."


def drive(run_id: int, process: Process | None = None) -> None:
    """Claim the run and drive it, in the calling thread, until it ends or pauses. Nothing happens if it is held."""
    process = process or processes.this_process()
    run = claims.claim(run_id, driver=process.name, now=timezone.now())
    if run is None:
        return
    with structlog.contextvars.bound_contextvars(run=run.code, claim=run.claim):
        Drive(run, process).to_the_end()


class Drive:
    """One claimed run in the hands of one driver."""

    def __init__(self, run: Run, process: Process) -> None:
        self.run = run
        self.process = process
        self.desk = Desk(run, claims.driver_actor(process.name), timezone.now, self._ring)
        self.scribe = Scribe(process.loop, self.desk.write)
        self.steps: dict[str, Step] = {}
        self.loaded: dict[str, str] | None = None  # results of steps that were done before, once they were read
        self.failed: dict[str, StepFailed] = {}  # steps that failed for good in the hands of a driver before this one
        self.nested: dict[str, tuple[Attempt, Run]] = {}  # steps that are runs of their own, begun by a driver before
        self.recorded: Recorded = {}
        self.endpoints: dict[str, Endpoint] = {}
        self.writing: dict[str, list[str]] = {}  # stream -> what a worker has written so far
        self.planning: Planning | None = None
        self.noting: set[asyncio.Task[None]] = set()  # replies being written down: never cut in the middle
        self.fault: Exception | None = None  # a reply could not be written down: nothing may follow
        self.tried: Counter[str] = Counter()  # calls made for a step by drivers before this one
        self.why_cut = ""
        self.is_carried = False  # there is nothing left that a stop could cut

    def to_the_end(self) -> None:
        """Serve the run in this thread."""
        try:
            if self.run.workflow_body is not None:
                self.loaded = self._load()  # while the connection is at hand and nobody waits on the loop
            self.scribe.serve(self._guarded())
        except (RunStopped, RunTaken) as over:
            logger.info("the run is no longer this driver's", why=type(over).__name__)
        except (OperationalError, InterfaceError):
            logger.exception("the database did not come back; a driver takes the run over when it does")
        except Exception:
            logger.exception("a fault of ours ended the run")
            self._give_up()
        finally:
            self.process.drop(self.run.pk, self.run.claim)

    def _give_up(self) -> None:
        """Fail the run: what went wrong here would go wrong in the next driver's hands too."""
        message = "The studio itself failed at this run; its driver's log says where. Finished steps can be reused."
        try:
            self.desk.write([partial(self.desk.fail, message=message, code="internal")])
        except Exception:
            logger.exception("nor could that be written down")
        finally:
            connection.close()

    def _ring(self, run: Run, verbs: Sequence[str]) -> None:
        self.process.loop.call_soon_threadsafe(self.process.typist.ring, run.group, "run.bell")
        if any(verb.startswith("run.") or verb == "workflow.adopted" for verb in verbs):
            self.process.loop.call_soon_threadsafe(self.process.typist.ring, f"runs.{run.project_id}", "runs.changed")

    async def _guarded(self) -> None:
        """Carry the run, cut its calls when asked to, and say how it ended whatever happens."""
        work = asyncio.current_task()
        assert work is not None

        def cut(why: str) -> None:
            def on_loop() -> None:
                if not self.why_cut and not self.is_carried:  # what has just ended is no longer live, either
                    self.why_cut = why
                    work.cancel()

            self.process.loop.call_soon_threadsafe(on_loop)

        self.process.hold(self.run.pk, self.run.claim, cut)
        try:
            await self._carry_or_learn_why_not(work)
            self.is_carried = True
            while self.noting:
                await asyncio.wait(set(self.noting))
            if self.fault is not None:
                raise self.fault
            if self.why_cut == "released":
                await self._do(self.desk.let_go)
            elif self.why_cut:
                await self._do(partial(self.desk.cut, self._being_written()))
        finally:
            for stream in self._being_written():
                self.process.typist.close(stream)

    async def _carry_or_learn_why_not(self, work: "asyncio.Task[Any]") -> None:
        """Carry the run. That it was stopped, taken over or is let go of is noted, not raised.

        :raises OperationalError: the database stayed away too long.
        """
        try:
            await self._carry()
        except asyncio.CancelledError:
            if not self.why_cut:
                raise
            work.uncancel()
        except (RunStopped, RunTaken):
            self.why_cut = self.why_cut or "stopped"
        except BaseExceptionGroup as group:  # from the engine's task group
            _, rest = group.split((RunStopped, RunTaken))
            if rest is not None:
                away, faults = rest.split((OperationalError, InterfaceError))
                raise _first(faults or away or rest) from group
            self.why_cut = self.why_cut or "stopped"

    def _being_written(self) -> dict[str, str]:
        """What models were writing when they were cut, by stream."""
        texts = {stream: "".join(pieces) for stream, pieces in self.writing.items()}
        return texts | (self.planning.being_written() if self.planning else {})

    async def _carry(self) -> None:
        try:
            workflow = await self._workflow()
            while workflow is not None:
                workflow = await self._execute(workflow)
        except PlanFailed as failure:
            await self.write(partial(self.desk.fail, message=failure.message, code=failure.code))

    async def write(self, job: Callable[[Page], T]) -> T:
        """Write in the run's thread, with whatever else happens now; a database that is away is waited for.

        :raises RunStopped: :raises RunTaken: the run is no longer to be written.
        """
        if self.fault is not None:
            raise self.fault
        return await self._patiently(partial(self.scribe.write, job), after=self._settled)

    async def _do(self, job: Callable[[], T]) -> T:
        """Read, or write alone, in the run's thread."""
        return await self._patiently(partial(self.scribe.do, job))

    async def _settled(self) -> None:
        """Wait until the replies that came before are written down."""
        while self.noting:
            await asyncio.wait(set(self.noting))
        if self.fault is not None:
            raise self.fault

    async def _patiently(
        self, ask: Callable[[], "asyncio.Future[T]"], *, after: Callable[[], Awaitable[None]] | None = None
    ) -> T:
        """Ask again while the database is away, each time after what must come before."""
        waiting_until = time.monotonic() + DATABASE_PATIENCE_S
        while True:
            try:
                return await ask()
            except (OperationalError, InterfaceError) as error:
                if time.monotonic() > waiting_until:
                    raise
                logger.warning("the run waits for the database", error=str(error).strip())
                await asyncio.sleep(0.3)
                if after is not None:
                    await after()

    # --- plan ------------------------------------------------------------------------------------------------------

    async def _workflow(self) -> Workflow | None:
        """The workflow to carry out: the one the run has, or a planner's. None where it is held for review."""
        workflow = self.run.workflow
        if workflow is None:
            planned = await self._planning().plan()
            workflow, hold = planned.workflow, bool(self.run.setup["review"])
            adopt = partial(self.desk.adopt, workflow=workflow, by="planner", planner=planned.by, hold=hold)
            await self.write(partial(adopt, warnings=planned.warnings))
            self.run.planned_by = planned.by
            if hold:
                return None
        return workflow

    def _planning(self) -> Planning:
        if self.planning is None:
            self.planning = Planning(self.run, self.desk, self.process, self.write, self._do)
        return self.planning

    async def _extended(self, workflow: Workflow, results: Mapping[str, str], answer: Answer | None) -> Workflow | None:
        """The workflow with what its planner adds, now that it sees what came of it; None where it leaves it at that.

        :raises PlanFailed: it could not be asked, and there is no answer yet that could be taken.
        """
        try:
            planned = await self._planning().extend(workflow, results, answer.text if answer else "")
        except PlanFailed as failure:
            if answer is None:
                raise
            notice = f"{failure.message} So the answer is the one there was before."
            await self.write(partial(self.desk.give_notice, notice=notice))
            return None
        if planned is None:
            return None
        await self.write(partial(self.desk.extend, workflow=planned.workflow, warnings=planned.warnings))
        return planned.workflow

    # --- execute ---------------------------------------------------------------------------------------------------

    def _load(self) -> dict[str, str]:
        """The step rows, what the lineage offers for reuse, and the results of steps that finished before."""
        self.steps = {step.key: step for step in self.run.steps.all()}
        self.tried = Counter(self.run.attempts.values_list("step__key", flat=True)) if self.run.claim > 1 else Counter()
        if self.run.root_id is not None:
            self.recorded = recorded(self.run, keys=self.steps)
        if self.run.claim > 1 and self.run.setup.get("nesting"):
            going = self.run.attempts.filter(status=Attempt.Status.RUNNING, nested__isnull=False)
            self.nested = {each.step.key: (each, each.nested) for each in going.select_related("step", "nested")}
        self.failed = {
            key: StepFailed(step.note) for key, step in self.steps.items() if step.status == Step.Status.FAILED
        }
        return {key: step.result for key, step in self.steps.items() if step.status in Step.DONE}

    async def _execute(self, workflow: Workflow) -> Workflow | None:
        """Carry out all that is not done yet; the workflow its planner makes of it then, or None: the run has ended."""
        done = self.loaded if self.loaded is not None else await self._do(self._load)
        self.loaded = None  # what is added later is read anew

        async def call(step: workflows.Step, results: Mapping[str, str]) -> str:
            return await self._call(workflow, step, results)

        async def skip(step: workflows.Step, because: tuple[str, ...]) -> None:
            await self.write(partial(self.desk.skip_step, step=self.steps[step.key], because=because))

        outcome = await execute(workflow, call=call, skip=skip, done=done, failed=self.failed)
        answer = await self._answer(workflow, outcome.results)
        if not outcome.failed and (more := await self._extended(workflow, outcome.results, answer)) is not None:
            return more
        if outcome.failed and (workflow.on_failure == "skip" or answer is None):
            key, failure = next(iter(outcome.failed.items()))
            message = f"Step {workflow.position(key) + 1} failed: {failure.message}"
            await self.write(partial(self.desk.fail, message=message, step=key, code=failure.kind))
        elif answer is None:
            message = "Every step answered with nothing. Re-run with another worker, or edit the instructions."
            await self.write(partial(self.desk.fail, message=message, code="empty"))
        else:
            await self.write(partial(self.desk.succeed, answer=answer))
        return None

    async def _answer(self, workflow: Workflow, results: Mapping[str, str]) -> Answer | None:
        """The answer as the workflow's sink takes it, with vectors of the answers where it compares them."""
        if not (isinstance(workflow.sink, Select) and workflow.sink.weights is None):
            return take_answer(workflow, results)
        said = {key: results[key] for key in workflow.sink.over if results.get(key, "").strip()}
        vectors, by = await self._vectors(said)
        answer = take_answer(workflow, results, vectors=vectors)
        return answer and replace(answer, detail={**answer.detail, "vectors": by})

    async def _vectors(self, said: Mapping[str, str]) -> tuple[Mapping[str, Sequence[float]], str]:
        """The answers as vectors, and whose: the run's embedding worker's, or TF-IDF where it has none or that fails.

        An answer that was paid for is never lost because nobody can compare it in the better of two ways.
        """
        setup = self.run.setup
        embedder = part_of(setup, self.run.planned_by or setup["planner"]).get("embedder")
        if embedder is None or not said:
            return await asyncio.to_thread(tfidf_vectors, said), TFIDF
        embedding = Embedding(self.run, self.process, self.write, self._do)
        try:
            found = await embedding.vectors(list(said.values()), frozen=embedder, what="answers")
        except (CallFailed, StudioError) as failure:
            why = failure.message.rstrip(".")
            notice = f"The embedding worker “{embedder['slug']}” could not be asked: {why}. {COMPARED_BY_WORDS}"
            await self.write(partial(self.desk.give_notice, notice=notice))
            return await asyncio.to_thread(tfidf_vectors, said), TFIDF
        return dict(zip(said, found, strict=True)), embedder["slug"]

    async def _call(self, workflow: Workflow, step: workflows.Step, results: Mapping[str, str]) -> str:
        """The result of one step: taken from the lineage where the very same request was answered, else asked for."""
        row, frozen = self.steps[step.key], self.run.pool[step.worker]
        rendered = render(workflow, step, task=self.run.task, results=results)
        messages = rendered.messages
        digest = digest_of(frozen, messages)
        tried = self.tried[step.key]
        source = None if step.key in self.run.fresh else self.recorded.get((step.key, digest))
        if source is not None:
            await self.write(partial(self.desk.reuse, step=row, source=source, messages=messages, number=tried + 1))
            return source.text
        if is_nested(frozen):
            nest = partial(self.desk.nest, step=row, number=tried + 1, frozen=frozen, digest=digest, rendered=rendered)
            return await self._nest(row, nest)
        endpoint = await self._endpoint(row, frozen)
        start = partial(self.desk.start_step, step=row, worker=step.worker, digest=digest, messages=messages)
        waits: dict[int, float] = {}  # trial number -> the wait after it, as it was told
        try:
            async for trial in AsyncRetrying(
                stop=stop_after_attempt(self.run.setup["tries"]),
                retry=retry_if_exception(is_worth_retrying),
                wait=lambda state: waits[state.attempt_number],
                reraise=True,
            ):
                with trial:
                    number = tried + trial.retry_state.attempt_number
                    attempt = await self.write(partial(start, number=number))
                    return await self._attempt(row, attempt, endpoint, messages, trial.retry_state, waits)
        except CallFailed as failure:
            raise StepFailed(failure.message, kind=failure.kind) from failure
        raise AssertionError("tenacity either returns or raises")

    async def _nest(self, row: Step, nest: Callable[[Page], tuple[Attempt, Run]]) -> str:
        """The answer of the run that the step becomes, or became in the hands of the driver before this one."""
        begun = self.nested.pop(row.key, None)
        attempt, nested = begun if begun is not None else await self.write(nest)
        began = time.monotonic()
        await self._drive_nested(nested.pk)
        nested = await self._do(partial(Run.objects.get, pk=nested.pk))
        if not nested.is_ended:
            raise OperationalError(f"the nested run {nested.code} was let go of")  # and with it this one must be
        try:
            completion = reply_of(nested)
        except CallFailed as failure:
            cost_usd = None if nested.cost_unknown else nested.cost_usd
            fail = partial(self.desk.fail_attempt, step=row, attempt=attempt, failure=failure, cost_usd=cost_usd)
            await self.write(partial(fail, retry_in_s=None, duration_ms=(time.monotonic() - began) * 1000))
            raise StepFailed(failure.message, kind=failure.kind) from failure
        self._keep(row, attempt, completion)
        return completion.text

    async def _drive_nested(self, run_id: int) -> None:
        """Carry the nested run in a thread of its own, until it has ended or was let go of."""
        name, process = self.process.name, self.process
        run = await self._do(lambda: claims.claim_nested(run_id, driver=name, now=timezone.now()))
        if run is None:
            return
        over: asyncio.Future[None] = process.loop.create_future()

        def carry() -> None:
            try:
                with structlog.contextvars.bound_contextvars(run=run.code, claim=run.claim, outer=self.run.code):
                    Drive(run, process).to_the_end()
            finally:
                process.loop.call_soon_threadsafe(over.set_result, None)

        threading.Thread(target=carry, name=f"nested-{run.code}", daemon=True).start()
        try:
            await asyncio.shield(over)
        except asyncio.CancelledError:
            if run.pk in process.held:
                process.held[run.pk][1](self.why_cut or "stopped")
            await over  # its calls are cut and written down before this run's
            raise

    async def _endpoint(self, row: Step, frozen: Mapping[str, Any]) -> Endpoint:
        slug = frozen["slug"]
        if slug not in self.endpoints:
            try:
                opening = partial(open_endpoint, frozen)  # reads the database only for a key
                self.endpoints[slug] = opening() if frozen["credential"] is None else await self._do(opening)
            except StudioError as refusal:
                message = refusal.message
                await self.write(partial(self.desk.fail_step, step=row, kind="unavailable", message=message))
                raise StepFailed(message, kind="unavailable") from refusal
        return self.endpoints[slug]

    async def _attempt(
        self,
        row: Step,
        attempt: Attempt,
        endpoint: Endpoint,
        messages: list[dict[str, str]],
        state: RetryCallState,
        waits: dict[int, float],
    ) -> str:
        """One call, written down however it ends."""
        stream, code, typist = attempt.stream, self.run.code, self.process.typist
        pieces = self.writing.setdefault(stream, [])

        def on_delta(piece: str) -> None:
            pieces.append(piece)
            typist.say(code=code, stream=stream, piece=piece)

        began = time.monotonic()
        try:
            completion = await self.process.gateway.stream(endpoint, messages, on_delta=on_delta)
        except CallFailed as failure:
            state.set_exception((type(failure), failure, failure.__traceback__))
            last = not failure.retryable or state.attempt_number >= self.run.setup["tries"]
            waits[state.attempt_number] = wait_for_call(state)
            retry_in_s = None if last else round(waits[state.attempt_number], 2)
            await self._note_failure(row, attempt, endpoint, failure, retry_in_s, (time.monotonic() - began) * 1000)
            raise
        self._keep(row, attempt, completion)
        typist.close(stream)
        del self.writing[stream]
        return completion.text

    def _keep(self, row: Step, attempt: Attempt, completion: Completion) -> None:
        """Have a reply written down as the step's result.

        Its readers start at once: what they write joins this in one transaction, before any of them is called.
        """
        done = partial(self.desk.succeed_step, step=row, attempt=attempt, completion=completion)
        note = asyncio.ensure_future(self._note_success(row, attempt, completion, self.scribe.write(done), done))
        self.noting.add(note)
        note.add_done_callback(self.noting.discard)

    async def _note_success(
        self,
        row: Step,
        attempt: Attempt,
        completion: Completion,
        writing: "asyncio.Future[None]",
        done: Callable[[Page], None],
    ) -> None:
        """See that a reply is written down: as the step's result, or as late where the run was stopped meanwhile."""
        try:
            try:
                await writing
            except (OperationalError, InterfaceError):
                await self._patiently(partial(self.scribe.write, done))
        except RunStopped:
            await self._do(partial(self.desk.late, row, attempt, completion))
        except RunTaken:
            pass  # another driver asks again; whoever wrote next learnt it too
        except Exception as fault:
            self.fault = fault

    async def _note_failure(
        self,
        row: Step,
        attempt: Attempt,
        endpoint: Endpoint,
        failure: CallFailed,
        retry_in_s: float | None,
        duration_ms: float,
    ) -> None:
        """Write a failed call down, with the wait before the next one; where it was the last, the step has failed."""
        cost: Decimal | None = endpoint.price.cost_usd(failure.usage) if failure.usage else Decimal(0)
        fail = partial(self.desk.fail_attempt, step=row, attempt=attempt, failure=failure, cost_usd=cost)
        await self.write(partial(fail, retry_in_s=retry_in_s, duration_ms=duration_ms))
        self.process.typist.close(attempt.stream)
        self.writing.pop(attempt.stream, None)


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    """The first of a group's exceptions, however deep it lies."""
    first: BaseException = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
