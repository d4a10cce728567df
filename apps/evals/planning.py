"""How a planner that writes workflows wrote them: how many steps, in which shapes, for which workers, how soundly."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from . import stats
from .outcomes import Outcome


@dataclass(frozen=True)
class Habits:
    """Shares are of 1. `valid_at_once` is None where no model was asked, `right_when_planned` where there is no plan.

    `changed` is the share of workflows that grew by a later round; None where no run has more than one.
    """

    planned: float
    valid_at_once: float | None
    right_when_planned: float | None
    changed: float | None
    steps: dict[int, int]
    shapes: dict[str, int]
    shares: dict[str, float]
    entropy_bits: float
    distinct_instructions: float


def habits(outcomes: Sequence[Outcome]) -> Habits:
    """What the plans of one entrant have in common. :raises ValueError: there is none."""
    if not outcomes:
        raise ValueError("there are no habits in no plans")
    planned = [outcome for outcome in outcomes if outcome.planned]
    asked = [outcome.valid_at_once for outcome in outcomes if outcome.valid_at_once is not None]
    calls: Counter[str] = Counter()
    for outcome in outcomes:
        calls.update(outcome.workers)
    return Habits(
        planned=len(planned) / len(outcomes),
        valid_at_once=fmean(asked) if asked else None,
        right_when_planned=fmean(outcome.right for outcome in planned) if planned else None,
        changed=fmean(outcome.rounds > 1 for outcome in planned) if any(o.rounds > 1 for o in planned) else None,
        steps=dict(sorted(Counter(outcome.steps for outcome in planned).items())),
        shapes=dict(Counter(outcome.shape for outcome in planned).most_common()),
        shares={worker: count / calls.total() for worker, count in sorted(calls.items())},
        entropy_bits=stats.entropy_bits(calls.values()),
        distinct_instructions=fmean(outcome.distinct_instructions / outcome.steps for outcome in planned)
        if planned
        else 0.0,
    )
