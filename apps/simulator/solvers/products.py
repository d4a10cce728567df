"""Chains of "each with": so many pallets, each with so many boxes, of so many units, over so many days."""

import re
from fractions import Fraction
from math import prod

from apps.simulator.solvers.problem import NUMBER, NUMBERS, Part, Problem, listed, number_of, plain, singular, slips

_AMOUNT = rf"(?P<amount>{NUMBER}|{'|'.join(NUMBERS)})"
_QUANTITY = re.compile(rf"(?<![\w.,]){_AMOUNT}[\s-]+(?P<noun>[a-z]+)\b", re.I)
_ASKED = re.compile(r"\bhow many (?P<noun>[a-z]+)\b(?P<rest>[^?]*)\?", re.I)
_LINK = re.compile(r"\b(?:each|every|per|with|of|holds?|contain\w*|an?)\b", re.I)
_OTHER_SUM = re.compile(
    r"\b(?:left|remain\w*|fewer|less|more|minus|without|except|sold|broken|then|after|before|between|per ?cent)\b"
    r"|\d\s*[%€$:]|\d\s*[-+*/]\s*\d",
    re.I,
)
_PERIODS = {"week": 7, "fortnight": 14, "year": 365, "dozen": 12}


def solve(text: str) -> Problem | None:
    """Multiply the chain, if the text is nothing but one and asks for its last link."""
    asked = _ASKED.search(text)
    if asked is None or _OTHER_SUM.search(text) or not _LINK.search(text):
        return None
    story = text[: asked.start()]
    links = [(number_of(match["amount"]), match["noun"]) for match in _QUANTITY.finditer(story)]
    if len(links) < 2 or len(links) != len(re.findall(r"\d[\d.,]*", story)) + _words_in(story):
        return None
    if singular(links[-1][1]) != singular(asked["noun"]):
        return None
    links += _period(asked["rest"])
    if any(not value for value, _ in links) or not _is_whole_chain(story, asked["rest"], links):
        return None
    return _problem(asked["noun"], [(value, noun) for value, noun in links if value is not None])


def _words_in(story: str) -> int:
    return sum(match["amount"].lower() in NUMBERS for match in _QUANTITY.finditer(story))


def _period(rest: str) -> list[tuple[Fraction | None, str]]:
    """The factor in the question: a five-day week, 3 days, a week."""
    match = _QUANTITY.search(rest)
    if match:
        return [(number_of(match["amount"]), f"{match['noun']}s".replace("ss", "s"))]
    word = re.search(r"\b(?:a|one|per)\s+(week|fortnight|year|dozen)\b", rest, re.I)
    return [(Fraction(_PERIODS[word[1].lower()]), "days")] if word else []


def _is_whole_chain(story: str, rest: str, links: list[tuple[Fraction | None, str]]) -> bool:
    """A rate ("a day") and a period in the question belong together: one without the other is another sum."""
    has_rate = bool(re.search(r"\b(?:an?|per|every|each)\s+(?:day|hour|week|minute|month|shift|night)\b", story, re.I))
    has_period = bool(_period(rest))
    return has_rate == has_period or not has_period


def _problem(noun: str, links: list[tuple[Fraction, str]]) -> Problem:
    factors = " * ".join(plain(value) for value, _ in links)
    named = listed([f"{plain(value)} {word}" for value, word in links])
    total = prod((value for value, _ in links), start=Fraction(1))
    working, so_far = [], links[0][0]
    for value, word in links[1:]:
        working.append(f"{plain(so_far)} * {plain(value)} ({word}) = {plain(so_far * value)}")
        so_far *= value
    inner = links[:-1]
    sub = prod((value for value, _ in inner), start=Fraction(1))
    first = " * ".join(plain(value) for value, _ in inner)
    lost = total / links[-1][0]
    return Problem(
        family="arithmetic",
        ask=f"Multiply {named} to find how many {noun} there are, and give the number.",
        method=f"Write down what each of {named} counts and in which order they multiply to {noun}.",
        check=f"Check the number of {noun} by multiplying {factors} again in another order, and give the number.",
        answer=plain(total),
        working=tuple(working),
        wrong=tuple(wrong for wrong in (plain(lost), *slips(total)) if wrong != plain(total)),
        # Of two factors there is nothing to multiply beforehand: either of them alone is no part of the work.
        parts=(
            Part(
                cue=first,
                instruction=f"Compute {first}: the {noun} before the factor {plain(links[-1][0])} ({links[-1][1]}).",
                answer=plain(sub),
                working=tuple(working[:-1]),
                wrong=slips(sub),
            ),
        )
        if len(inner) > 1
        else (),
    )
