"""Getting a workflow for a run from its planner, with everything the planner said kept whatever comes of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import structlog
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

from apps.conductor import planners
from apps.conductor.parse import DraftStep
from apps.conductor.planners import Brief
from apps.conductor.prompt import PoolEntry
from apps.conductor.proposal import Proposal as Proposed
from apps.core.errors import StudioError
from apps.runs.desk import Desk, Page
from apps.runs.models import Proposal, Run
from apps.runs.patience import is_worth_retrying, wait_for_call
from apps.runs.process import Process
from apps.workers.calls import CallFailed, Completion
from apps.workers.services import open_endpoint
from apps.workflows import graph
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow

logger = structlog.get_logger(__name__)

Write = Callable[[Callable[[Page], Any]], Awaitable[Any]]
Do = Callable[[Callable[[], Any]], Awaitable[Any]]


class PlanFailed(Exception):
    """No workflow came of the planning; `message` tells a person what to do next."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(frozen=True)
class Planned:
    """A workflow that may be run, and what is odd about it."""

    workflow: Workflow
    warnings: tuple[Problem, ...]


class Planning:
    """One round of planning. It is the planner's `Watch`: what it sees is streamed and recorded."""

    def __init__(self, run: Run, desk: Desk, process: Process, write: Write, do: Do) -> None:
        self.run = run
        self.desk = desk
        self.process = process
        self.write = write
        self.do = do
        self.frozen: Mapping[str, Any] | None = run.setup["conductor"]
        self.pool = [PoolEntry(w["slug"], w["name"], w["strengths"]) for w in run.setup["pool"]]
        self.open: Proposal | None = None
        self.completion: Completion | None = None
        self.drafts: dict[int, DraftStep] = {}
        self.heard: list[str] = []  # what the open proposal's text is so far

    async def plan(self) -> Planned:
        """Ask the run's planner. :raises PlanFailed: it brought no workflow that may be run."""
        setup = self.run.setup
        brief = Brief(
            task=self.run.task,
            pool=tuple(self.pool),
            max_steps=setup["max_steps"],
            seed=self.run.pk if setup["seed"] is None else setup["seed"],
            options=dict(self.frozen or {}),
        )
        try:
            proposal = await planners.planner(setup["planner"]).plan(brief, ask=self.ask, watch=self)
        except CallFailed as failure:
            name = self.frozen["name"] if self.frozen else "the planner"
            message = f"{name} could not be asked: {failure.message.rstrip('.')}. "
            advice = "Run the task again when it answers, or choose another profile."
            raise PlanFailed(message + advice, code=failure.kind) from failure
        except StudioError as refusal:
            raise PlanFailed(refusal.message, code="planner") from refusal
        workflow = proposal.workflow
        if workflow is None:
            raise PlanFailed(_why_invalid(proposal), code="invalid-plan")
        workers = [entry.slug for entry in self.pool]
        problems = graph.check(workflow, workers=workers, max_steps=max(setup["max_steps"], len(workflow.steps)))
        return Planned(workflow, tuple(problems))

    def being_written(self) -> dict[str, str]:
        """The text of the proposal that is being written, by its stream."""
        return {} if self.open is None else {self.open.stream: "".join(self.heard)}

    # --- the planner's `ask`: one call of the conductor, tried again where that can help -----------------------------

    async def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
        on_delta: Callable[[str], None],
    ) -> Completion:
        """One streamed reply of the run's conductor. :raises CallFailed: it gave none."""
        assert self.frozen is not None, "only a planner with a conductor asks"
        frozen = self.frozen
        endpoint = await self.do(partial(open_endpoint, frozen))
        params = dict(extra or {}) | ({} if temperature is None else {"temperature": temperature})
        tries = self.run.setup["tries"]
        listening: Proposal | None = None  # the first call heard: a later one must not draw its steps again
        async for trial in AsyncRetrying(
            stop=stop_after_attempt(tries),
            retry=retry_if_exception(is_worth_retrying),
            wait=wait_for_call,
            reraise=True,
        ):
            with trial:
                proposal = await self._open(messages)

                def heard(piece: str, proposal: Proposal = proposal) -> None:
                    nonlocal listening
                    listening = listening or proposal
                    self.heard.append(piece)
                    self.process.typist.say(code=self.run.code, stream=proposal.stream, piece=piece)
                    if listening is proposal:
                        on_delta(piece)

                try:
                    self.completion = await self.process.gateway.stream(
                        endpoint, [dict(message) for message in messages], on_delta=heard, extra=params
                    )
                except CallFailed as failure:
                    cost = endpoint.price.cost_usd(failure.usage) if failure.usage else Decimal(0)
                    await self._close(Proposal.Status.FAILED, raw=failure.partial, failure=failure, cost_usd=cost)
                    raise
                return self.completion
        raise AssertionError("tenacity either returns or raises")

    async def _open(self, messages: Sequence[Mapping[str, str]]) -> Proposal:
        number = await self.do(self.run.proposals.count) + 1
        self.drafts.clear()
        self.heard.clear()
        assert self.frozen is not None
        start = partial(self.desk.start_planning, messages=messages, number=number, conductor=self.frozen["slug"])
        self.open = await self.write(start)
        assert self.open is not None
        return self.open

    async def _close(self, status: Proposal.Status, **told: Any) -> None:
        proposal, self.open = self.open, None
        if proposal is not None:
            await self.write(partial(self.desk.finish_planning, proposal=proposal, status=status, **told))
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
            Proposal.Status.VALID if proposal.workflow is not None else Proposal.Status.INVALID,
            raw=proposal.raw,
            repairs=proposal.repairs,
            problems=[_worded(problem) for problem in proposal.problems],
            steps=len(proposal.workflow.steps) if proposal.workflow else 0,
            completion=self.completion,
        )


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
