"""What a conductor probably meant: single values of its lists, mended where only one meaning is left.

Every function returns the value and says in `notes` what it mended; where the meaning stays open it raises `Unclear`,
and the conductor is asked again rather than guessed at.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from apps.workers.calls import clean


class Word(str):
    """Text that stood in a list without quotes."""

    __slots__ = ()


class Unreadable:
    """Stands where a value of a list made no sense."""


UNREADABLE: Final = Unreadable()


class Unclear(Exception):
    """A value with no one meaning. The message goes on after "Step 3 (subtasks[2])"."""


class Notes(dict[str, None]):
    """The repairs made, each named once, in the order they were first made."""

    def add(self, repair: str) -> None:
        self.setdefault(repair)


ESCAPE = re.compile(
    r"\\(?:(?P<times>(?:text\w*|theta|times|tau|tanh?|to|top|triangle|tilde|tfrac|nu|neq?|nabla|not|notin)(?![A-Za-z]))"
    r"|(?P<keep>[abfrv](?=[A-Za-z]))|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})"
    r"|(?P<plain>\r?\n|.))",
    re.DOTALL,
)
PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "/": "/", "\n": "", "\r\n": ""}
LABEL = re.compile(r"Model ([0-9]{1,9})")
NUMBER = re.compile(r"\s*+(?:(?:model|worker)[\s_#-]{0,3}+)?+([+-]?[0-9]{1,9})(?:\.0{1,9})?+\s*+", re.IGNORECASE)
POSITIONS = re.compile(r"\s*+\[?+((?:\s*+[0-9]{1,9}(?![0-9])\s*+,?+){0,1000}+)\]?+\s*+")
NOTHING: Final = {"", "none", "null", "nothing", "[]"}
ALL: Final = {"all", "all steps", "*"}


def unescape(text: str, notes: Notes) -> str:
    r"""The text that stood between quotes, its escapes read as Python and JSON read them.

    Except where a formula was meant: models write `\frac` and `\times` in lists without doubling the backslash, and a
    form feed or a tab before the rest of the word is never what they had in mind.
    """

    def read(match: re.Match[str]) -> str:
        kind = match.lastgroup
        if kind in ("x", "u", "U"):
            code = int(match[kind], 16)
            return chr(code) if code <= 0x10FFFF else "\ufffd"
        if kind == "plain" and match["plain"] in PLAIN:
            return PLAIN[match["plain"]]
        notes.add("single backslashes, as in formulas, were kept as they are")
        return match[0]

    return ESCAPE.sub(read, text) if "\\" in text else text


def worker(value: object, names: Mapping[str, int], notes: Notes, *, called: bool = False) -> int:
    """The number of the worker that is meant. `names` are other names of workers, in lower case.

    `called` says that workers are called "Model 0" and so on, as in JSON, rather than numbered: then this is no repair.
    """
    value = _unwrapped(value, notes)
    if called and isinstance(value, str) and (match := LABEL.fullmatch(value)):
        return int(match[1])
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        notes.add("numbers written with decimals were read as whole numbers")
        return int(value)
    if isinstance(value, str):
        number = None if value.strip().isdigit() else names.get(value.strip().casefold())
        if number is not None:
            return number
        if match := NUMBER.fullmatch(value):
            notes.add("workers written as text were read as numbers")
            return int(match[1])
    raise Unclear(f"is {shown(value)}, which names no worker")


def instruction(value: object, notes: Notes) -> str:
    """The text of a subtask, without white space around it."""
    value = _unwrapped(value, notes)
    if not isinstance(value, str):
        raise Unclear(f"is {shown(value)}, not a text")
    if isinstance(value, Word):
        raise Unclear(f"is {shown(value)}, not a text in quotes")
    return clean(value).strip()


def access(value: object, notes: Notes) -> list[int] | list[str]:
    """Positions from 0, or ["all"]."""
    flat = _flat(value)
    if not isinstance(value, list):
        notes.add("an access list without brackets was given them")
    elif len(flat) != len(value) or any(isinstance(entry, list | Mapping) for entry in value):
        notes.add("nested access lists were flattened")
    if any(isinstance(entry, str) and entry.strip().casefold() in ALL for entry in flat):
        if flat != ["all"] or isinstance(flat[0], Word):
            notes.add('“all” was read in another spelling than ["all"]')
        return ["all"]
    return [position for entry in flat for position in _positions(entry, notes)]


def shown(value: object) -> str:
    """A value as a message can show it."""
    if isinstance(value, str):
        text = " ".join(clean(value[:200]).split())
        return f"“{text if len(text) <= 60 else text[:59] + '…'}”"
    if isinstance(value, bool | None):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:.10g}"
    return "a list" if isinstance(value, list) else "an object"


def _unwrapped(value: object, notes: Notes) -> object:
    while isinstance(value, list) and len(value) == 1:
        notes.add("single values in brackets of their own were taken out of them")
        value = value[0]
    return value


def _flat(value: object) -> list[object]:
    """The entries of lists in lists; the reader has bounded how deep they are nested."""
    if isinstance(value, list):
        return [entry for part in value for entry in _flat(part)]
    return [] if value == {} else [value]


def _positions(entry: object, notes: Notes) -> Sequence[int]:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return [entry]
    if isinstance(entry, float) and entry.is_integer() and abs(entry) < 1e9:
        notes.add("numbers written with decimals were read as whole numbers")
        return [int(entry)]
    if entry is None or (isinstance(entry, str) and entry.strip().casefold() in NOTHING):
        notes.add("“none” in an access list was read as nothing")
        return []
    if isinstance(entry, str) and (match := POSITIONS.fullmatch(entry)):
        notes.add("positions written as text were read as numbers")
        return [int(number) for number in re.findall(r"[0-9]+", match[1])]
    raise Unclear(f"holds {shown(entry)}, which is no position")
