"""Sums: an expression, a share in per cent, or a chain of "each with" to be multiplied."""

from fractions import Fraction
from random import Random

from apps.evals.graders import Number

from .task import Made, is_short, shown

_ASKS = (
    "Compute {e}. Answer with the number.",
    "What is {e}?",
    "Calculate {e}.",
    "How much is {e}? Just the number, please.",
    "I need the value of {e}. Reply with the number.",
)
_SHARES = (
    "What is {p} % of {n}?",
    "How much is {p} per cent of {n}? Answer with the number.",
    "Please calculate {p} % of {n}.",
)
_CHAINS = (
    "A warehouse ships {a} pallets a day, each with {b} boxes of {c} units. How many units leave in {d} days?",
    "A bakery bakes {a} trays an hour, each with {b} rows of {c} rolls. How many rolls in {d} hours?",
    "Every day {a} vans leave the depot, each with {b} crates of {c} bottles. How many bottles leave in {d} days?",
    "A printer fills {a} cartons an hour, each with {b} packs of {c} cards. How many cards in {d} hours?",
)
_SHORT_CHAINS = (
    "A shop has {a} shelves, each with {b} books. How many books are there?",
    "A hall has {a} rows, each with {b} seats. How many seats are there?",
    "A farm has {a} fields, each with {b} trees. How many trees are there?",
)


def make(rng: Random) -> Made:
    return rng.choice((_expression, _expression, _share, _chain))(rng)


def _expression(rng: Random) -> Made:
    text, value = rng.choice((_difference_shared, _products, _sum_times, _power, _bracket_over))(rng)
    return _number(rng.choice(_ASKS).format(e=text), value)


def _difference_shared(rng: Random) -> tuple[str, Fraction]:
    by = rng.choice((4, 5, 8))
    low, times = rng.randint(101, 499), rng.randint(12, 38)
    high = low + by * rng.randint(60, 290)
    return f"({high} - {low}) * {times} / {by}", Fraction((high - low) * times, by)


def _products(rng: Random) -> tuple[str, Fraction]:
    a, b, c, d = (rng.randint(12, 97) for _ in range(4))
    return f"{a} * {b} - {c} * {d}", Fraction(a * b - c * d)


def _sum_times(rng: Random) -> tuple[str, Fraction]:
    a, b, c, d = rng.randint(110, 899), rng.randint(110, 899), rng.randint(3, 19), rng.randint(10, 999)
    return f"({a} + {b}) * {c} - {d}", Fraction((a + b) * c - d)


def _power(rng: Random) -> tuple[str, Fraction]:
    base, power = rng.choice(((2, 10), (2, 12), (3, 6), (3, 7), (5, 5), (7, 4)))
    less = rng.randint(11, 99)
    return f"{base}^{power} - {less}", Fraction(base**power - less)


def _bracket_over(rng: Random) -> tuple[str, Fraction]:
    by, result, add = rng.randint(3, 12), rng.randint(25, 240), rng.randint(100, 900)
    a = rng.randint(11, by * result - 11)
    return f"({a} + {by * result - a}) / {by} + {add}", Fraction(result + add)


def _share(rng: Random) -> Made:
    while True:
        share, whole = rng.choice((3, 5, 8, 12, 15, 18, 24, 35, 45, 65, 85)), rng.randint(8, 190) * 10
        value = Fraction(share * whole, 100)
        if is_short(value, 1):
            return _number(rng.choice(_SHARES).format(p=share, n=whole), value)


def _chain(rng: Random) -> Made:
    a, b, c, d = rng.randint(13, 64), rng.randint(6, 48), rng.choice((6, 8, 12, 24)), rng.randint(3, 9)
    if rng.random() < 0.3:
        return _number(rng.choice(_SHORT_CHAINS).format(a=a, b=b), Fraction(a * b))
    return _number(rng.choice(_CHAINS).format(a=a, b=b, c=c, d=d), Fraction(a * b * c * d))


def _number(text: str, value: Fraction) -> Made:
    return Made(text, shown(value), Number(value))
