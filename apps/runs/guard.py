"""Holds a run before any call that flow rules forbid: its driver asks here first, of planner, steps and judges alike.

What is asked is read anew each time, since a rule holds from the moment it is made; where none is in force anywhere,
nothing is read.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from apps.runs.engine import StepHeld
from apps.runs.flow import MOST_TOLD, Flow, as_told
from apps.runs.models import Run
from apps.runs.notes import Notes
from apps.runs.process import Process
from apps.workflows import flow
from apps.workflows.flow import Offence
from apps.workflows.workflow import Workflow

Frozen = Mapping[str, Any]


class Guard:
    """The flow rules before the calls of one run. `answered` says whose reply the result of a step is."""

    def __init__(self, run: Run, process: Process, notes: Notes) -> None:
        self.run = run
        self.process = process
        self.notes = notes
        self.answered: dict[str, str] = {}
        self._read: tuple[Any, Workflow] | None = None

    async def check_planner(self, part: Frozen) -> None:
        """:raises StepHeld: the planner that goes by `part` may not read the task, or what came of its workflow."""

        def ask(now: Flow) -> list[Offence]:
            if self.run.workflow_body is None:
                return now.before_plan(part)
            return now.before_further_plan(part, self._workflow, self.answered)

        await self._check(ask)

    async def check_workflow(self, workflow: Workflow, *, done: Callable[[], Collection[str]]) -> None:
        """`done` says for which steps nobody is asked any more.

        :raises StepHeld: some other step, or whoever compares the answers, may not read what is meant for it.
        """
        await self._check(lambda now: now.of_workflow(workflow, answered=self.answered, done=done()))

    async def check_call(self, key: str, frozen: Frozen) -> None:
        """:raises StepHeld: `frozen` may not read what the step reads."""
        await self._check(lambda now: now.of_call(self._workflow, key, frozen, self.answered))

    async def first_that_may(self, key: str, chain: Sequence[Frozen]) -> Frozen:
        """The first of `chain` that may read what the step reads.

        :raises StepHeld: none may.
        """

        def tried(now: Flow) -> list[list[Offence]]:
            return [now.of_call(self._workflow, key, each, self.answered) for each in chain]

        found = await self._look(tried)
        for each, forbidden in zip(chain, found or [[] for _ in chain], strict=True):
            if not forbidden:
                return each
        raise held_by([offence for forbidden in found or () for offence in forbidden], run=self.run)

    async def check_judge(self) -> None:
        """:raises StepHeld: the embedding worker may not read the answers that it would compare."""
        await self._check(lambda now: now.of_judge(self._workflow, self.answered))

    async def given_to(self, key: str) -> list[str]:
        """The tags of all that a step reads: those of the task of the run that it becomes."""

        def given() -> frozenset[str]:  # also where no rule is in force: one may be made while that run goes on
            return Flow.of(self.run, always=True).given_to(self._workflow, key, self.answered)

        return sorted(await self.notes.do(given))

    @property
    def _workflow(self) -> Workflow:
        """The run's, read once from each body that it gets."""
        if self._read is None or self._read[0] is not self.run.workflow_body:
            assert self.run.workflow is not None, "a step that is carried out is one of a workflow"
            self._read = self.run.workflow_body, self.run.workflow
        return self._read[1]

    async def _check(self, ask: Callable[[Flow], list[Offence]]) -> None:
        if found := await self._look(ask):
            raise held_by(found, run=self.run)

    async def _look(self, ask: Callable[[Flow], Any]) -> Any:
        """What `ask` finds of the rules as they are now; None where there are none."""
        return await self.notes.do(partial(_looked, self.run, ask)) if self.process.has_rules else None


def _looked(run: Run, ask: Callable[[Flow], Any]) -> Any:
    now = Flow.of(run)
    return ask(now) if now.rules else None


def held_by(offences: Sequence[Offence], *, run: Run) -> StepHeld:
    """What holds `run`. Each names it: keys of steps are the same in the run around it, which is held along with it."""
    return StepHeld(Run.Hold.RULES, {"rules": [{"run": run.code} | each for each in as_told(offences)]})


def held_within(nested: Run) -> StepHeld:
    """What holds the run around `nested`, which is held: the same, and which runs within it that is about."""
    about = {name: each for name, each in nested.held_by.items() if name not in ("step", "steps")}
    return StepHeld(nested.hold, about | {"within": [nested.code, *nested.held_by.get("within", ())]})


def kept_back(held: StepHeld) -> list[str]:
    """The steps that rules keep from being called."""
    readers: list[str] = [each["reader"] for each in held.about.get("rules", ())]
    return list(dict.fromkeys(reader for reader in readers if flow.is_step(reader)))


def together(held: Mapping[str, StepHeld]) -> StepHeld:
    """What holds several steps: the first of the reasons, and where that is rules, all that they forbid."""
    first = next(iter(held.values()))
    if first.reason != Run.Hold.RULES:
        return first
    ruled = [one.about for one in held.values() if one.reason == Run.Hold.RULES]
    rules = [each for about in ruled for each in about["rules"]][:MOST_TOLD]
    within = [code for about in ruled for code in about.get("within", ())]
    return StepHeld(first.reason, {"rules": rules} | ({"within": within} if within else {}))
