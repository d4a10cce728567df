"""How sure a comparison is: intervals and tests for what a rehearsal or an evaluation measured.

Everything is computed at 95 %. What one task gave under two planners belongs together: comparisons are paired.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from scipy import stats

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2_000


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval; `low` and `high` are None where the data allow none."""

    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Delta:
    """By how much one planner was right more often than another on the same tasks, as shares of 1.

    `p` is that of the exact McNemar test; `wins` and `losses` count the tasks that only one of them got right.
    """

    value: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    n: int


def accuracy(right: Sequence[bool]) -> Estimate:
    """The share that was right, with Wilson's interval. :raises ValueError: nothing was graded."""
    if not right:
        raise ValueError("there is no accuracy of no answers")
    low, high = _wilson(sum(right), len(right))
    return Estimate(sum(right) / len(right), low, high, len(right))


def mean(values: Iterable[float], *, seed: int = 0) -> Estimate:
    """The mean with a bootstrap interval (percentiles of resampled means). :raises ValueError: there is no value."""
    data = np.asarray(list(values), dtype=float)
    if not data.size:
        raise ValueError("there is no mean of no values")
    if data.size == 1:
        return Estimate(float(data[0]), None, None, 1)
    found = stats.bootstrap(
        (data,),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return Estimate(float(data.mean()), float(found.low), float(found.high), data.size)


def paired(ours: Sequence[bool], theirs: Sequence[bool]) -> Delta:
    """How much more often `ours` is right than `theirs`, task by task.

    The interval is Newcombe's square-and-add from two Wilson intervals (Statistics in Medicine 17, 1998, method 10),
    which keeps its coverage where few tasks differ and a resampled interval would be a point. scipy has none for pairs.

    :raises ValueError: not of the same tasks, or of none.
    """
    if len(ours) != len(theirs) or not ours:
        raise ValueError("a paired comparison needs the same tasks on both sides")
    n = len(ours)
    both = sum(a and b for a, b in zip(ours, theirs, strict=True))
    wins, losses = sum(ours) - both, sum(theirs) - both
    low, high = _newcombe(both, wins, losses, n - both - wins - losses)
    p = float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return Delta((wins - losses) / n, low, high, p, wins, losses, n)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p-values of several comparisons as Holm (1979) corrects them.

    Then at most one table in twenty calls a difference real, anywhere in it, that is none.
    """
    corrected: dict[str, float] = {}
    so_far = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[name]))
        corrected[name] = so_far
    return {name: corrected[name] for name in p_values}


def entropy_bits(counts: Iterable[int]) -> float:
    """How evenly calls are spread over workers: 0 where one gets all, log2 of their number where all get the same."""
    shares = np.asarray(list(counts), dtype=float)
    return float(stats.entropy(shares, base=2)) if shares.sum() else 0.0


def _wilson(count: int, n: int) -> tuple[float, float]:
    found = stats.binomtest(count, n).proportion_ci(confidence_level=CONFIDENCE, method="wilson")
    return float(found.low), float(found.high)


def _newcombe(both: int, wins: int, losses: int, neither: int) -> tuple[float, float]:
    n = both + wins + losses + neither
    one, other = (both + wins) / n, (both + losses) / n
    low_one, high_one = _wilson(both + wins, n)
    low_other, high_other = _wilson(both + losses, n)
    phi = _correlation(both, wins, losses, neither)

    def reach(a: float, b: float) -> float:
        return sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))

    delta = one - other
    return delta - reach(one - low_one, high_other - other), delta + reach(high_one - one, other - low_other)


def _correlation(both: int, wins: int, losses: int, neither: int) -> float:
    """Newcombe's phi of the fourfold table, corrected for continuity; 0 where a margin is empty."""
    margins = (both + wins) * (losses + neither) * (both + losses) * (wins + neither)
    product = float(both * neither - wins * losses)
    if product > 0:
        product = max(0.0, product - (both + wins + losses + neither) / 2)
    return product / sqrt(margins) if margins else 0.0
