"""Figures as lines of text."""

from collections.abc import Sequence
from statistics import median, quantiles


def percentile(values: Sequence[float], percent: int) -> float:
    """The given percentile; of a single value, that value."""
    if len(values) < 2:
        return values[0]
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def spread(values: Sequence[float], unit: str) -> str:
    """Median, with the tenth and the ninetieth percentile."""
    return f"{median(values):.1f} {unit} (p10 {percentile(values, 10):.1f}, p90 {percentile(values, 90):.1f})"
