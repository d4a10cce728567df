"""Self-consistency at equal cost: the rival that many an orchestration of several models loses to (arXiv 2606.13003).

Every worker answers each task N times; what a vote over the first n of those attempts would have said, and what those
n would have cost, is known for every n up to N from the one run. So a planner can be held against the number of
attempts that its own money buys, without any interpolation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from .outcomes import Outcome

TOLERANCE: Final = 1.05
"""As much dearer than the planner self-consistency may be and still count as of equal cost."""


@dataclass(frozen=True)
class Samples:
    """`n` attempts of one worker and a vote, over all tasks; `right` in the order of the tasks."""

    worker: str
    n: int
    right: tuple[bool, ...]
    cost_usd: float

    @property
    def accuracy(self) -> float:
        return fmean(self.right)

    @property
    def name(self) -> str:
        return f"{self.worker} × {self.n}"


def curve(worker: str, outcomes: Sequence[Outcome]) -> list[Samples]:
    """Self-consistency of one worker for every number of attempts that each of its runs has a vote for."""
    most = min((len(outcome.votes) for outcome in outcomes), default=0)
    return [
        Samples(
            worker=worker,
            n=at + 1,
            right=tuple(outcome.votes[at].right for outcome in outcomes),
            cost_usd=fmean(outcome.votes[at].cost_usd for outcome in outcomes),
        )
        for at in range(most)
    ]


def rival(curves: Mapping[str, Sequence[Samples]], cost_usd: float) -> Samples | None:
    """The best self-consistency for at most that mean cost a task (5 % over it is let pass).

    Of every worker and number of attempts that are affordable it is the most accurate on these very tasks, and of
    equally accurate ones the dearest, that is the nearest in cost. Chosen in hindsight, it is a strict rival: nobody
    could have known it beforehand. Where nothing is as cheap as the planner, the cheapest there is.
    """
    every = [samples for each in curves.values() for samples in each]
    affordable = [samples for samples in every if samples.cost_usd <= cost_usd * TOLERANCE]
    if affordable:
        return max(affordable, key=lambda samples: (samples.accuracy, samples.cost_usd))
    return min(every, key=lambda samples: samples.cost_usd, default=None)
