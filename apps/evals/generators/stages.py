"""Problems in stages, each of which stands on the one before: worth a plan, the work, and a check."""

from fractions import Fraction
from math import ceil
from random import Random

from apps.evals.graders import Number

from .lists import staged
from .task import Made, shown

_CAR_PARKS = (
    "How many charging points does a car park with {places} places need so that {share} % of the cars, each needing "
    "{energy} kWh, can be filled between {start:02}:00 and {end:02}:00 at {power} kW?",
    "A car park has {places} spaces. {share} % of the cars charge there, each needing {energy} kWh, between "
    "{start:02}:00 and {end:02}:00. How many charging points of {power} kW are needed?",
)
_SUMS = (
    "Compute {e}. Take it one operation at a time, and answer with the number.",
    "Calculate {e}.",
    "Work out {e}. Answer with the number.",
)


def make(rng: Random) -> Made:
    return rng.choice((_car_park, _long_sum, _long_list))(rng)


def _car_park(rng: Random) -> Made:
    while True:
        places, share, energy = rng.randrange(60, 420, 20), rng.choice((25, 30, 35, 40, 50)), rng.choice((14, 20, 28))
        start, end, power = rng.choice((7, 8, 9)), rng.choice((17, 18, 20)), rng.choice(("3.7", "7.4", "11"))
        cars = ceil(Fraction(places * share, 100))
        each = (end - start) * Fraction(power)
        points = ceil(cars * energy / each)
        # The same number whether cars may swap in mid-charge or each stays until it is full.
        if each >= energy and points == ceil(Fraction(cars, each // energy)):
            break
    text = rng.choice(_CAR_PARKS).format(places=places, share=share, energy=energy, start=start, end=end, power=power)
    return Made(text, str(points), Number(points))


def _long_sum(rng: Random) -> Made:
    a, b, c, d, e, f = (rng.randint(12, 96) for _ in range(6))
    by, least = rng.choice((2, 4, 5)), rng.randint(3, 9)
    inner = (a + b) * c - d
    d += inner % by
    inner = (a + b) * c - d
    value = Fraction(inner // by + e * (f + 40 - least))
    expression = f"(({a} + {b}) * {c} - {d}) / {by} + {e} * ({f + 40} - {least})"
    return Made(rng.choice(_SUMS).format(e=expression), shown(value), Number(value))


def _long_list(rng: Random) -> Made:
    return staged(rng, changes=3)
