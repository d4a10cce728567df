"""Judges a draft for the edit page: each step with its fate and its faults, and what running it would do and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.utils import timezone

from apps.accounts.models import User
from apps.runs import services
from apps.runs.estimates import Preview, changes_since, preview_of_fork, preview_of_review
from apps.runs.flow import problems_of
from apps.runs.holding import can_revise
from apps.runs.models import Run
from apps.runs.reuse import Forecast
from apps.web.editing.draft import Draft
from apps.web.editing.sections import Choice, Read, StepForm, choices_among
from apps.web.editing.sinks import SinkForm, form_of_sink
from apps.web.starting.previewed import Row, button_of, money_of, rows_of, told_of
from apps.web.words.figures import short_title, usd
from apps.web.words.looks import look_of
from apps.workflows import graph
from apps.workflows.edits import SetWorker
from apps.workflows.graph import Problem
from apps.workflows.workflow import Step

MOST_OFFERED = 6  # workers in the place of one that failed; the list has them all


class Judged:
    """A draft of a fork of `run`, or of what a run that is held for review is to be, judged for `by`.

    `seen` is the seal of the preview that the form was sent with.
    """

    def __init__(
        self, run: Run, draft: Draft, *, by: User, problems: tuple[Problem, ...] = (), seen: str | None = None
    ) -> None:
        self.run = run
        self.draft = draft
        self.by = by
        self.told = problems  # what the services said when it was to be run
        self.seen = seen

    @property
    def is_review(self) -> bool:
        """Whether the run itself waits for this workflow, rather than a fork of it."""
        return can_revise(self.run)

    @cached_property
    def pool(self) -> list[dict[str, Any]]:
        return list(self.run.pool.values()) if self.is_review else services.pool_for(self.run)

    @cached_property
    def workers(self) -> dict[str, Mapping[str, Any]]:
        return {worker["slug"]: worker for worker in self.pool}

    @cached_property
    def choices(self) -> Sequence[Choice]:
        return choices_among(self.workers, now=timezone.now())

    @cached_property
    def looks(self) -> dict[str, dict[str, Any]]:
        """Of everyone in the old pool and the new one, as the canvas reads them."""
        return {slug: look_of(slug, worker).as_json() for slug, worker in {**self.run.pool, **self.workers}.items()}

    @cached_property
    def problems(self) -> list[Problem]:
        workflow = self.draft.workflow
        found = graph.check(workflow, workers=self.workers, max_steps=services.MOST_STEPS)
        found += problems_of(self.run, workflow, self.pool, is_fork=not self.is_review)
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
    def preview(self) -> Preview | None:
        """What starting it would do and cost; nothing is foretold of a workflow that cannot be run."""
        if self.errors:
            return None
        workflow = self.draft.workflow
        if self.is_review:
            return preview_of_review(run=self.run, workflow=workflow)
        return preview_of_fork(parent=self.run, workflow=workflow, fresh=self.draft.fresh)

    @property
    def forecast(self) -> Sequence[Forecast]:
        return self.preview.fates if self.preview else ()

    @cached_property
    def changes(self) -> list[str]:
        """What is told otherwise by now than in the preview that the form was sent with."""
        if self.preview is None or self.seen is None:
            return []
        return told_of(changes_since(self.seen, self.preview), self.preview)

    # --- the bar ---------------------------------------------------------------------------------------------------

    @property
    def is_changed(self) -> bool:
        return self.run.workflow != self.draft.workflow

    @property
    def runs(self) -> int:
        return sum(fate.verdict == "run" for fate in self.forecast)

    @property
    def button(self) -> str:
        """`Run 2 steps, reuse 3`"""
        if self.is_review:
            return "Approve and run with these changes" if self.is_changed else "Approve and run"
        return button_of(self.preview) if self.preview else "Run"

    @property
    def money(self) -> str:
        """`likely ≈ $0.01, at most $0.04`"""
        return money_of(self.preview) if self.preview else ""

    @cached_property
    def rows(self) -> list[Row]:
        """The preview, step by step."""
        return rows_of(self.preview) if self.preview else []

    @property
    def saved(self) -> str:
        """What the reused results once cost."""
        once = sum((fate.once_usd for fate in self.forecast if fate.once_usd), Decimal(0))
        return usd(once) if once else ""

    # --- the steps -------------------------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> list[StepForm]:
        rows = {row.key: row for row in self.rows}
        return [self._section(step, at, rows.get(step.key)) for at, step in enumerate(self.draft.workflow.steps)]

    def _section(self, step: Step, at: int, told: Row | None) -> StepForm:
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
            told=told,
            is_fresh=step.key in self.draft.fresh,
            is_first=at == 0,
            is_last=at == len(steps) - 1,
            is_only=len(steps) == 1,
            knows_worker=step.worker in self.workers,
            is_kept=not self.draft.is_restored and self.draft.rewritten != step.key,
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

    def instead_at(self, key: str) -> list[tuple[Choice, str]]:
        """The other workers that a step can be given to, each with the operation that does it."""
        now = self.draft.workflow.step(key).worker
        others = [choice for choice in self.choices if choice.look.slug != now][:MOST_OFFERED]
        return [(choice, SetWorker(key=key, worker=choice.look.slug).model_dump_json()) for choice in others]

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
            "forecast": [{"step": row.key, "verdict": row.fate.verdict, "reason": row.why} for row in self.rows],
            "costs": {row.key: row.likely for row in self.rows if row.runs},
        }
