"""What switching each access edge of a run off would do and cost, told before anything is paid.

Read once for all edges: the workers as they are now, and what the lineage has recorded.
"""

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any

from apps.runs.estimates import Preview
from apps.runs.models import Run, Variant
from apps.runs.reckoning import Estimate, Reckoner
from apps.runs.reuse import Forecast, Recorded, forecast
from apps.runs.services import pool_for, recorded_for_fork
from apps.workflows.edits import Deny, apply
from apps.workflows.workflow import Workflow

Edge = tuple[str, str]  # the step that is read, and its reader

MOST_EDGES = 60
LEAST_EDGES = 5
MOST_READS = 60_000  # looked at for all forks together before any of them begins: about a second


def edges_of(run: Run) -> list[Edge]:
    """Every edge of a run's workflow, in the order of the readers."""
    workflow = run.workflow
    return [] if workflow is None else [(source, step.key) for step in workflow.steps for source in step.access]


def most_at_once(run: Run) -> int:
    """How many edges of a run are tried at once: of a workflow with very many fewer, since each is foretold."""
    steps = len(run.workflow.steps) if run.workflow else 0
    return max(LEAST_EDGES, min(MOST_EDGES, MOST_READS // (steps + len(edges_of(run)) + 1)))


def without(workflow: Workflow, edge: Edge | None) -> Workflow:
    """`workflow` with one edge switched off; as it is where none is named."""
    if edge is None:
        return workflow
    source, reader = edge
    return apply(workflow, Deny(reader=reader, source=source)).workflow


def tried_edges(run: Run) -> set[Edge]:
    """The edges without which the run was tried to an end."""
    ended = Variant.objects.filter(experiment__run=run, state__in=[Variant.State.DONE, Variant.State.FAILED])
    return set(ended.exclude(source="").values_list("source", "reader"))


def asked_anew(workflow: Workflow, edge: Edge | None, *, tried: Collection[Edge]) -> tuple[str, ...]:
    """The steps of a fork without the edge that take no recorded result: all of them where nothing is changed.

    Where the edge was tried before its reader is asked once more: what it said then would be no second sample.
    """
    if edge is None:
        return workflow.keys
    return (edge[1],) if edge in tried else ()


class Forecasts:
    """The fate of each fork of `run` that could be started."""

    def __init__(self, run: Run) -> None:
        assert run.workflow is not None, "a run without a workflow has no edges"
        self.run = run
        self.workflow: Workflow = run.workflow
        self._counts: dict[str, int] = {}
        self._of_workers: dict[str, int | None] = {}

    @cached_property
    def pool(self) -> Mapping[str, Mapping[str, Any]]:
        return {worker["slug"]: worker for worker in pool_for(self.run)}

    @cached_property
    def tried(self) -> set[Edge]:
        return tried_edges(self.run)

    @cached_property
    def _known(self) -> Recorded:
        return recorded_for_fork(self.run, keys=self.workflow.keys)

    def workflow_without(self, edge: Edge | None) -> Workflow:
        return without(self.workflow, edge)

    def of(self, edge: Edge | None) -> Preview:
        """What a fork without the edge would do; where none is named, the whole run once more."""
        workflow = self.workflow_without(edge)
        fresh = asked_anew(workflow, edge, tried=self.tried)
        fates = self._fates(workflow, fresh)
        reckoner = Reckoner(
            self.run, workflow, self.pool, {fate.step: fate.source.text for fate in fates if fate.source}
        )
        reckoner.counts, reckoner.of_workers = self._counts, self._of_workers
        estimates: dict[str, Estimate] = {
            fate.step: reckoner.estimate(workflow.step(fate.step)) for fate in fates if fate.verdict == "run"
        }
        return Preview(workflow, fresh, fates, estimates, None, self.pool)

    @cached_property
    def otherwise(self) -> dict[str, str]:
        """Steps of a fork without any change that would not come to what they came to in the run, and why.

        What a fork without an edge does differently is then not that edge's doing alone.
        """
        own = dict(self.run.steps.values_list("key", "result"))
        fates = self._fates(self.workflow, ())
        running = {fate.step for fate in fates if fate.verdict == "run"}
        found = {}
        for fate in fates:
            if fate.step in running:
                if running.isdisjoint(self.workflow.step(fate.step).access):  # else it only follows those that it reads
                    found[fate.step] = f"runs again, because {fate.reason}"
            elif fate.source is not None and fate.source.text != own.get(fate.step):
                found[fate.step] = f"takes what a worker answered in run {fate.source.run.code}"
        return found

    def _fates(self, workflow: Workflow, fresh: tuple[str, ...]) -> list[Forecast]:
        return forecast(workflow, task=self.run.task, pool=self.pool, known=self._known, fresh=fresh)


def summed(previews: list[Preview]) -> tuple[Decimal | None, Decimal | None]:
    """What several forks likely cost together, and at most; None where that is not known of one of them."""
    return _sum(preview.likely_usd for preview in previews), _sum(preview.most_usd for preview in previews)


def _sum(costs: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total
