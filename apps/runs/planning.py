"""Getting a workflow for a run from its planner, with everything the planner said kept whatever comes of it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import structlog
from django.utils import timezone

from apps.conductor import planners
from apps.conductor.parse import DraftStep
from apps.conductor.planners import Brief
from apps.conductor.prompt import PoolEntry
from apps.conductor.proposal import Extending, Progress
from apps.conductor.proposal import Proposal as Proposed
from apps.conductor.services import learnt_body
from apps.core.errors import StudioError
from apps.runs.calling import Credit, Door, Tries, Wait, tokens_of
from apps.runs.desk import Desk
from apps.runs.embedding import Embedding
from apps.runs.engine import StepHeld
from apps.runs.flow import part_of
from apps.runs.guard import Guard
from apps.runs.models import Proposal, Run
from apps.runs.notes import Notes
from apps.runs.process import Process
from apps.runs.tracks import Heard, Marks
from apps.spend.book import Refusal
from apps.workers.calls import CallFailed, Completion, Endpoint
from apps.workers.embedding import Vector
from apps.workers.places import Place
from apps.workers.services import open_endpoint
from apps.workflows import graph
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow

logger = structlog.get_logger(__name__)

RETRAIN = "Bring it back, or train the planner again: python manage.py train_planner."


class PlanFailed(Exception):
    """No workflow came of the planning; `message` tells a person what to do next."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(frozen=True)
class Planned:
    """A workflow that may be run, who planned it, and what is odd about it."""

    workflow: Workflow
    by: str
    warnings: tuple[Problem, ...]


class Planning:
    """A run's planning, round after round. It is the planner's `Watch`: what it sees is streamed and recorded."""

    def __init__(self, run: Run, desk: Desk, process: Process, notes: Notes, guard: Guard) -> None:
        self.run = run
        self.desk = desk
        self.process = process
        self.notes = notes
        self.guard = guard
        self.embedding = Embedding(run, desk, process, notes)
        self.part: Mapping[str, Any] = run.setup
        self.conductor: Mapping[str, Any] | None = None
        self.pool: list[PoolEntry] = []
        self.round = 1
        self.open: Proposal | None = None
        self.completion: Completion | None = None
        self.drafts: dict[int, DraftStep] = {}
        self.heard: Heard | None = None  # what the open proposal's text is so far

    async def plan(self) -> Planned:
        """Ask the run's planner, or the one that stands in for it. :raises PlanFailed: no workflow came of it."""
        setup = self.run.setup
        try:
            return await self._plan(setup)
        except PlanFailed as failure:
            instead = setup.get("fallback")
            if instead is None:
                raise
            await self.notes.write(partial(self.desk.fall_back, planner=instead["planner"], why=failure.message))
            return await self._plan(instead)

    async def extend(self, workflow: Workflow, results: Mapping[str, str], answer: str) -> Planned | None:
        """Show the planner what came of its workflow; None where it leaves it at that.

        :raises PlanFailed: it was asked, and nothing that may be run came of it.
        """
        name = self.run.planned_by or self.run.setup["planner"]
        planner = planners.planner(name)
        if not isinstance(planner, Extending):
            return None
        calls = await self.notes.do(lambda: list(self.run.proposals.values_list("status", flat=True)))
        self.round = 1 + calls.count(Proposal.Status.VALID)
        part = part_of(self.run.setup, name)
        progress = Progress(workflow, results, answer, asked=len(calls))
        with _said_plainly(part["conductor"]):
            brief = await self._brief(part)
            proposal = await planner.extend(brief, progress, ask=self.ask, watch=self)
        if proposal is None or proposal.verdict == "kept":
            return None
        return self._checked(proposal, name)

    async def _plan(self, part: Mapping[str, Any]) -> Planned:
        name, conductor = part["planner"], part["conductor"]
        with _said_plainly(conductor):
            brief = await self._brief(part)
            proposal = await planners.planner(name).plan(brief, ask=self.ask, watch=self)
        return self._checked(proposal, name)

    async def _brief(self, part: Mapping[str, Any]) -> Brief:
        """`part` is the run's setup, or what it says of whoever stands in: conductor, what was learnt, embedder."""
        setup, conductor = self.run.setup, part["conductor"]
        self.part, self.conductor = part, conductor
        # Only a model can tell which steps are worth a workflow of their own: for all others the pool is the workers.
        offered = [worker for worker in setup["pool"] if conductor is not None or not worker.get("conducts")]
        self.pool = [
            PoolEntry(w["slug"], w["name"], w["strengths"], is_conductor=bool(w.get("conducts"))) for w in offered
        ]
        learnt = await self._learnt(part)
        return Brief(
            task=self.run.task,
            pool=tuple(self.pool),
            max_steps=setup["max_steps"],
            seed=self._seed(conductor),
            options=dict(conductor or {}) | setup.get("options", {}),
            rounds=setup.get("rounds", 1),
            learnt=learnt,
            embedding=await self._vector(learnt or {}, part.get("embedder")),
        )

    async def _learnt(self, part: Mapping[str, Any]) -> dict[str, Any] | None:
        """What the planner had learnt when the run was submitted."""
        if not planners.PLANNERS[part["planner"]].learns or part.get("learnt") is None:
            return None
        body: dict[str, Any] = await self.notes.do(partial(learnt_body, part["learnt"]))
        return body

    async def _vector(self, learnt: Mapping[str, Any], frozen: Mapping[str, Any] | None) -> Vector | None:
        """The task's vector by the worker that was learnt with; None where that was learnt without any.

        :raises PlanFailed: the worker is gone, is another model by now, or gave no vector.
        """
        slug = learnt.get("embedder")
        if slug is None:
            return None
        if frozen is None or frozen["slug"] != slug:
            message = f"What the planner learnt needs the embedding worker “{slug}”, which was not there. {RETRAIN}"
            raise PlanFailed(message, code="unavailable")
        if frozen["identity"]["model"] != learnt["embedder_model"]:
            message = f"The planner learnt when “{slug}” was another model ({learnt['embedder_model']}). {RETRAIN}"
            raise PlanFailed(message, code="unavailable")
        check = partial(self.guard.check_planner, self.part)
        try:
            [vector] = await self.embedding.vectors([self.run.task], frozen=frozen, what="task", check=check)
        except (CallFailed, StudioError) as failure:
            code = failure.kind if isinstance(failure, CallFailed) else "unavailable"
            message = f"The embedding worker “{slug}” could not be asked: {failure.message.rstrip('.')}. {RETRAIN}"
            raise PlanFailed(message, code=code) from failure
        return vector

    def _seed(self, conductor: Mapping[str, Any] | None) -> int:
        """The conductor's own, where an admin gave it one: it plans the same task the same way every time."""
        given = [(conductor or {}).get("seed"), self.run.setup["seed"]]
        return next((seed for seed in given if seed is not None), self.run.pk)

    def _checked(self, proposal: Proposed, by: str) -> Planned:
        workflow = proposal.workflow
        if workflow is None:
            raise PlanFailed(_why_invalid(proposal), code="invalid-plan")
        workers = [entry.slug for entry in self.pool]
        most = max(self.run.setup["max_steps"], len(workflow.steps))
        return Planned(workflow, by, tuple(graph.check(workflow, workers=workers, max_steps=most)))

    def being_written(self) -> dict[str, str]:
        """The text of the proposal that is being written, by its stream."""
        return {} if self.open is None or self.heard is None else {self.open.stream: self.heard.text}

    def tracks(self) -> dict[str, Marks]:
        """When that text was how long."""
        return {} if self.open is None or self.heard is None else {self.open.stream: self.heard.track}

    # --- the planner's `ask`: one call of the conductor, tried again where that can help -----------------------------

    async def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
        on_delta: Callable[[str], None],
    ) -> Completion:
        """One streamed reply of the run's conductor.

        :raises CallFailed: it gave none. :raises StepHeld: it may not be asked now, or not at all.
        """
        assert self.conductor is not None, "only a planner with a conductor asks"
        await self.notes.do(lambda: self.desk.purse.payer)  # kept once read: no database may be asked on the loop
        self._check_pause()
        endpoint = await self.notes.do(partial(open_endpoint, self.conductor))
        params = dict(extra or {}) | ({} if temperature is None else {"temperature": temperature})
        plain = [dict(message) for message in messages]
        may_wait = self.run.setup.get("fallback") is None or self.run.notice != ""
        door = Door(self.process.turnstile, self.conductor, limits=self.process.limits, tell=self._tell_wait)
        tries = Tries(self.run.setup["tries"], may_wait=may_wait)
        listening: Proposal | None = None  # the first call heard: a later one must not draw its steps again
        credit = Credit(tell=self._tell_wait)

        def heard(piece: str, proposal: Proposal) -> None:
            nonlocal listening
            listening = listening or proposal
            if self.heard is not None:
                self.heard.hear(piece)
            self.process.typist.say(code=self.run.code, stream=proposal.stream, piece=piece)
            if listening is proposal:
                on_delta(piece)

        async for trial in tries.again():
            with trial:
                while True:
                    async with door.open(tokens=tokens_of(self.conductor, plain), may_wait=may_wait) as place:
                        proposal = await self._open(plain)
                        if isinstance(proposal, Proposal):
                            fails = partial(tries.failed, state=trial.retry_state)
                            stream = partial(self.process.gateway.stream, endpoint, plain, extra=params)
                            told = partial(heard, proposal=proposal)
                            return await self._hear(partial(stream, on_delta=told), place, fails, endpoint)
                    await credit.wait(proposal)
        raise AssertionError("tenacity either returns or raises")

    def _check_pause(self) -> None:
        """:raises StepHeld: somebody asked that no more models be called, perhaps while this call waited."""
        if self.process.wishes_of(self.desk.purse.payer).pause:
            raise StepHeld("pause")

    async def _hear(
        self,
        stream: Callable[[], Awaitable[Completion]],
        place: Place,
        fails: Callable[[CallFailed], float | None],
        endpoint: Endpoint,
    ) -> Completion:
        """One reply of the conductor; a call that fails is written down."""
        place.unused = False
        try:
            self.completion = completion = await stream()
        except CallFailed as failure:
            await place.heard(failure)
            fails(failure)
            cost = endpoint.price.cost_usd(failure.usage) if failure.usage else Decimal(0)
            await self._close(Proposal.Status.FAILED, raw=failure.partial, failure=failure, cost_usd=cost)
            raise
        place.tokens_used = completion.usage.input_tokens + completion.usage.output_tokens
        await place.heard(None)
        return completion

    async def _open(self, messages: Sequence[Mapping[str, str]]) -> Proposal | Refusal:
        conductor, purse = self.conductor, self.desk.purse
        assert conductor is not None
        self._check_pause()
        await self.guard.check_planner(self.part)
        if not purse.knows(conductor):
            await self.notes.do(partial(purse.look_up, conductor["slug"], at=timezone.now()))
        number = await self.notes.do(self.run.proposals.count) + 1
        self.drafts.clear()
        start = partial(self.desk.start_planning, messages=messages, conductor=conductor)
        opened = await self.notes.write(partial(start, number=number, round=self.round))
        self.open = opened if isinstance(opened, Proposal) else None
        self.heard = None if self.open is None else Heard(since=self.open.started_at)
        return opened

    async def _tell_wait(self, wait: Wait) -> None:
        assert self.conductor is not None
        words = wait.words(self.conductor["name"])
        told = {"conductor": self.conductor["slug"], "words": words, **wait.told}
        await self.notes.write(partial(self.desk.wait_planning, told=told))

    async def _close(self, status: Proposal.Status, **told: Any) -> None:
        proposal, self.open = self.open, None
        if proposal is not None:
            assert self.conductor is not None, "whoever has a proposal open was asked"
            proposal.track = None if self.heard is None else self.heard.track
            finish = partial(self.desk.finish_planning, proposal=proposal, conductor=self.conductor)
            await self.notes.write(partial(finish, status=status, **told))
            self.process.typist.close(proposal.stream)

    # --- the planner's `Watch` -------------------------------------------------------------------------------------

    def drafted(self, step: DraftStep) -> None:
        """A step became known while the conductor writes: show it."""
        self.drafts[step.position] = step
        if self.open is not None:
            slugs = [entry.slug for entry in self.pool]
            self.process.typist.draft(
                code=self.run.code,
                proposal=self.open.pk,
                steps=[_drawn(self.drafts[position], slugs) for position in sorted(self.drafts)],
            )

    async def attempted(self, proposal: Proposed) -> None:
        """One reply was read: keep it, valid or not."""
        await self._close(
            Proposal.Status.VALID if proposal.is_valid else Proposal.Status.INVALID,
            verdict=proposal.verdict,
            raw=proposal.raw,
            repairs=proposal.repairs,
            problems=[_worded(problem) for problem in proposal.problems],
            steps=len(proposal.workflow.steps) if proposal.workflow else 0,
            completion=self.completion,
        )


@contextmanager
def _said_plainly(conductor: Mapping[str, Any] | None) -> Iterator[None]:
    """What keeps a planner from planning, in words for the person who asked."""
    try:
        yield
    except CallFailed as failure:
        name = conductor["name"] if conductor else "the planner"
        message = f"{name} could not be asked: {failure.message.rstrip('.')}. "
        advice = "Run the task again when it answers, or choose another profile."
        raise PlanFailed(message + advice, code=failure.kind) from failure
    except StudioError as refusal:
        raise PlanFailed(refusal.message, code="planner") from refusal


def _drawn(step: DraftStep, slugs: Sequence[str]) -> dict[str, Any]:
    index = step.worker_index
    return {
        "position": step.position,
        "instruction": step.instruction,
        "worker": slugs[index] if index is not None and 0 <= index < len(slugs) else None,
        "access": None if step.access is None else list(step.access),
    }


def _worded(problem: Problem | str) -> str:
    return problem if isinstance(problem, str) else problem.message


def _why_invalid(proposal: Proposed) -> str:
    words = [_worded(problem) for problem in proposal.problems][:3]
    why = " ".join(words) or "it wrote nothing that can be read as a workflow."
    return f"The planner's workflow cannot be run: {why} Run the task again, or choose another profile."
