"""Multiple choice over a passage: two phases with rates of their own, else a look-up, else the one sum that fits."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from apps.simulator.solvers.arithmetic import evaluate, find_expression
from apps.simulator.solvers.problem import NUMBER, NUMBERS, Problem, number_of, plain

_OPTION = re.compile(r"(?<![\w(])\(?([A-H])[).:]\s+(.+?)(?=\s+\(?[A-H][).:]\s|\s*$)", re.S)
_QUESTION = re.compile(r"\bQuestion\s*:\s*", re.I)
_COMMON_TEXT = (
    "the a an of in on at to for and or was were is are be been by with from it its that this which who what how many "
    "much did does do had has have not no as than then when where until after before during"
)
_COMMON = frozenset(_COMMON_TEXT.split())


@dataclass(frozen=True)
class Choice:
    passage: str
    question: str
    options: dict[str, str]


@dataclass(frozen=True)
class Worked:
    value: Fraction
    working: tuple[str, ...]


def solve(text: str) -> Problem | None:
    choice = read(text)
    if choice is None:
        return None
    found = _by_expression(choice) or _by_phases(choice)
    if found:
        letter = _nearest(choice, found.value)
        working = found.working
    else:
        letter, working = _looked_up(choice) or _by_any_sum(choice) or ("", ())
    return _problem(choice, letter, working) if letter else None


def read(text: str) -> Choice | None:
    """The passage, the question and its options: `A) … B) …`, in lines or in a row."""
    start = re.search(r"(?<![\w(])\(?A[).:]\s+\S", text)
    if start is None:
        return None
    options = {match[1]: match[2].strip() for match in _OPTION.finditer(text[start.start() :])}
    if len(options) < 2 or list(options) != sorted(options):
        return None
    before = text[: start.start()].strip()
    mark = _QUESTION.search(before)
    passage = before[: mark.start()] if mark else before.rpartition(".")[0]
    question = before[mark.end() :] if mark else before.rpartition(".")[2]
    return Choice(re.sub(r"^\W*Passage\s*:\s*", "", passage).strip(), question.strip(), options)


def _problem(choice: Choice, letter: str, working: tuple[str, ...]) -> Problem:
    letters = ", ".join(choice.options)
    question = choice.question.rstrip("?").strip()
    question = f"{question[0].lower()}{question[1:]}" if question else "the question"
    return Problem(
        family="reading",
        ask=f"Find out from the passage {question}; answer with one letter of {letters}.",
        method=f"Quote from the passage every number and sentence that bears on this: {question}.",
        check=f"Check against the passage {question}, say why the other options fail, and give one letter of "
        f"{letters}.",
        answer=letter,
        working=(*working, f"That is option {letter}: {choice.options[letter]}"),
        wrong=tuple(other for other in choice.options if other != letter),
    )


def _value(option: str) -> Fraction | None:
    match = re.search(NUMBER, option)
    return number_of(match[0]) if match else None


def _nearest(choice: Choice, value: Fraction) -> str:
    values = {letter: found for letter, option in choice.options.items() if (found := _value(option)) is not None}
    if not values:
        return ""
    best = min(values, key=lambda letter: abs(values[letter] - value))
    return best if abs(values[best] - value) <= max(abs(value) / 200, Fraction(1, 20)) else ""


def _by_expression(choice: Choice) -> Worked | None:
    expression = find_expression(choice.question)
    if expression is None:
        return None
    value = evaluate(expression)
    return Worked(value, (f"{expression} = {plain(value)}",))


_AMOUNT = rf"(?:{NUMBER}|{'|'.join(NUMBERS)})"
_TOTAL = re.compile(rf"\bfor (?P<total>{_AMOUNT}) (?P<unit>\w+)", re.I)
_FIRST = re.compile(
    rf"\bfirst (?P<first>{_AMOUNT})\b(?: \w+)? [^.,;]*?\b(?:used|ran on|run on|burned|took|was fed|drove)\s+"
    r"(?P<one>[\w ]+?)[;,.]",
    re.I,
)
_THEN = re.compile(
    r"\b(?:then|afterwards|later)\b[^.;]*?,?\s*(?P<other>[a-z]+(?: [a-z]+)?)\s+"
    r"(?:until the end|for the rest|to the end)",
    re.I,
)


def _by_phases(choice: Choice) -> Worked | None:
    """So many days in all, the first few in one way and the rest in another, each with a rate of its own."""
    total, first, then = (pattern.search(choice.passage) for pattern in (_TOTAL, _FIRST, _THEN))
    if total is None or first is None or then is None:
        return None
    days, early = number_of(total["total"]), number_of(first["first"])
    one, other = first["one"].strip(), then["other"].strip()
    rates = [_rate(choice.passage, name) for name in (one, other)]
    if days is None or early is None or rates[0] is None or rates[1] is None:
        return None
    late = days - early
    unit = total["unit"]
    lines = (
        f"{one}: {plain(early)} {unit} * {plain(rates[0])} = {plain(early * rates[0])}",
        f"{other}: {plain(days)} - {plain(early)} = {plain(late)} {unit}; "
        f"{plain(late)} * {plain(rates[1])} = {plain(late * rates[1])}",
    )
    asks_one, asks_other = (_names(name, choice.question) for name in (one, other))
    if asks_one and not asks_other:
        return Worked(early * rates[0], lines[:1])
    if asks_other and not asks_one:
        return Worked(late * rates[1], lines[1:])
    whole = early * rates[0] + late * rates[1]
    return Worked(whole, (*lines, f"together {plain(whole)}"))


def _names(name: str, text: str) -> bool:
    """Whether the text speaks of this kind: the first word tells the two kinds apart."""
    return bool(re.search(rf"\b{re.escape(name.split()[0])}\b", text, re.I))


def _rate(passage: str, name: str) -> Fraction | None:
    """The number said of this kind: `3.2 tonnes a day on river water`, `2.9 on mains water`."""
    found = re.findall(
        rf"({NUMBER})(?:(?!{NUMBER})[^.;])*?\b(?:on|with|from|using|in|by)\s+(?:the\s+)?{re.escape(name.split()[0])}\b",
        passage,
        re.I,
    )
    return number_of(found[-1]) if found else None


def _looked_up(choice: Choice) -> tuple[str, tuple[str, ...]] | None:
    """The option that stands in the clause nearest to the question. Of its words the later ones tell more."""
    words = [word[:6] for word in re.findall(r"[a-z]+", choice.question.lower()) if word not in _COMMON]
    best: tuple[float, str, str] = (0, "", "")
    doubt = False
    for clause in re.split(r"(?<=[.!?;])\s+|,\s+|\s+and\s+", choice.passage):
        heard = {word[:6] for word in re.findall(r"[a-z]+", clause.lower())}
        score = sum(1 + at / len(words) for at, word in enumerate(words) if word in heard)
        hits = [letter for letter, option in choice.options.items() if _stands_in(option, clause)]
        if len(hits) != 1 or score < best[0]:
            continue
        doubt = score == best[0] and hits[0] != best[1]
        best = (score, hits[0], clause)
    return (best[1], (f"The passage says: “{best[2]}”",)) if best[0] >= 1 and not doubt else None


def _stands_in(option: str, sentence: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(option.rstrip('.'))}(?![\w]|\.\d)", sentence, re.I))


def _by_any_sum(choice: Choice) -> tuple[str, tuple[str, ...]] | None:
    """The one option that a short sum of the passage's numbers gives, if no other is reached as simply."""
    numbers = [number for text in re.findall(NUMBER, choice.passage) if (number := number_of(text)) is not None][:7]
    values = {letter: value for letter, option in choice.options.items() if (value := _value(option)) is not None}
    if not values or not re.search(r"\bhow (?:many|much|long|far)\b", choice.question, re.I):
        return None
    for size in (2, 3):
        hits: dict[str, str] = {}
        for chosen in permutations(numbers, size):
            for told, result in _sums(chosen):
                hits |= {letter: told for letter, value in values.items() if value == result and letter not in hits}
        if len(hits) == 1:
            letter, told = next(iter(hits.items()))
            return letter, (f"{told} = {plain(values[letter])}",)
        if hits:
            return None
    return None


def _sums(chosen: tuple[Fraction, ...]) -> Iterator[tuple[str, Fraction]]:
    a, b, *more = chosen
    x, y = plain(a), plain(b)
    if not more:
        yield f"{x} * {y}", a * b
        yield f"{x} - {y}", a - b
        yield f"{x} + {y}", a + b
        if b:
            yield f"{x} / {y}", a / b
        return
    c, z = more[0], plain(more[0])
    yield f"({x} - {y}) * {z}", (a - b) * c
    yield f"({x} + {y}) * {z}", (a + b) * c
    yield f"{x} * {y} + {z}", a * b + c
    yield f"{x} * {y} - {z}", a * b - c
    yield f"{x} * {y} * {z}", a * b * c
    if c:
        yield f"{x} * {y} / {z}", a * b / c
