"""Whether a reply answers a task, decided without a model: each grader compares the final answer with a known one.

A grader never raises, whatever was replied, and never evaluates anything but sums of whole numbers.
"""

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

from apps.workflows.answers import final_answer, normalised

LONGEST_EXPRESSION: Final = 200

_NUMBER = re.compile(r"(?<![\w.])(?:(?<![\d)])-)?(?:\d{1,40}/[1-9]\d{0,40}|\d{1,40}(?:\.\d{1,40})?)(?!\w|\.\d)")
_MOMENT = re.compile(r"\d+([-/.])\d+\1\d+|\d+:\d+")  # a date, a time of day
_JOINED = re.compile(r"(?<=\w)-(?=[^\W\d])")  # "6.3-mile" is "6.3 mile"
_SEPARATOR = re.compile(r"\s*[,;\n]\s*(?:and\s+)?|\s+and\s+|\s+")
_LETTER = re.compile(r"^(?:the\s+)?(?:(?:option|choice|answer)\s+)?[(\[]?([a-h])(?:[)\].:,;]|\s+[-–—:(]|$)", re.I)
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "x": "*", "[": "(", "]": ")"})
_SUM = re.compile(r"[\d\s+\-*/()]+")
_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class Grade:
    """`said` is the final answer that was judged; `why` says in words what is wrong with it, "" if nothing is."""

    is_right: bool
    said: str
    why: str = ""


class Grader(Protocol):
    def grade(self, reply: str) -> Grade:
        """Judge the final answer of a whole reply."""
        ...


def numbers_in(text: str) -> list[Fraction]:
    """The numbers of a text, exactly and in order: 1,000 and 1000.0 alike, 1/2 as a half, none out of a date."""
    return [Fraction(number) for number in _NUMBER.findall(_MOMENT.sub(" ", normalised(text)))]


@dataclass(frozen=True)
class Exact:
    """The answer word for word, once both are normalised."""

    answer: str

    def grade(self, reply: str) -> Grade:
        said = final_answer(reply)
        return _judged(normalised(said) == normalised(self.answer), said, f"it is not {self.answer}")


@dataclass(frozen=True)
class Number:
    """A number within `tolerance` of the right one; what stands around it (a unit, a remark) does not count.

    Of "12 * 3 = 36 units (3 boxes)" it is the first number after the last equals sign.
    """

    answer: Fraction | int
    tolerance: Fraction = Fraction(0)

    def grade(self, reply: str) -> Grade:
        said = final_answer(reply)
        found = numbers_in(said.rpartition("=")[2])
        if not found:
            return Grade(False, said, "it holds no number")
        return _judged(abs(found[0] - self.answer) <= self.tolerance, said, f"it is not {float(self.answer):g}")


@dataclass(frozen=True)
class Items:
    """A list of words or numbers, however it is separated, in the right order unless `ordered` is false."""

    answer: tuple[str, ...]
    ordered: bool = True

    def grade(self, reply: str) -> Grade:
        said = final_answer(reply)
        found = [normalised(item) for item in _SEPARATOR.split(normalised(said).strip("[](){}")) if item]
        right = [normalised(item) for item in self.answer]
        if not self.ordered:
            found, right = sorted(found), sorted(right)
        return _judged(found == right, said, f"it is not {', '.join(self.answer)}")


@dataclass(frozen=True)
class Letter:
    """The letter of a choice: alone, in brackets, before the words of the choice, or those words by themselves."""

    answer: str
    options: Mapping[str, str]

    def grade(self, reply: str) -> Grade:
        said = final_answer(reply)
        plain = normalised(said)
        letter = _LETTER.match(said.strip("*_` \t")) or _LETTER.match(plain)
        chosen = letter[1] if letter else next((o for o, text in self.options.items() if normalised(text) == plain), "")
        return _judged(chosen.casefold() == self.answer.casefold(), said, f"it is not {self.answer}")


@dataclass(frozen=True)
class Figures:
    """Names out of a few, and numbers with them: "the 6.3 mile race, by 139 m".

    Those of `among` that the answer mentions first must be `names`, in their order, and `numbers` must occur in theirs,
    whatever stands between. A fall may be told as a negative growth or as a positive fall.
    """

    names: tuple[str, ...]
    among: tuple[str, ...]
    numbers: tuple[Fraction | int, ...] = ()
    tolerance: Fraction = Fraction(0)

    def grade(self, reply: str) -> Grade:
        said = final_answer(reply)
        text = _JOINED.sub(" ", normalised(said))
        mentioned = self._mentioned(text)
        if tuple(mentioned[: len(self.names)]) != tuple(map(_plain, self.names)):
            return Grade(False, said, f"it does not name {', then '.join(self.names)}")
        for name in mentioned:
            text = text.replace(name, " ")
        found = iter(numbers_in(text))
        for number in self.numbers:
            if not any(abs(abs(other) - abs(Fraction(number))) <= self.tolerance for other in found):
                return Grade(False, said, f"it does not say {float(number):g}")
        return Grade(True, said)

    def _mentioned(self, text: str) -> list[str]:
        places = {
            name: match.start()
            for name in map(_plain, self.among)
            if (match := re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text))
        }
        return sorted(places, key=lambda name: places[name])


@dataclass(frozen=True)
class Countdown:
    """Any expression with + - * / that gives the target and uses each of the numbers at most once."""

    numbers: tuple[int, ...]
    target: int

    def grade(self, reply: str) -> Grade:
        said = final_answer(reply)
        faults = [self._fault(side) for side in said.split("=")[:5]]
        return Grade("" in faults, said, "" if "" in faults else faults[0])

    def _fault(self, expression: str) -> str:
        tree = _read(expression)
        if tree is None:
            return "it is no expression with + - * /"
        used = Counter(int(number) for number in re.findall(r"\d+", expression))
        if extra := used - Counter(self.numbers):
            return f"it uses {next(iter(extra))}, which is not given or used up"
        value = _value(tree)
        return "" if value == self.target else f"it does not give {self.target}"


def _judged(is_right: bool, said: str, why: str) -> Grade:
    return Grade(is_right, said, "" if is_right else why)


def _plain(name: str) -> str:
    return _JOINED.sub(" ", normalised(name))


def _read(expression: str) -> ast.expr | None:
    """The sum as a tree, if it is one of at least two whole numbers and is written with nothing else."""
    text = expression.strip(" \t\n*_`$.,;:'\"").translate(_SIGNS)
    if len(text) > LONGEST_EXPRESSION or not _SUM.fullmatch(text):
        return None
    try:
        tree = ast.parse(text.replace("\n", " ").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if isinstance(tree, ast.BinOp) else None


def _value(node: ast.expr) -> Fraction | None:
    """What a tree of whole numbers and + - * / comes to; None where it divides by zero or is of another kind."""
    match node:
        case ast.Constant(value=int() as value):
            return Fraction(value)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            one, other = _value(left), _value(right)
            if one is None or other is None or (isinstance(op, ast.Div) and other == 0):
                return None
            return _OPERATIONS[type(op)](one, other)
    return None
