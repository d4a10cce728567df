"""Driving one run: plan, check, execute, and write everything down.

The coroutine runs on the process's loop and waits for models there; whatever it writes is written by the run's own
thread, through a `Scribe`. It is cancelled from outside when the run was stopped, taken over, or must be let go of.
"""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from apps.conductor.learning.vectors import tfidf_vectors
from apps.core.errors import StudioError
from apps.runs import claim as claims
from apps.runs import process as processes
from apps.runs.desk import Desk, RunStopped, RunTaken
from apps.runs.embedding import Embedding
from apps.runs.engine import StepHeld, execute
from apps.runs.flow import part_of
from apps.runs.guard import Guard, kept_back, together
from apps.runs.models import Run
from apps.runs.notes import Notes
from apps.runs.planning import PlanFailed, Planning
from apps.runs.process import Process
from apps.runs.purse import Purse
from apps.runs.scribe import Scribe
from apps.runs.stepping import Stepping
from apps.runs.tracks import Marks
from apps.workers.calls import CallFailed
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
        self.desk = Desk(run, claims.driver_actor(process.name), timezone.now, self._ring, Purse(run))
        self.notes = Notes(Scribe(process.loop, self.desk.write))
        self.guard = Guard(run, process, self.notes)
        self.stepping = Stepping(run, self.desk, process, self.notes, self.guard, self._drive_nested)
        self.planning = Planning(run, self.desk, process, self.notes, self.guard)
        self.loaded: dict[str, str] | None = None  # results of steps that were done before, once they were read
        self.why_cut = ""
        self.is_carried = False  # there is nothing left that a stop could cut

    def to_the_end(self) -> None:
        """Serve the run in this thread."""
        try:
            if self.run.workflow_body is not None:
                self.loaded = self.stepping.load()  # while the connection is at hand and nobody waits on the loop
            self.notes.scribe.serve(self._guarded())
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
            self.desk.cut(self._being_written(), self._tracks())
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
            await self.notes.settled()
            if self.why_cut == "released":
                await self.notes.do(partial(self.desk.let_go, self._being_written(), self._tracks()))
            elif self.why_cut:
                await self.notes.do(partial(self.desk.cut, self._being_written(), self._tracks()))
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
        return self.stepping.being_written() | self.planning.being_written()

    def _tracks(self) -> dict[str, Marks]:
        """When those texts were how long."""
        return self.stepping.tracks() | self.planning.tracks()

    async def _carry(self) -> None:
        try:
            workflow = await self._workflow()
            while workflow is not None:
                workflow = await self._execute(workflow)
        except PlanFailed as failure:
            await self.notes.write(partial(self.desk.fail, message=failure.message, code=failure.code))
        except StepHeld as held:  # the planner's own call, one that compares answers, or the whole workflow
            await self.notes.settled()
            hold = partial(self.desk.hold, reason=held.reason, about=held.about)
            await self.notes.write(partial(hold, steps=kept_back(held)))

    # --- plan ------------------------------------------------------------------------------------------------------

    async def _workflow(self) -> Workflow | None:
        """The workflow to carry out: the one the run has, or a planner's. None where it is held for review."""
        workflow = self.run.workflow
        if workflow is None:
            planned = await self.planning.plan()
            workflow, hold = planned.workflow, bool(self.run.setup["review"])
            adopt = partial(self.desk.adopt, workflow=workflow, by="planner", planner=planned.by, hold=hold)
            await self.notes.write(partial(adopt, warnings=planned.warnings))
            self.run.planned_by = planned.by
            if hold:
                return None
        return workflow

    async def _extended(self, workflow: Workflow, results: Mapping[str, str], answer: Answer | None) -> Workflow | None:
        """The workflow with what its planner adds, now that it sees what came of it; None where it leaves it at that.

        :raises PlanFailed: it could not be asked, and there is no answer yet that could be taken.
        """
        try:
            planned = await self.planning.extend(workflow, results, answer.text if answer else "")
        except PlanFailed as failure:
            if answer is None:
                raise
            notice = f"{failure.message} So the answer is the one there was before."
            await self.notes.write(partial(self.desk.give_notice, notice=notice))
            return None
        if planned is None:
            return None
        await self.notes.write(partial(self.desk.extend, workflow=planned.workflow, warnings=planned.warnings))
        return planned.workflow

    # --- execute ---------------------------------------------------------------------------------------------------

    async def _execute(self, workflow: Workflow) -> Workflow | None:
        """Carry out all that is not done yet; the workflow its planner makes of it then, or None: the run has ended."""
        stepping = self.stepping
        done = self.loaded if self.loaded is not None else await self.notes.do(stepping.load)
        self.loaded = None  # what is added later is read anew
        await self.guard.check_workflow(workflow, done=lambda: {*done, *stepping.taken_over(workflow)})
        call = partial(stepping.call, workflow)
        outcome = await execute(workflow, call=call, skip=stepping.skip, done=done, failed=stepping.failed)
        if outcome.held:
            await self.notes.settled()  # what is written after a run was held is late
            held = together(outcome.held)
            hold = partial(self.desk.hold, reason=held.reason, about=held.about, steps=list(outcome.held))
            await self.notes.write(hold)
            return None
        answer = await self._answer(workflow, outcome.results)
        if not outcome.failed and (more := await self._extended(workflow, outcome.results, answer)) is not None:
            return more
        if outcome.failed and (workflow.on_failure == "skip" or answer is None):
            await self.notes.settled()
            key, failure = next(iter(outcome.failed.items()))
            message = f"Step {workflow.position(key) + 1} failed: {failure.message}"
            await self.notes.write(partial(self.desk.fail, message=message, step=key, code=failure.kind))
        elif answer is None:
            message = "Every step answered with nothing. Re-run with another worker, or edit the instructions."
            await self.notes.write(partial(self.desk.fail, message=message, code="empty"))
        else:
            await self.notes.write(partial(self.desk.succeed, answer=answer))
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
        ask = partial(Embedding(self.run, self.desk, self.process, self.notes).vectors, frozen=embedder)
        try:
            found = await ask(list(said.values()), what="answers", check=self.guard.check_judge)
        except (CallFailed, StudioError) as failure:
            why = failure.message.rstrip(".")
            notice = f"The embedding worker “{embedder['slug']}” could not be asked: {why}. {COMPARED_BY_WORDS}"
            await self.notes.write(partial(self.desk.give_notice, notice=notice))
            return await asyncio.to_thread(tfidf_vectors, said), TFIDF
        return dict(zip(said, found, strict=True)), embedder["slug"]

    async def _drive_nested(self, run_id: int) -> None:
        """Carry the nested run in a thread of its own, until it has ended or was let go of."""
        name, process = self.process.name, self.process
        run = await self.notes.do(lambda: claims.claim_nested(run_id, driver=name, now=timezone.now()))
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


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    """The first of a group's exceptions, however deep it lies."""
    first: BaseException = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
