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
from apps.simulator.solvers.asks import asks_again, has_second_task, questions_in
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

OF_ONE_THING = ("arithmetic", "dates", "fact", "strings", "units")


@lru_cache(maxsize=2048)
def solve(text: str) -> Problem | None:
    """The task in the text, solved, if one of the families understands all of it."""
    if len(text) > LONGEST:
        return None
    problem = next((problem for family in FAMILIES if (problem := family.solve(text))), None)
    return problem if problem and _is_whole(problem, text) else None


def _is_whole(problem: Problem, text: str) -> bool:
    """Whether the text asks for no more than what was solved: half an answer would pass for a whole one."""
    if questions_in(text) > problem.asks:
        return False
    if problem.family == "lists" and tables.read(text):  # the numbers of a row are no list that was given
        return False
    return problem.family not in OF_ONE_THING or not (has_second_task(text) or asks_again(text))


__all__ = ["Part", "Problem", "solve"]
