"""How many charging points a car park needs: a share of the cars, their energy, the hours and the power."""

import re
from fractions import Fraction
from math import ceil

from apps.simulator.solvers.problem import NUMBER, Part, Problem, grouped, number_of, plain

_PLACES = re.compile(rf"({NUMBER})\s+(?:parking\s+)?(?:places|spaces|bays|cars|vehicles|spots)\b", re.I)
_SHARE = re.compile(rf"({NUMBER})\s*(?:%|per ?cent)", re.I)
_ENERGY = re.compile(rf"({NUMBER})\s*kWh", re.I)
_POWER = re.compile(rf"({NUMBER})\s*kW\b(?!h)", re.I)
_HOURS = re.compile(r"\b(\d{1,2})[:.](\d{2})\s*(?:h\s*)?(?:and|to|until|till|-|–)\s*(\d{1,2})[:.](\d{2})")
_FOR_HOURS = re.compile(rf"\b(?:in|within|for|over)\s+({NUMBER})\s+hours?\b", re.I)


def solve(text: str) -> Problem | None:
    found = [_first(pattern, text) for pattern in (_PLACES, _ENERGY, _POWER)]
    hours = _hours(text)
    if hours is None or not re.search(r"\bcharg\w+", text, re.I):
        return None
    places, energy, power = found
    if places is None or energy is None or power is None or not power or not hours:
        return None
    share = _first(_SHARE, text) if _SHARE.search(text) else Fraction(100)
    return _estimate(places, share or Fraction(100), energy, power, hours)


def _first(pattern: re.Pattern[str], text: str) -> Fraction | None:
    match = pattern.search(text)
    return number_of(match[1]) if match else None


def _hours(text: str) -> Fraction | None:
    if match := _HOURS.search(text):
        start, end = (Fraction(int(match[at]) * 60 + int(match[at + 1]), 60) for at in (1, 3))
        return end - start if end > start else end - start + 24
    return _first(_FOR_HOURS, text)


def _estimate(places: Fraction, share: Fraction, energy: Fraction, power: Fraction, hours: Fraction) -> Problem:
    cars = Fraction(ceil(places * share / 100))
    needed, each = cars * energy, hours * power
    points = ceil(needed / each)
    demand = (
        f"{plain(places)} places * {plain(share)} % = {plain(cars)} cars",
        f"{plain(cars)} cars * {plain(energy)} kWh = {grouped(needed)} kWh",
    )
    supply = (f"{plain(hours)} h * {plain(power)} kW = {plain(each)} kWh per point",)
    numbers = f"({plain(cars)} cars, {grouped(needed)} kWh, {plain(each)} kWh per point)"
    what = f"{plain(places)} places, {plain(share)} % of the cars at {plain(energy)} kWh"
    supplied = f"in {plain(hours)} hours at {plain(power)} kW"
    return Problem(
        family="estimate",
        ask=f"Estimate how many charging points are needed for {what}, {supplied}; state the assumptions.",
        method=f"State the assumptions for {what}: who charges, for how long, whether cars swap, and the losses.",
        check=f"Check the estimate for {what}: recompute cars, energy and energy per point, reconcile what differs, "
        "and give the number of points with the assumptions.",
        answer=f"at least {points} {numbers}",
        working=(
            *demand,
            *supply,
            f"{grouped(needed)} / {plain(each)} = {plain(needed / each, longest=2)}, so {points} points",
            "Assumed: full power all day without losses, and cars are swapped as soon as they are full",
        ),
        wrong=(f"at least {points - 1} {numbers}", f"at least {plain(cars)} points, one for each car"),
        parts=(
            Part(
                cue="energy needed",
                instruction=f"Compute the energy needed for {what}.",
                answer=f"{grouped(needed)} kWh ({plain(cars)} cars)",
                working=demand,
                wrong=(f"{grouped(places * energy)} kWh",),
            ),
            Part(
                cue="energy of one charging point",
                instruction=f"Compute the energy of one charging point {supplied}.",
                answer=f"{plain(each)} kWh",
                working=supply,
                wrong=(f"{plain((hours + 1) * power)} kWh",),
            ),
        ),
        combine=f"Reconcile the results given for {what}: divide the need by what one point gives, round up, and "
        "give the number of points with the assumptions.",
    )
