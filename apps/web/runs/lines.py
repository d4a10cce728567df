"""Runs as lines of a table: what a line says, and how many lines are read at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from django.contrib.postgres.aggregates import ArrayAgg

from apps.runs.lineage import Lineage, lineages_of
from apps.runs.models import Run, RunQuerySet, Step
from apps.web.words.figures import ago, seconds, usd
from apps.web.words.looks import Look, look_of
from apps.web.words.planners import label_of

CHIPS = 6
STRIP = 12  # steps drawn one by one; of more only the number is told

SHOWN = (
    *("code", "title", "profile", "setup", "status", "hold", "planned_by", "error_step", "created_at", "finished_at"),
    *("input_tokens", "output_tokens", "cost_usd", "cost_unknown", "root", "parent"),
    *("owner__username", "owner__first_name", "owner__last_name"),
)


class Brief(NamedTuple):
    """As much of a step as a line shows."""

    status: str
    worker: str


@dataclass(frozen=True)
class Line:
    """One run as a list shows it."""

    run: Run
    steps: Sequence[Brief]
    now: datetime
    lineage: Lineage

    @property
    def done(self) -> int:
        return sum(step.status in Step.DONE for step in self.steps)

    @property
    def strip(self) -> Sequence[Brief]:
        return self.steps if len(self.steps) <= STRIP else ()

    @cached_property
    def workers(self) -> list[Look]:
        """The workers its steps use, in their order; before there are steps, those it could use."""
        pool = self.run.pool
        slugs = dict.fromkeys(step.worker for step in self.steps) or pool
        return [look_of(slug, pool.get(slug)) for slug in slugs]

    @property
    def chips(self) -> list[Look]:
        return self.workers[:CHIPS]

    @property
    def more(self) -> int:
        return max(0, len(self.workers) - CHIPS)

    @property
    def planner(self) -> str:
        """Who planned it, where the profile's name does not say."""
        planner = self.run.planned_by or str(self.run.setup["planner"])
        if planner == "saved" and self.run.parent_id:
            return "edited"
        return "" if planner == "conductor" else label_of(planner)

    @property
    def is_simulated(self) -> bool:
        return any(worker.simulated for worker in self.workers)

    @property
    def place(self) -> str:
        """`3 of 4`, or how many runs were made from one another; of one by itself nothing."""
        if self.lineage.is_alone:
            return ""
        of = f"{self.lineage.size:,}"
        return f"one of {of}" if self.lineage.place is None else f"{self.lineage.place:,} of {of}"

    @property
    def is_latest(self) -> bool:
        return self.lineage.latest == self.run.code

    @property
    def outcome(self) -> str:
        """How the latest of its lineage stands: `OK`, `failed`, `running`."""
        status = Run.Status(self.lineage.latest_status)
        return "OK" if status == Run.Status.SUCCEEDED else status.label.lower()

    @property
    def took(self) -> str:
        """How long it took, or has been taking; nothing for one that waits for a person."""
        if self.run.status == Run.Status.HELD:
            return ""
        return seconds(((self.run.finished_at or self.now) - self.run.created_at).total_seconds() * 1000)

    @property
    def when(self) -> str:
        """How long ago it was begun."""
        return ago(self.run.created_at, now=self.now)

    @property
    def cost(self) -> str:
        """What is known of its cost. An unknown price is said, never taken for nothing."""
        run = self.run
        if run.cost_unknown:
            return f"≥ {usd(run.cost_usd)}" if run.cost_usd else "unknown"
        if run.cost_usd or run.input_tokens or run.output_tokens:
            return usd(run.cost_usd)
        return "–"


def lines_of(runs: RunQuerySet, *, limit: int, now: datetime) -> list[Line]:
    """The newest `limit` of `runs`, with their steps, lineages and people, in four queries."""
    rows = list(runs.select_related("owner").only(*SHOWN).order_by("-pk")[:limit])
    steps = _steps_of(rows)
    lineages = lineages_of(rows)
    return [Line(run, steps.get(run.pk, ()), now, lineages[run.pk]) for run in rows]


def _steps_of(runs: Sequence[Run]) -> dict[int, list[Brief]]:
    """The steps of each run in their order, as one row a run: fifty runs may well have thousands of them."""
    rows = (
        Step.objects.filter(run__in=[run.pk for run in runs])
        .order_by()
        .values("run")
        .annotate(statuses=ArrayAgg("status", order_by="position"), workers=ArrayAgg("worker", order_by="position"))
    )
    return {row["run"]: list(map(Brief, row["statuses"], row["workers"])) for row in rows}
