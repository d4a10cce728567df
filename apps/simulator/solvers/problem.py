"""What every solver returns, and the small readings of text that several of them share."""

import re
from dataclasses import dataclass
from fractions import Fraction
from math import floor


@dataclass(frozen=True)
class Part:
    """A piece of a problem that can be worked on alone. An instruction is about it when it names the `cue`."""

    cue: str
    instruction: str
    answer: str
    working: tuple[str, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A task that was understood and solved, with what a conductor needs to divide it.

    `ask`, `method`, `check` and `combine` are instructions about this very task; `wrong` are the answers that
    a model without the skill arrives at; `fence` names the language of an answer that is a block.
    """

    family: str
    ask: str
    method: str
    check: str
    answer: str
    working: tuple[str, ...]
    wrong: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    combine: str = ""
    fence: str = ""
    is_easy: bool = False
    asks: int = 1  # the questions that the answer answers


WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
NUMBERS = {word: value for value, word in enumerate(WORDS)} | {
    word: (value + 3) * 10
    for value, word in enumerate(["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"])
}
NUMBERS["dozen"] = 12

NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"


def number_of(text: str) -> Fraction | None:
    """The value of `12`, `1,250.5` or `twelve`."""
    text = text.strip().lower()
    if text in NUMBERS:
        return Fraction(NUMBERS[text])
    return Fraction(text.replace(",", "")) if re.fullmatch(NUMBER, text) else None


def rounded(value: Fraction, places: int) -> str:
    """The value with that many decimal places, halves away from zero, as people round."""
    digits = str(floor(abs(value) * 10**places + Fraction(1, 2))).rjust(places + 1, "0")
    sign = "-" if value < 0 and digits.strip("0") else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits


def plain(value: Fraction, *, longest: int = 10) -> str:
    """The value as a whole number or a decimal of at most `longest` places, without trailing zeros."""
    if value.denominator == 1:
        return str(value.numerator)
    text = rounded(value, longest)
    return text.rstrip("0").rstrip(".")


def grouped(value: Fraction) -> str:
    """The value with commas between thousands: 2,352 or 59.2."""
    whole, _, rest = plain(value).partition(".")
    return f"{int(whole):,}" + (f".{rest}" if rest else "")


def places_asked(text: str) -> int | None:
    """How many decimal places a task asks for, if it says."""
    match = re.search(r"\b(\d|zero|no|one|two|three|four|five|six) decimals?\b", text, re.I)
    if match:
        value = number_of(match[1])
        return int(value) if value is not None else 0
    if re.search(r"\b(?:round\w*|nearest)\b[^.\n]{0,20}\bwhole\b|\bnearest (?:integer|metre|meter|unit)\b", text, re.I):
        return 0
    return None


def shown(value: Fraction, text: str) -> str:
    """The value as the task wants it: rounded if it says so, else plain."""
    places = places_asked(text)
    return plain(value) if places is None else rounded(value, places)


def slips(value: Fraction, text: str = "") -> tuple[str, ...]:
    """Wrong values that look right: two digits exchanged, a ten lost, one more."""
    right = shown(value, text)
    digits = list(right)
    for at in range(len(digits) - 1, 0, -1):
        if digits[at].isdigit() and digits[at - 1].isdigit() and digits[at] not in (digits[at - 1], "0"):
            digits[at], digits[at - 1] = digits[at - 1], digits[at]
            break
    step = Fraction(10) if abs(value) >= 100 else Fraction(1)
    found = ("".join(digits), shown(value - step, text), shown(value + step, text))
    return tuple(dict.fromkeys(wrong for wrong in found if wrong != right))


def listed(names: list[str] | tuple[str, ...], word: str = "and") -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def singular(noun: str) -> str:
    """A rough singular, enough to see that `boxes` and `box` are one thing."""
    noun = noun.lower()
    irregular = {"children": "child", "people": "person", "men": "man", "women": "woman", "feet": "foot"}
    if noun in irregular:
        return irregular[noun]
    for ending, replacement in (("ies", "y"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("s", "")):
        if noun.endswith(ending) and len(noun) > len(ending) + 1 and not noun.endswith("ss"):
            return noun[: -len(ending)] + replacement
    return noun
