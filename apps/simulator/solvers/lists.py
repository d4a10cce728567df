"""Lists of numbers: filters, transforms and a value at the end, done in the order they are asked for."""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import isqrt
from operator import mul

from apps.simulator.solvers.problem import Part, Problem, plain, slips

LONGEST = 400  # characters beside the list; numbers in a longer text are no exercise

Values = list[Fraction]
Change = Callable[[Values], Values]

_GIVEN = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:\s*,\s*(?:and\s+)?-?\d+(?:\.\d+)?|\s+and\s+-?\d+(?:\.\d+)?){2,}")

_TESTS = {
    r"primes?(?: numbers)?": lambda n: is_prime(n),
    r"evens?(?: numbers)?": lambda n: n.denominator == 1 and n % 2 == 0,
    r"odds?(?: numbers)?": lambda n: n.denominator == 1 and n % 2 == 1,
    r"(?:perfect )?squares?(?: numbers)?": lambda n: n.denominator == 1 and n >= 0 and isqrt(int(n)) ** 2 == n,
    r"negatives?(?: numbers)?": lambda n: n < 0,
    r"positives?(?: numbers)?": lambda n: n > 0,
}
_REMOVE = r"\b(?:remove|drop|delete|leave out|discard|strike|without|except)\s+(?:all\s+)?(?:the\s+)?"
_KEEP = r"\b(?:keep|take|select|retain|only)\s+(?:only\s+)?(?:all\s+)?(?:the\s+)?"
_COMPARED = (
    r"(?:numbers?\s+|those\s+|values?\s+)?(?:that are\s+)?"
    r"(above|over|greater than|larger than|more than|below|under|less than|smaller than)\s+(\d+)"
)
_MULTIPLES = r"(?:numbers?\s+)?(?:multiples of|divisible by|numbers divisible by)\s+(\d+)"
_DOWNWARDS = r"\bsort\w*\b(?=[^.,;]*\b(?:descending|largest first|downwards)\b)"
_REDUCERS: dict[str, tuple[str, Callable[[Values], Fraction]]] = {
    r"\b(?:sum|total|add (?:them|these|everything|all) up|add up)\b": ("sum", lambda v: sum(v, Fraction(0))),
    r"\bproduct\b": ("product", lambda v: reduce(mul, v, Fraction(1))),
    r"\b(?:mean|average)\b": ("mean", lambda v: sum(v, Fraction(0)) / len(v)),
    r"\bmedian\b": ("median", lambda v: median(v)),
    r"\b(?:largest|maximum|greatest|highest)\b": ("largest", max),
    r"\b(?:smallest|minimum|lowest|least)\b": ("smallest", min),
    r"\b(?:how many|count|number of)\b": ("number of values", lambda v: Fraction(len(v))),
}


def is_prime(value: Fraction) -> bool:
    if value.denominator != 1 or value < 2 or value > 10**12:
        return False
    number = int(value)
    return all(number % divisor for divisor in range(2, isqrt(number) + 1))


def median(values: Values) -> Fraction:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def solve(text: str) -> Problem | None:
    given = _GIVEN.search(text)
    if given is None:
        return None
    values = [Fraction(number) for number in re.findall(r"-?\d+(?:\.\d+)?", given[0])]
    rest = text[: given.start()] + " " + text[given.end() :]
    changes = sorted([*_filters(rest), *_transforms(rest)], key=lambda change: change[0])
    reducer = next(((match, *word) for cue, word in _REDUCERS.items() if (match := re.search(cue, rest, re.I))), None)
    if (not changes and reducer is None) or len(rest) > LONGEST or _wants_several(rest):
        return None
    return _carried_out(values, changes, reducer, text)


def _wants_several(text: str) -> bool:
    """Whether several figures are wanted of one list: "the mean and the median"."""
    cues = "|".join(_REDUCERS)
    return bool(
        re.search(rf"(?:{cues})\s*(?:,|and|,\s*and|as well as)\s+(?:the\s+|their\s+|its\s+)?(?:{cues})", text, re.I)
    )


Named = tuple[int, str, Change]


def _filters(text: str) -> list[Named]:
    found: list[Named] = []
    for lead, keeps in ((_REMOVE, False), (_KEEP, True)):
        for cue, test in _TESTS.items():
            found += [
                (match.start(), match[0].strip(), _filter(test, keeps=keeps))
                for match in re.finditer(rf"{lead}{cue}\b", text, re.I)
            ]
        for match in re.finditer(rf"{lead}{_MULTIPLES}", text, re.I):
            by = int(match[1]) or 1
            found.append((match.start(), match[0], _filter(_multiple_of(by), keeps=keeps)))
        for match in re.finditer(rf"{lead}{_COMPARED}", text, re.I):
            found.append((match.start(), match[0], _filter(_bound(match[1], int(match[2])), keeps=keeps)))
    return found


def _multiple_of(by: int) -> Callable[[Fraction], bool]:
    return lambda n: n % by == 0


def _bound(word: str, limit: int) -> Callable[[Fraction], bool]:
    is_upper = word.lower().split()[0] in ("above", "over", "greater", "larger", "more")
    return (lambda n: n > limit) if is_upper else (lambda n: n < limit)


def _filter(test: Callable[[Fraction], bool], *, keeps: bool) -> Change:
    return lambda values: [value for value in values if test(value) == keeps]


def _each(change: Callable[[Fraction], Fraction]) -> Change:
    return lambda values: [change(value) for value in values]


def _transforms(text: str) -> list[Named]:
    simple: dict[str, Change] = {
        r"\bdoubled?\b": _each(lambda n: n * 2),
        r"\btripled?\b": _each(lambda n: n * 3),
        r"\bhalved?\b": _each(lambda n: n / 2),
        r"\bsquare(?:d)?\b(?! (?:numbers|roots?))": _each(lambda n: n * n),
        _DOWNWARDS: lambda v: sorted(v, reverse=True),
        r"\bsort\w*\b(?![^.,;]*\b(?:descending|largest first|downwards)\b)": lambda v: sorted(v),
        r"\breverse\b": lambda v: v[::-1],
        r"\bremove (?:the )?(?:duplicates|doubles)\b": lambda v: list(dict.fromkeys(v)),
    }
    found = [
        (match.start(), "sort in descending order" if cue == _DOWNWARDS else match[0], change)
        for cue, change in simple.items()
        for match in re.finditer(cue, text, re.I)
    ]
    for match in re.finditer(r"\b(add|subtract|multiply|divide)\b[^.,;\d]*?\b(?:by )?(\d+)\b", text, re.I):
        by, word = Fraction(match[2]), match[1].lower()
        if word == "divide" and by == 0:
            continue
        found.append((match.start(), match[0], _each(_by(word, by))))
    return found


def _by(word: str, by: Fraction) -> Callable[[Fraction], Fraction]:
    return {
        "add": lambda n: n + by,
        "subtract": lambda n: n - by,
        "multiply": lambda n: n * by,
        "divide": lambda n: n / by,
    }[word]


def _carried_out(
    values: Values,
    changes: list[Named],
    reducer: tuple[re.Match[str], str, Callable[[Values], Fraction]] | None,
    text: str,
) -> Problem | None:
    given, stages, working = _told(values), [values], []
    for _, told, change in changes:
        values = change(values)
        stages.append(values)
        working.append(f"{told[0].upper()}{told[1:]}: {_told(values)}")
    answer = _told(values)
    wrong: tuple[str, ...] = (_told(stages[max(0, len(stages) - 2)]), _told(values[:-1] or stages[0]))
    if reducer:
        _, word, function = reducer
        if not values:
            return None
        value = function(values)
        answer = plain(value)
        working.append(f"The {word} of {_told(values)} is {answer}")
        wrong = (plain(function(stages[-2 if len(stages) > 1 else -1])), *slips(value))
    did = ", then ".join([*(told.lower() for _, told, _ in changes), *([f"give the {reducer[1]}"] if reducer else [])])
    return Problem(
        family="lists",
        ask=f"From {given}: {did}.",
        method=f"Go through {given} one by one and note for each what happens to it: {did}.",
        check=f"Check each stage for {given} ({did}), number by number, and give the result.",
        answer=answer,
        working=tuple(working),
        wrong=tuple(dict.fromkeys(item for item in wrong if item != answer)),
        parts=_first_stage(given, changes, stages, working),
    )


def _first_stage(given: str, changes: list[Named], stages: list[Values], working: list[str]) -> tuple[Part, ...]:
    if len(changes) < 2:
        return ()
    instruction = f"Only the first stage: from {given}, {changes[0][1].lower()}, and list what is left."
    wrong = (_told(stages[1][:-1] or stages[0]),)
    return (Part("Only the first stage", instruction, _told(stages[1]), (working[0],), wrong),)


def _told(values: Values) -> str:
    return ", ".join(map(plain, values)) if values else "nothing"
