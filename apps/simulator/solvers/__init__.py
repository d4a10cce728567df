"""Solving what can be solved by parsing. One family of tasks per file; each takes a text and returns a `Problem`."""

from functools import lru_cache

from apps.simulator.solvers import (
    arithmetic,
    capacity,
    countdown,
    dates,
    extraction,
    facts,
    lists,
    logic,
    passage,
    prices,
    products,
    tables,
    units,
    words,
)
from apps.simulator.solvers.problem import Part, Problem

LONGEST = 20_000  # characters; a longer text is no puzzle of ours

# from the most particular to the most general: the sum that is merely mentioned comes last
FAMILIES = (
    extraction,
    passage,
    countdown,
    logic,
    tables,
    prices,
    capacity,
    words,
    dates,
    units,
    products,
    lists,
    facts,
    arithmetic,
)


@lru_cache(maxsize=2048)
def solve(text: str) -> Problem | None:
    """The task in the text, solved, if one of the families understands it."""
    if len(text) > LONGEST:
        return None
    return next((problem for family in FAMILIES if (problem := family.solve(text))), None)


__all__ = ["Part", "Problem", "solve"]
