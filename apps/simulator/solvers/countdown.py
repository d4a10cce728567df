"""Countdown: reach a number from given ones, each used at most once, with + - * /."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from apps.simulator.solvers.arithmetic import NotArithmetic, evaluate
from apps.simulator.solvers.problem import Part, Problem, listed

MOST_NUMBERS = 7
MOST_STATES = 120_000  # the search stops there: a puzzle of six numbers without a solution has more

_TARGET = re.compile(
    r"\b(?:reach|make|get|obtain|hit|form|equals?|target(?:\s+(?:is|of))?:?)\s+(?:exactly\s+)?(\d+)\b", re.I
)
_GIVEN = re.compile(r"\b(?:using|use|from|with|of|numbers)\b[^.\d]{0,40}(\d+(?:\s*(?:,|and|,\s*and)\s*\d+)+)", re.I)
_OPERATIONS = re.compile(r"operations?|\+\s*,?\s*-|expression|countdown|arithmetic", re.I)


@dataclass(frozen=True)
class Term:
    """A value and how it was made; `rank` is 2 for a number, 1 for a product, 0 for a sum."""

    value: int
    text: str
    rank: int = 2


def solve(text: str) -> Problem | None:
    puzzle = read(text)
    if puzzle is None:
        return None
    numbers, target, must_use_all = puzzle
    expression, misses = search(tuple(sorted(numbers)), target, must_use_all)
    given = listed([str(number) for number in numbers])
    if expression is None:
        return None
    return Problem(
        family="countdown",
        ask=f"Find one expression with {given}, each at most once, that gives {target}.",
        method=f"List the products and quotients of {given} that come near {target}, and what each still lacks.",
        check=f"Check every expression found for {target}: evaluate it, see that it uses only {given} and each at most "
        "once, and give one that is right.",
        answer=expression,
        working=tuple(_told(expression, target)),
        wrong=misses,
        parts=tuple(_attempts(given, numbers, target, expression, misses)),
    )


def read(text: str) -> tuple[list[int], int, bool] | None:
    """The numbers, the target and whether every number must be used."""
    target, given = _TARGET.search(text), _GIVEN.search(text)
    if target is None or given is None or not _OPERATIONS.search(text):
        return None
    numbers = [int(number) for number in re.findall(r"\d+", given[1])]
    if not 2 <= len(numbers) <= MOST_NUMBERS or max(numbers) > 10_000:
        return None
    must_use_all = bool(re.search(r"exactly once|all (?:of )?(?:the|these)|use all|each once", text, re.I))
    return numbers, int(target[1]), must_use_all


@lru_cache(maxsize=512)
def search(numbers: tuple[int, ...], target: int, must_use_all: bool) -> tuple[str | None, tuple[str, ...]]:
    """An expression for the target, or None; and a few near misses, nearest first."""
    seen: set[tuple[int, ...]] = set()
    misses: dict[str, int] = {}
    stack = [tuple(Term(number, str(number)) for number in numbers)]
    while stack and len(seen) < MOST_STATES:
        terms = stack.pop()
        key = tuple(sorted(term.value for term in terms))
        if key in seen:
            continue
        seen.add(key)
        for left, right in combinations(range(len(terms)), 2):
            rest = tuple(term for at, term in enumerate(terms) if at not in (left, right))
            for made in _made(terms[left], terms[right]):
                if made.value == target and not (rest and must_use_all):
                    return _bare(made), _nearest(misses, target)
                if 0 < abs(made.value - target) <= max(12, target // 20) and len(misses) < 400:
                    misses[_bare(made)] = made.value
                if rest:
                    stack.append((*rest, made))
    return None, _nearest(misses, target)


def _nearest(misses: dict[str, int], target: int) -> tuple[str, ...]:
    return tuple(sorted(misses, key=lambda text: (abs(misses[text] - target), len(text), text))[:3])


def _made(one: Term, other: Term) -> Iterator[Term]:
    """Everything two terms make in whole, positive numbers, as the game has it."""
    big, small = (one, other) if one.value >= other.value else (other, one)
    yield Term(big.value * small.value, f"{_within(big, 1)}*{_within(small, 1)}", 1)
    if small.value and big.value % small.value == 0:
        yield Term(big.value // small.value, f"{_within(big, 1)}/{_within(small, 2)}", 1)
    yield Term(big.value + small.value, f"{big.text}+{small.text}", 0)
    if big.value > small.value:
        yield Term(big.value - small.value, f"{big.text}-{_within(small, 1)}", 0)


def _within(term: Term, rank: int) -> str:
    return term.text if term.rank >= rank else f"({term.text})"


def _bare(term: Term) -> str:
    return term.text


def _told(expression: str, target: int) -> Iterator[str]:
    products = re.findall(r"\d+(?:[*/]\d+)+", expression)
    for product in products:
        yield f"{product} = {evaluate(product)}"
    yield f"{expression} = {target}"


def _attempts(given: str, numbers: list[int], target: int, expression: str, misses: tuple[str, ...]) -> Iterator[Part]:
    """Two ways to look for it; each finds the whole answer, so an aggregator has something to compare."""
    big = sorted(numbers)[-2:]
    ways = (
        f"Start from a product such as {big[1]}*{big[0]} and correct it with the other numbers until it gives "
        f"{target}; use each of {given} at most once.",
        f"Work backwards from {target}: undo an addition, subtraction, multiplication or division by one of {given} "
        "at a time, and give the expression.",
    )
    for way in ways:
        yield Part(
            cue=way[:24], instruction=way, answer=expression, working=tuple(_told(expression, target)), wrong=misses
        )


def verdict(expression: str, text: str) -> str | None:
    """What is wrong with somebody's expression for the puzzle in `text`; empty when nothing, None if it is none."""
    puzzle = read(text)
    claimed = expression.split("=")[0].strip().strip("`* ")
    try:
        value = evaluate(claimed)
    except NotArithmetic:
        return None
    if puzzle is None or not re.search(r"[-+*/×÷]", claimed):
        return None
    numbers, target, _ = puzzle
    left = list(numbers)
    for used in map(int, re.findall(r"\d+", claimed)):
        if used not in left:
            return f"{used} is not among the numbers, or used twice"
        left.remove(used)
    return "" if value == Fraction(target) else f"it gives {value}, not {target}"
