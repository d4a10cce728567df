"""Units: conversions by the factors in the text, else by a small table, and comparisons after conversion."""

import re
from dataclasses import dataclass
from fractions import Fraction

from apps.simulator.solvers.problem import NUMBER, Part, Problem, number_of, places_asked, plain, rounded, shown, slips

_TABLE: dict[str, tuple[str, str, str]] = {  # unit: what it measures, how many of the base unit, its spellings
    "m": ("length", "1", "m metre metres meter meters"),
    "km": ("length", "1000", "km kilometre kilometres kilometer kilometers"),
    "cm": ("length", "0.01", "cm centimetre centimetres centimeter centimeters"),
    "mm": ("length", "0.001", "mm millimetre millimetres millimeter millimeters"),
    "mile": ("length", "1609.344", "mile miles mi"),
    "yard": ("length", "0.9144", "yard yards yd"),
    "foot": ("length", "0.3048", "foot feet ft"),
    "inch": ("length", "0.0254", "inch inches"),
    "kg": ("mass", "1", "kg kilogram kilograms kilo kilos"),
    "g": ("mass", "0.001", "g gram grams"),
    "t": ("mass", "1000", "t tonne tonnes"),
    "lb": ("mass", "0.45359237", "lb lbs pound pounds"),
    "oz": ("mass", "0.028349523125", "oz ounce ounces"),
    "l": ("volume", "1", "l litre litres liter liters"),
    "ml": ("volume", "0.001", "ml millilitre millilitres milliliter milliliters"),
    "gallon": ("volume", "3.785411784", "gallon gallons"),
    "s": ("time", "1", "s second seconds sec"),
    "min": ("time", "60", "min minute minutes"),
    "h": ("time", "3600", "h hour hours"),
    "day": ("time", "86400", "day days"),
}
_UNITS = {spelling: unit for unit, (_, _, spellings) in _TABLE.items() for spelling in spellings.split()}
_SPELT = "|".join(sorted(_UNITS, key=len, reverse=True))
_AMOUNT = re.compile(rf"(?<![\w.,])(?P<value>{NUMBER})[\s-]?(?P<unit>{_SPELT})\b(?:\s+(?P<noun>[a-z]+))?", re.I)
_FACTOR = re.compile(rf"\b(?:1|one|an?)\s+({_SPELT})\s*(?:=|is|equals)\s*({NUMBER})\s*({_SPELT})\b", re.I)
_INTO = re.compile(rf"\bhow many ({_SPELT})\b|\b(?:in|to|into)\s+(?:whole\s+)?({_SPELT})\b", re.I)
_COMPARED = re.compile(
    r"\bwhich\b[^?]*?\b(longer|shorter|heavier|lighter|farther|further|larger|smaller|bigger|more|less)\b", re.I
)
_SMALLER = {"shorter", "lighter", "smaller", "less"}


@dataclass(frozen=True)
class Amount:
    label: str
    text: str
    value: Fraction
    unit: str


def solve(text: str) -> Problem | None:
    factors = {unit: Fraction(factor) for unit, (_, factor, _) in _TABLE.items()}
    stated = [(one, value, other) for one, value, other in _FACTOR.findall(text)]
    for one, value, other in stated:
        factors[_UNITS[one.lower()]] = Fraction(value.replace(",", "")) * factors[_UNITS[other.lower()]]
    body = _FACTOR.sub(" ", text)
    amounts = [_amount(match) for match in _AMOUNT.finditer(body)]
    into = _INTO.search(body)
    if into is None or not amounts:
        return None
    target = (into[1] or into[2]).lower()
    unit = _UNITS[target]
    if any(_TABLE[amount.unit][0] != _TABLE[unit][0] for amount in amounts):
        return None
    parts = [_converted(amount, target, factors, stated) for amount in amounts]
    values = [amount.value * factors[amount.unit] / factors[unit] for amount in amounts]
    compared = _COMPARED.search(body)
    if compared and len(amounts) == 2:
        return _comparison(text, compared[1].lower(), amounts, values, target, parts)
    return _conversion(text, amounts[0], values[0], target, parts[0]) if len(amounts) == 1 else None


def _amount(match: re.Match[str]) -> Amount:
    noun = match["noun"] if match["noun"] and match["noun"].lower() not in _NO_NOUN else ""
    text = f"{match['value']} {match['unit']}"
    value = number_of(match["value"]) or Fraction(0)
    return Amount(f"the {text} {noun}".strip() if noun else text, text, value, _UNITS[match["unit"].lower()])


_NO_NOUN = {
    "or",
    "and",
    "in",
    "to",
    "into",
    "is",
    "are",
    "than",
    "by",
    "with",
    "using",
    "at",
    "for",
    "on",
    "of",
    "from",
}


def _converted(amount: Amount, target: str, factors: dict[str, Fraction], stated: list[tuple[str, str, str]]) -> Part:
    factor = factors[amount.unit] / factors[_UNITS[target]]
    value = amount.value * factor
    told = [f"1 {one} = {number} {other}" for one, number, other in stated if _UNITS[one.lower()] == amount.unit]
    using = f", using {told[0]}" if told else ""
    return Part(
        cue=amount.text,
        instruction=f"Convert {amount.text} to {target}{using}, and keep all decimals.",
        answer=f"{plain(value)} {target}",
        working=(f"{plain(amount.value)} * {plain(factor)} = {plain(value)} {target}",),
        wrong=tuple(f"{wrong} {target}" for wrong in slips(value)),
    )


def _comparison(
    text: str, word: str, amounts: list[Amount], values: list[Fraction], target: str, parts: list[Part]
) -> Problem | None:
    if values[0] == values[1]:
        return None
    ordered = sorted(zip(values, (amount.label for amount in amounts), strict=True), reverse=word not in _SMALLER)
    difference = abs(values[0] - values[1])
    places = places_asked(text)
    shown_difference = plain(difference) if places is None else rounded(difference, places)
    short = _shortest(target)
    one, other = amounts[0].label, amounts[1].label
    kept = "do not round" if places is None else _rounding(places, target)
    return Problem(
        family="units",
        ask=f"Say which is {word}, {one} or {other}, and by how many {target}; {kept}.",
        method=f"Bring {one} and {other} to {target} before comparing; write down the factor for each.",
        check=f"Check both conversions to {target}: say which is {word}, {one} or {other}, and by how much; {kept}.",
        answer=f"{ordered[0][1]}, by {shown_difference} {short}",
        working=(
            *(line for part in parts for line in part.working),
            f"{plain(max(values))} - {plain(min(values))} = {plain(difference)} {target}",
        ),
        wrong=tuple(f"{label}, by {wrong} {short}" for label in (one, other) for wrong in slips(difference, text)[:1]),
        parts=tuple(parts),
        combine=f"From the two lengths in {target}, say which is {word}, {one} or {other}, and by how much; {kept}."
        if _TABLE[amounts[0].unit][0] == "length"
        else f"From both values in {target}, say which is {word}, {one} or {other}, and by how much; {kept}.",
    )


def _rounding(places: int, target: str) -> str:
    return f"round to whole {target}" if places == 0 else f"round to {places} decimal place{'s' if places > 1 else ''}"


def _shortest(unit: str) -> str:
    return min(_TABLE[_UNITS[unit]][2].split(), key=len)


def _conversion(text: str, amount: Amount, value: Fraction, target: str, part: Part) -> Problem:
    places = places_asked(text)
    kept = "" if places is None else f"; {_rounding(places, target)}"  # whoever is asked only this rounds too
    return Problem(
        family="units",
        ask=f"Convert {amount.text} to {target}{kept}.",
        method=f"Write down how many {target} one {amount.unit} has, and where to round.",
        check=f"Check the conversion of {amount.text} to {target} by converting back, and give the value{kept}.",
        answer=f"{shown(value, text)} {_shortest(target)}",
        working=part.working,
        wrong=tuple(f"{wrong} {_shortest(target)}" for wrong in slips(value, text)),
        is_easy=True,
    )
