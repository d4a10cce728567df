"""What a generator makes, and the small things that several of them share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from random import Random

from apps.evals.graders import Grader


@dataclass(frozen=True)
class Task:
    """A question with one known answer. The same kind and seed make the same task."""

    kind: str
    text: str
    answer: str
    seed: int
    grader: Grader


@dataclass(frozen=True)
class Made:
    """A task as its generator leaves it."""

    text: str
    answer: str
    grader: Grader


Generator = Callable[[Random], Made]


def rounded(value: Fraction, places: int) -> Fraction:
    """The value to that many decimal places, halves away from zero, as people round."""
    scale = 10**places
    whole = floor(abs(value) * scale + Fraction(1, 2))
    return Fraction(-whole if value < 0 else whole, scale)


def shown(value: Fraction, places: int | None = None) -> str:
    """The value in decimals: with exactly `places`, or as many as it has (ten at most)."""
    if places is not None:
        return f"{float(rounded(value, places)):.{places}f}"
    return str(value.numerator) if value.denominator == 1 else f"{float(rounded(value, 10)):.10f}".rstrip("0")


def is_short(value: Fraction, places: int = 2) -> bool:
    """Whether the value is exact with that many decimals."""
    return rounded(value, places) == value


def listed(words: Sequence[object], last: str = "and") -> str:
    """`a, b and c`."""
    *most, end = map(str, words)
    return f"{', '.join(most)} {last} {end}" if most else end


def with_article(words: str) -> str:
    """`a 12 km race`, but `an 8 km race`."""
    return f"an {words}" if words.startswith(("8", "11 ", "11.", "18 ", "18.")) else f"a {words}"
