"""Judges a draft for the edit page: each step with its fate and its faults, and what running it would do."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from apps.accounts.models import User
from apps.runs import services
from apps.runs.models import Run
from apps.runs.reuse import Forecast
from apps.web.draft import Draft
from apps.web.figures import plural, short_title, usd
from apps.web.looks import Look, look_of
from apps.web.sinks import SinkForm, form_of_sink
from apps.workflows import graph
from apps.workflows.edits import AddStep, Duplicate, MoveStep, RemoveStep
from apps.workflows.graph import Problem
from apps.workflows.workflow import Step


@dataclass(frozen=True)
class Choice:
    """A worker that a step can be given to."""

    look: Look
    price: str


@dataclass(frozen=True)
class Read:
    """An earlier step that this one may be let to read. One that is not earlier is there only to be taken away."""

    key: str
    label: str
    is_allowed: bool
    problem: str


@dataclass(frozen=True)
class StepForm:
    """One step of the draft, as a section of the form."""

    step: Step
    number: int
    title: str
    reads: list[Read]
    problems: list[Problem]
    fate: Forecast | None
    is_fresh: bool
    is_first: bool
    is_last: bool
    is_only: bool
    knows_worker: bool
    is_kept: bool  # its textarea may stay as it is in the page

    # The operations of its buttons, as the form sends them.

    @property
    def add(self) -> str:
        return AddStep(after=self.step.key, worker=self.step.worker).model_dump_json()

    @property
    def duplicate(self) -> str:
        return Duplicate(key=self.step.key).model_dump_json()

    @property
    def remove(self) -> str:
        return RemoveStep(key=self.step.key).model_dump_json()

    @property
    def earlier(self) -> str:
        return MoveStep(key=self.step.key, to=self.number - 2).model_dump_json()

    @property
    def later(self) -> str:
        return MoveStep(key=self.step.key, to=self.number).model_dump_json()


class Judged:
    """A draft of a fork of `run`, judged for `by`."""

    def __init__(self, run: Run, draft: Draft, *, by: User, problems: tuple[Problem, ...] = ()) -> None:
        self.run = run
        self.draft = draft
        self.by = by
        self.told = problems  # what the services said when it was to be run

    @cached_property
    def pool(self) -> list[dict[str, Any]]:
        return services.pool_for(self.run, by=self.by)

    @cached_property
    def workers(self) -> dict[str, Mapping[str, Any]]:
        return {worker["slug"]: worker for worker in self.pool}

    @cached_property
    def choices(self) -> list[Choice]:
        return [Choice(look_of(slug, worker), _price(worker["price"])) for slug, worker in self.workers.items()]

    @cached_property
    def looks(self) -> dict[str, dict[str, Any]]:
        """Of everyone in the old pool and the new one, as the canvas reads them."""
        return {slug: look_of(slug, worker).as_json() for slug, worker in {**self.run.pool, **self.workers}.items()}

    @cached_property
    def problems(self) -> list[Problem]:
        found = graph.check(self.draft.workflow, workers=self.workers, max_steps=services.MOST_STEPS)
        return [*found, *(problem for problem in self.told if problem not in found)]

    @cached_property
    def errors(self) -> list[Problem]:
        return graph.errors(self.problems)

    @property
    def of_the_whole(self) -> list[Problem]:
        """What is wrong and sits at no step: said above the form."""
        keys = self.draft.workflow.keys
        return [problem for problem in self.problems if problem.step not in keys]

    @property
    def takes_another_answer(self) -> bool:
        """Whether the answer would be taken in another way than the run's was."""
        return self.run.workflow is not None and self.draft.workflow.sink != self.run.workflow.sink

    @cached_property
    def sink(self) -> SinkForm:
        return form_of_sink(self.draft.workflow, self.problems)

    @cached_property
    def forecast(self) -> list[Forecast]:
        """What would run and what would be reused; nothing is foretold of a workflow that cannot be run."""
        if self.errors:
            return []
        draft = self.draft
        return services.preview_fork(parent=self.run, workflow=draft.workflow, by=self.by, fresh=draft.fresh)

    # --- the bar ---------------------------------------------------------------------------------------------------

    @property
    def runs(self) -> int:
        return sum(fate.verdict == "run" for fate in self.forecast)

    @property
    def reuses(self) -> int:
        return sum(fate.verdict == "reuse" for fate in self.forecast)

    @property
    def button(self) -> str:
        """`Run 2 steps, reuse 3`"""
        if self.errors:
            return "Run"
        if not self.runs:
            return f"Reuse all {plural(self.reuses, 'step')}"
        return f"Run {plural(self.runs, 'step')}" + (f", reuse {self.reuses}" if self.reuses else "")

    @property
    def saved(self) -> str:
        """What the reused results once cost."""
        once = sum((fate.once_usd for fate in self.forecast if fate.once_usd), Decimal(0))
        return usd(once) if once else ""

    # --- the steps -------------------------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> list[StepForm]:
        fates = {fate.step: fate for fate in self.forecast}
        return [self._section(step, at, fates.get(step.key)) for at, step in enumerate(self.draft.workflow.steps)]

    def _section(self, step: Step, at: int, fate: Forecast | None) -> StepForm:
        steps, refused = self.draft.workflow.steps, self.draft.refused
        problems = [problem for problem in self.problems if problem.step == step.key]
        if refused is not None and refused.step == step.key:
            problems.insert(0, refused)
        return StepForm(
            step=step,
            number=at + 1,
            title=short_title(step.instruction),
            reads=self._reads(step, at),
            problems=problems,
            fate=fate,
            is_fresh=step.key in self.draft.fresh,
            is_first=at == 0,
            is_last=at == len(steps) - 1,
            is_only=len(steps) == 1,
            knows_worker=step.worker in self.workers,
            is_kept=self.draft.rewritten != step.key,
        )

    def _reads(self, step: Step, at: int) -> list[Read]:
        steps = self.draft.workflow.steps
        faults = {
            problem.edge[0]: problem.message for problem in self.problems if problem.edge and problem.step == step.key
        }
        earlier = [
            Read(
                other.key,
                f"{number} {short_title(other.instruction)}",
                other.key in step.access,
                faults.get(other.key, ""),
            )
            for number, other in enumerate(steps[:at], start=1)
        ]
        known = {read.key for read in earlier}
        odd = [
            Read(source, graph.quoted(source), True, faults.get(source, ""))
            for source in step.access
            if source not in known
        ]
        return earlier + odd

    # --- the canvas ------------------------------------------------------------------------------------------------

    @property
    def as_json(self) -> dict[str, Any]:
        """The draft as the canvas reads it."""
        problems = [*self.problems, *([self.draft.refused] if self.draft.refused else [])]
        return {
            "workflow": self.draft.workflow.model_dump(mode="json"),
            "problems": [asdict(problem) for problem in problems],
            "pool": list(self.workers),
            "recorded": {fate.step: fate.reason for fate in self.forecast if fate.verdict == "reuse"},
            "forecast": [{"step": fate.step, "verdict": fate.verdict, "reason": fate.reason} for fate in self.forecast],
        }


def _price(price: Mapping[str, Any]) -> str:
    """What a million tokens cost, in and out."""
    if price["free"]:
        return "free"
    if price["input_usd"] is None or price["output_usd"] is None:
        return "price unknown"
    return f"{usd(Decimal(price['input_usd']))} in, {usd(Decimal(price['output_usd']))} out a million tokens"
