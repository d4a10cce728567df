"""Units: one quantity told in another unit."""

from fractions import Fraction
from random import Random

from apps.evals.graders import Number

from .task import Made, shown

# from, to, how many of the second one of the first has, and values that a person would ask about
_EXACT = (
    ("hours", "minutes", Fraction(60), ("1.5", "2.5", "3.25", "7.5", "12")),
    ("days", "hours", Fraction(24), ("2.5", "4", "9", "14.5")),
    ("km", "metres", Fraction(1000), ("3.5", "0.85", "7.25", "12.4", "42.195")),
    ("kg", "grams", Fraction(1000), ("2.4", "0.35", "1.75", "6.08")),
    ("litres", "ml", Fraction(1000), ("0.75", "1.5", "2.25", "0.33")),
    ("tonnes", "kg", Fraction(1000), ("1.2", "3.45", "0.675", "18.5")),
    ("cm", "mm", Fraction(10), ("12.5", "88", "3.7", "140.2")),
    ("minutes", "seconds", Fraction(60), ("7", "12.5", "45", "90")),
)
_ROUNDED = (
    ("miles", "km", Fraction("1.609344"), "1 mile = 1.609344 km", range(3, 95)),
    ("feet", "metres", Fraction("0.3048"), "1 foot = 0.3048 m", range(7, 900)),
    ("pounds", "kg", Fraction("0.45359237"), "1 pound = 0.45359237 kg", range(5, 260)),
    ("inches", "cm", Fraction("2.54"), "1 inch = 2.54 cm", range(5, 99)),
)
_ASKS = (
    "Convert {x} {a} to {b}.",
    "How many {b} are {x} {a}?",
    "Please convert {x} {a} to {b}, and answer with the number.",
    "How many {b} are there in {x} {a}? Answer with the number.",
)
_PLACES = {0: "Round to whole {b}.", 1: "Round to one decimal place.", 2: "Give two decimals."}


def make(rng: Random) -> Made:
    return (_exact if rng.random() < 0.5 else _rounded)(rng)


def _exact(rng: Random) -> Made:
    a, b, factor, usual = rng.choice(_EXACT)
    value = rng.choice(usual) if rng.random() < 0.4 else str(rng.randint(11, 950) / 10).removesuffix(".0")
    answer = Fraction(value) * factor
    return Made(rng.choice(_ASKS).format(x=value, a=a, b=b), f"{shown(answer)} {b}", Number(answer))


def _rounded(rng: Random) -> Made:
    a, b, factor, told, values = rng.choice(_ROUNDED)
    value, places = rng.choice(values), rng.choice(tuple(_PLACES))
    rounding = _PLACES[places].format(b=b)
    text = f"{rng.choice(_ASKS).format(x=value, a=a, b=b)} {rng.choice((f'({told}.) {rounding}', rounding))}"
    answer = shown(value * factor, places)
    return Made(text, f"{answer} {b}", Number(Fraction(answer)))
