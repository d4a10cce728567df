"""Who did how well on the same tasks: figures with intervals, and which differences the data bear out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final, Literal

from . import stats
from .outcomes import Outcome, by_entrant
from .samples import Samples, curve, rival
from .stats import Delta, Estimate

LEVEL: Final = 0.05

Group = Literal["worker", "planner", "samples"]
Verdict = Literal["better", "worse", "no difference shown"]


@dataclass(frozen=True)
class Comparison:
    """An entrant held against another on the same tasks.

    `p` is corrected for how many are held against a rival of the kind: the planners together, and all others together.
    """

    against: str
    delta: Delta
    p: float
    cost_ratio: float

    @property
    def verdict(self) -> Verdict:
        if self.p >= LEVEL:
            return "no difference shown"
        return "better" if self.delta.value > 0 else "worse"


@dataclass(frozen=True)
class Standing:
    """One entrant; its figures are means over the tasks.

    `regret` is the share of tasks that it got wrong although some single worker, asked directly, got them right.
    """

    entrant: str
    planner: str
    group: Group
    accuracy: Estimate
    tokens: Estimate
    cost_usd: Estimate
    calls: Estimate
    steps: Estimate
    latency_s: Estimate
    failed: int
    regret: float
    entropy_bits: float
    by_kind: Mapping[str, Estimate]
    over_single: Comparison | None = None
    over_samples: Comparison | None = None


@dataclass(frozen=True)
class Contest:
    """All entrants in the order they entered, over the `n` tasks that each of them finished."""

    n: int
    kinds: Sequence[str]
    standings: Sequence[Standing]
    best_single: str | None
    curves: Mapping[str, Sequence[Samples]]
    outcomes: Mapping[str, Sequence[Outcome]]

    def of(self, group: Group) -> list[Standing]:
        return [standing for standing in self.standings if standing.group == group]


def hold(outcomes: Sequence[Outcome], groups: Mapping[str, Group]) -> Contest:
    """Compare all entrants; `groups` says what each is. :raises ValueError: no task was finished by all of them."""
    table = by_entrant(outcomes)
    n = len(next(iter(table.values()), []))
    if n == 0:
        raise ValueError("no task was finished by every entrant")
    workers = [name for name in table if groups[name] == "worker"]
    solvable = [any(right) for right in zip(*(_right(table[name]) for name in workers), strict=True)] or [False] * n
    standings = [_standing(name, groups[name], each, solvable) for name, each in table.items()]
    curves = {
        worker: curve(worker, table[name])
        for name in table
        if groups[name] == "samples"
        for worker in table[name][0].workers
    }
    best = _best([standing for standing in standings if standing.group == "worker"])
    standings = _against_single(standings, best, table)
    standings = _against_samples(standings, curves, table)
    kinds = list(dict.fromkeys(outcome.kind for outcome in next(iter(table.values()))))
    return Contest(n, kinds, standings, best.entrant if best else None, curves, table)


def _right(outcomes: Sequence[Outcome]) -> list[bool]:
    return [outcome.right for outcome in outcomes]


def _standing(name: str, group: Group, outcomes: Sequence[Outcome], solvable: Sequence[bool]) -> Standing:
    right = _right(outcomes)
    kinds: dict[str, list[bool]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.kind, []).append(outcome.right)
    asked: Counter[str] = Counter()
    for outcome in outcomes:
        asked.update(outcome.workers)
    return Standing(
        entrant=name,
        planner=outcomes[0].planner,
        group=group,
        accuracy=stats.accuracy(right),
        tokens=stats.mean(outcome.tokens for outcome in outcomes),
        cost_usd=stats.mean(outcome.cost_usd for outcome in outcomes),
        calls=stats.mean(outcome.calls for outcome in outcomes),
        steps=stats.mean(outcome.steps for outcome in outcomes),
        latency_s=stats.mean(outcome.latency_s for outcome in outcomes),
        failed=sum(outcome.status != "succeeded" for outcome in outcomes),
        regret=fmean(could and not did for could, did in zip(solvable, right, strict=True)),
        entropy_bits=stats.entropy_bits(asked.values()),
        by_kind={kind: stats.accuracy(each) for kind, each in kinds.items()},
    )


def _best(workers: Sequence[Standing]) -> Standing | None:
    """The most accurate single worker; of equally accurate ones the cheapest."""
    return max(workers, key=lambda worker: (worker.accuracy.value, -worker.cost_usd.value), default=None)


def _against_single(
    standings: Sequence[Standing], best: Standing | None, table: Mapping[str, Sequence[Outcome]]
) -> list[Standing]:
    if best is None:
        return list(standings)
    theirs = _right(table[best.entrant])
    held = {
        each.entrant: Comparison(
            best.entrant, stats.paired(_right(table[each.entrant]), theirs), 1.0, _ratio(each, best.cost_usd.value)
        )
        for each in standings
        if each.entrant != best.entrant
    }
    planners = {each.entrant for each in standings if each.group == "planner"}
    found = _corrected({name: each for name, each in held.items() if name in planners})
    found |= _corrected({name: each for name, each in held.items() if name not in planners})
    return [replace(each, over_single=found.get(each.entrant)) for each in standings]


def _against_samples(
    standings: Sequence[Standing], curves: Mapping[str, Sequence[Samples]], table: Mapping[str, Sequence[Outcome]]
) -> list[Standing]:
    held = {}
    for each in standings:
        other = rival(curves, each.cost_usd.value) if each.group == "planner" else None
        if other is not None:
            delta = stats.paired(_right(table[each.entrant]), other.right)
            held[each.entrant] = Comparison(other.name, delta, 1.0, _ratio(each, other.cost_usd))
    found = _corrected(held)
    return [replace(each, over_samples=found.get(each.entrant)) for each in standings]


def _corrected(held: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """The comparisons with their p-values corrected for each other, after Holm."""
    p_values = stats.holm({name: comparison.delta.p for name, comparison in held.items()})
    return {name: replace(comparison, p=p_values[name]) for name, comparison in held.items()}


def _ratio(ours: Standing, theirs_usd: float) -> float:
    """How many times as dear ours is; infinite where theirs is free."""
    return ours.cost_usd.value / theirs_usd if theirs_usd else float("inf")
