"""Comparisons of several parts, each a small sum of its own: two lengths, rows of a table, bills from a price list."""

from fractions import Fraction
from random import Random

from apps.evals.graders import Figures, Number

from .tables import is_clear, table, with_table
from .task import Made, rounded, shown, with_article

_LENGTHS = (
    ("race", "metres", "m", ("km", Fraction(1000)), ("mile", Fraction("1609.344")), "1 mile = 1609.344 m"),
    ("walk", "metres", "m", ("km", Fraction(1000)), ("mile", Fraction("1609.344")), "1 mile = 1609.344 m"),
    ("rope", "cm", "cm", ("metre", Fraction(100)), ("yard", Fraction("91.44")), "1 yard = 91.44 cm"),
)
_WEIGHTS = (
    ("sack", "grams", "g", ("kg", Fraction(1000)), ("pound", Fraction("453.59237")), "1 pound = 453.59237 g"),
    ("parcel", "grams", "g", ("kg", Fraction(1000)), ("pound", Fraction("453.59237")), "1 pound = 453.59237 g"),
)
_COMPARED = (
    "Which is {word}: {one} or {other}, and by how many {unit}? ({told}.) Round to whole {unit}.",
    "I have {one} and {other}. Which is {word}, and by how many {unit}? ({told}.) Round to whole {unit}.",
)
_GROWN = (
    "Which {h} grew most from {a} to {b} in per cent, and by how much? One decimal place.",
    "From {a} to {b}, which {h} grew most in per cent? Name it with its growth, to one decimal place.",
)
_APART = (
    "Which {h} grew most, which least from {a} to {b} in per cent, and by how many points do they differ? "
    "One decimal place.",
)
_TOTALS = (
    "Which {h} had the highest and which the lowest total? By how much do they differ?",
    "Which {h} has the largest total, which the smallest, and by how much do they differ?",
)
_SHOPS = (
    ("Ticket prices", "Family", {"adult": "adults", "student": "students", "child": "children"}),
    ("Menu prices", "Table", {"soup": "soups", "salad": "salads", "tea": "teas"}),
    ("Nursery prices", "Garden", {"rose": "roses", "fern": "ferns", "shrub": "shrubs"}),
)


def make(rng: Random) -> Made:
    return rng.choice((_measures, _most_grown, _apart, _totals, _bills, _all_bills))(rng)


def _measures(rng: Random) -> Made:
    kinds, words = rng.choice(((_LENGTHS, ("longer", "shorter")), (_WEIGHTS, ("heavier", "lighter"))))
    noun, unit, short, (a, factor_a), (b, factor_b), told = rng.choice(kinds)
    while True:
        x, y = Fraction(rng.randint(20, 160), 10), Fraction(rng.randint(20, 320), 10)
        one, other = x * factor_a, y * factor_b
        if 0 < abs(one - other) < one / 4 and rounded(one, 0) != rounded(other, 0):
            break
    word, names = rng.choice(words), (f"{shown(x)} {a}", f"{shown(y)} {b}")
    is_first = (one > other) == (word in ("longer", "heavier"))
    name, gap = names[0 if is_first else 1], rounded(abs(one - other), 0)
    asked = [with_article(f"{each} {noun}") for each in names]
    text = rng.choice(_COMPARED).format(word=word, one=asked[0], other=asked[1], unit=unit, told=told)
    return Made(text, f"the {name} {noun}, by {shown(gap)} {short}", Figures((name,), names, (gap,)))


def _most_grown(rng: Random) -> Made:
    while True:
        drawn = table(rng)
        growth = drawn.growth(drawn.columns[0], drawn.columns[-1])
        if is_clear(growth):
            break
    name = max(growth, key=lambda row: growth[row])
    value = rounded(growth[name], 1)
    question = rng.choice(_GROWN).format(h=drawn.heading.lower(), a=drawn.columns[0], b=drawn.columns[-1])
    return Made(
        with_table(rng, drawn, question), f"{name}, {shown(value, 1)} %", Figures((name,), tuple(drawn.rows), (value,))
    )


def _apart(rng: Random) -> Made:
    while True:
        drawn = table(rng)
        growth = drawn.growth(drawn.columns[0], drawn.columns[-1])
        most, least = max(growth.values()), min(growth.values())
        # The gap is the same whether it is taken before rounding or after.
        if is_clear(growth) and rounded(most - least, 1) == rounded(most, 1) - rounded(least, 1):
            break
    question = rng.choice(_APART).format(h=drawn.heading.lower(), a=drawn.columns[0], b=drawn.columns[-1])
    return _extremes(with_table(rng, drawn, question), growth, places=1, unit=" %")


def _totals(rng: Random) -> Made:
    while True:
        drawn = table(rng)
        totals = {name: Fraction(sum(row)) for name, row in drawn.rows.items()}
        if is_clear(totals):
            break
    question = rng.choice(_TOTALS).format(h=drawn.heading.lower())
    return _extremes(with_table(rng, drawn, question), totals, places=0, unit="")


def _extremes(text: str, values: dict[str, Fraction], *, places: int, unit: str) -> Made:
    names = sorted(values, key=lambda row: values[row])
    most, least = names[-1], names[0]
    figures = [rounded(value, places) for value in (values[most], values[least], values[most] - values[least])]
    high, low, gap = (shown(figure, places) for figure in figures)
    answer = f"most: {most}, {high}{unit}; least: {least}, {low}{unit}; difference: {gap}"
    return Made(text, answer, Figures((most, least), tuple(values), tuple(figures)))


def _bills(rng: Random) -> Made:
    """Who pays more, and by how much."""
    while True:
        opening, totals = _shopping(rng, 2)
        (one, paid), (other, spent) = totals.items()
        if paid != spent:
            break
    word = rng.choice(("more", "less"))
    name = one if (paid > spent) == (word == "more") else other
    gap = abs(paid - spent)
    text = f"{opening} Who pays {word}, and how much {word}?"
    return Made(text, f"{name}, by {shown(gap, 2)}", Figures((name,), (one, other), (gap,)))


def _all_bills(rng: Random) -> Made:
    """What all pay together."""
    opening, totals = _shopping(rng, rng.choice((2, 3)))
    total = sum(totals.values(), Fraction(0))
    return Made(f"{opening} How much do they pay in total?", shown(total, 2), Number(total))


def _shopping(rng: Random, groups: int) -> tuple[str, dict[str, Fraction]]:
    title, group, items = rng.choice(_SHOPS)
    prices = {item: Fraction(rng.randint(8, 60), 4) for item in items}
    listing = ", ".join(f"{item} {shown(price, 2)}" for item, price in prices.items())
    told, totals = [f"{title}: {listing}."], {}
    for letter in "ABC"[:groups]:
        bought = {item: rng.randint(1, 6) for item in rng.sample(tuple(items), rng.randint(2, 3))}
        named = [f"{count} {items[item] if count > 1 else item}" for item, count in bought.items()]
        told.append(f"{group} {letter}: {', '.join(named)}.")
        totals[f"{group} {letter}"] = sum((count * prices[item] for item, count in bought.items()), Fraction(0))
    return " ".join(told), totals
