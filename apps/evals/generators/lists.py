"""Lists of numbers: some are left out, the rest is changed, and one figure is asked for at the end."""

from collections.abc import Callable
from fractions import Fraction
from math import prod
from random import Random
from statistics import median

from apps.evals.graders import Items, Number

from .task import Made, is_short, shown

Values = list[Fraction]

_FILTERS: tuple[tuple[str, Callable[[int], bool]], ...] = (
    ("remove the primes", lambda n: not is_prime(n)),
    ("keep the primes", lambda n: is_prime(n)),
    ("keep the even numbers", lambda n: n % 2 == 0),
    ("remove the even numbers", lambda n: n % 2 == 1),
    ("drop the odd numbers", lambda n: n % 2 == 0),
    ("remove the multiples of 3", lambda n: n % 3 != 0),
    ("keep the multiples of 4", lambda n: n % 4 == 0),
    ("leave out the numbers above 30", lambda n: n <= 30),
    ("keep only numbers greater than 12", lambda n: n > 12),
)
_CHANGES: tuple[tuple[str, Callable[[Fraction], Fraction]], ...] = (
    ("double what is left", lambda n: 2 * n),
    ("triple what is left", lambda n: 3 * n),
    ("halve what is left", lambda n: n / 2),
    ("add 5 to each", lambda n: n + 5),
    ("subtract 4 from each", lambda n: n - 4),
    ("multiply each by 7", lambda n: 7 * n),
)
_FIGURES: tuple[tuple[str, Callable[[Values], Fraction]], ...] = (
    ("sum", lambda values: sum(values, Fraction(0))),
    ("mean", lambda values: sum(values, Fraction(0)) / len(values)),
    ("median", median),
    ("largest value", max),
    ("smallest value", min),
)
_ASKS = (
    "From {given} {stages} and give the {figure}.",
    "Here are some numbers: {given}. From them {stages}, and tell me the {figure}.",
    "Start with {given}. First {stages}. Then give the {figure}.",
)
_SORTS = (
    ("Take {given}: sort them in descending order.", True),
    ("Put {given} in order: sort them in ascending order.", False),
    ("Sort {given} in ascending order.", False),
)


def make(rng: Random) -> Made:
    return _sorted(rng) if rng.random() < 0.2 else staged(rng, changes=rng.choice((0, 1, 1)))


def staged(rng: Random, *, changes: int) -> Made:
    """A filter, so many changes of what is left, and a figure of the result that has at most two decimals."""
    while True:
        values = rng.sample(range(2, 60), rng.randint(5, 8))
        told, keeps = rng.choice(_FILTERS)
        left = [Fraction(value) for value in values if keeps(value)]
        stages = [told]
        for words, change in rng.sample(_CHANGES, changes):
            stages.append(words)
            left = [change(value) for value in left]
        figure, take = ("product", prod) if 2 <= len(left) <= 3 and rng.random() < 0.3 else rng.choice(_FIGURES)
        if 2 <= len(left) < len(values) and is_short(value := Fraction(take(left))):
            break
    text = rng.choice(_ASKS).format(given=", ".join(map(str, values)), stages=_in_turn(stages), figure=figure)
    return Made(text, shown(value), Number(value))


def _sorted(rng: Random) -> Made:
    values = rng.sample(range(1, 90), rng.randint(5, 9))
    ask, downwards = rng.choice(_SORTS)
    answer = tuple(map(str, sorted(values, reverse=downwards)))
    return Made(ask.format(given=", ".join(map(str, values))), ", ".join(answer), Items(answer))


def _in_turn(stages: list[str]) -> str:
    *most, last = stages
    return f"{', '.join(most)}, then {last}" if most else last


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
