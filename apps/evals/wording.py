"""Figures in words, the same in print and in pictures."""

from collections.abc import Iterator, Mapping

from .contest import Comparison, Contest
from .stats import Estimate


def percent(value: float, places: int = 1) -> str:
    return f"{value * 100:.{places}f} %"


def points(value: float) -> str:
    """A difference of two shares in percentage points, with its sign."""
    return f"{value * 100:+.1f}".replace("-", "−")


def usd(value: float) -> str:
    """Money with as many decimals as small sums need, so that a thousandth of a cent is still told."""
    places = 2 if value >= 1 or value == 0 else 5 if value >= 0.0001 else 6
    return f"${value:.{places}f}" if value else "$0"


def interval(estimate: Estimate, places: int = 1) -> str:
    """A share with its interval: 93.5 % (90.2 to 95.8)."""
    ends = between(estimate, places)
    return f"{percent(estimate.value, places)} ({ends})" if ends else percent(estimate.value, places)


def between(estimate: Estimate, places: int = 1) -> str:
    """The ends of a share's interval in per cent: 90.2 to 95.8. Empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low * 100:.{places}f} to {estimate.high * 100:.{places}f}"


def difference(comparison: Comparison) -> str:
    """A difference with its interval, in percentage points: −6.5 (−10.9 to −2.8)."""
    delta = comparison.delta
    return f"{points(delta.value)} ({points(delta.low)} to {points(delta.high)})"


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def findings(contest: Contest) -> list[str]:
    """What can be said and what cannot, in sentences."""
    said = []
    best = next((each for each in contest.standings if each.entrant == contest.best_single), None)
    if best is not None:
        said.append(
            f"The best single worker is {best.entrant.removeprefix('direct: ')}: right on "
            f"{interval(best.accuracy)} of {contest.n} tasks, at {usd(best.cost_usd.value)} a task."
        )
    planners = contest.of("planner")
    over_single = {each.entrant: each.over_single for each in planners if each.over_single}
    over_samples = {each.entrant: each.over_samples for each in planners if each.over_samples}
    said += _sorted_out(over_single, "the best single worker") if over_single else []
    said += _sorted_out(over_samples, "self-consistency for the same money") if over_samples else []
    return said


def _sorted_out(held: Mapping[str, Comparison], against: str) -> Iterator[str]:
    for verdict, words in (
        ("better", f"Better than {against}"),
        ("worse", f"Worse than {against}"),
        ("no difference shown", f"No difference shown from {against}"),
    ):
        names = [
            f"{name} ({points(comparison.delta.value)})"
            for name, comparison in held.items()
            if comparison.verdict == verdict
        ]
        yield f"{words}: {', '.join(names) or 'none'}."
