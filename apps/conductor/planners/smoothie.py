"""Smoothie: every worker answers, the answer nearest to all of them wins, and no model judges (arXiv 2412.04692)."""

from dataclasses import replace
from typing import ClassVar

from apps.conductor.proposal import Ask, Brief, Proposal, Watch, propose
from apps.core.errors import Invalid
from apps.workflows.workflow import Select, Step, Workflow

from . import options
from .asking import check_pool
from .direct import INSTRUCTION

VARIANTS = ("local", "global")


class Smoothie:
    """Every worker of the pool in parallel; the sink selects by Smoothie's weights (`apps.workflows.sinks`).

    Options: `variant`, "local" (the weights come from this task's answers alone) or "global" (one weight for each
    worker, learnt from recorded answers that nobody has graded: the paper's SMOOTHIE-GLOBAL); `embedder`, the short
    name of the embedding worker whose vectors of the answers are compared, or "none" for TF-IDF (left out: the only
    embedding worker there is).

    Departure: SMOOTHIE-LOCAL averages over the task's nearest neighbours among recorded tasks; ours is its case of a
    single neighbour, the task itself. Its own limit on steps: one for each worker.
    """

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = True

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """:raises apps.core.errors.Invalid: there is no pool, or the global variant has not learnt its weights."""
        check_pool(brief)
        variant = options.chosen(brief.options, "variant", "local", among=VARIANTS)
        steps = tuple(
            Step(key=f"s{number}", instruction=INSTRUCTION, worker=worker, role="candidate")
            for number, worker in enumerate(brief.workers, start=1)
        )
        weights = _learnt_weights(brief) if variant == "global" else None
        sink = Select(over=tuple(step.key for step in steps), weights=weights)
        return propose(Workflow(steps=steps, sink=sink, on_failure="empty"), replace(brief, max_steps=len(steps)))


def _learnt_weights(brief: Brief) -> tuple[float, ...]:
    learnt = (brief.learnt or {}).get("weights", {})
    if missing := [worker for worker in brief.workers if worker not in learnt]:
        raise Invalid(
            f"Smoothie's global variant has not learnt a weight for {', '.join(missing[:3])}. "
            "Train it with: python manage.py train_planner smoothie, or use the variant “local”.",
            field="options",
        )
    return tuple(float(learnt[worker]) for worker in brief.workers)
