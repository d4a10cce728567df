"""Tasks with `{placeholders}`: found, filled in and written out again. What is filled in is data and never looked at.

A brace that is meant as a brace is doubled, `{{` or `}}`. One pass over the text: a value that has braces in it stays
as it is, and nothing in a name is evaluated.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apps.core.errors import Invalid

LONGEST_NAME = 40
MOST_NAMES = 50
NAME = re.compile(r"[^\W_][\w -]{0,39}")
BRACE = re.compile(r"\{\{|\}\}|\{([^{}\n]{0,200})\}|[{}]")
SHOWN = 24


@dataclass(frozen=True)
class Placeholder:
    """A place in a task that is filled in for every run."""

    name: str


Part = str | Placeholder


class PlaceholderInvalid(Invalid):
    """A brace is neither part of a placeholder nor doubled, or there are too many placeholders."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="task")


class PlaceholderEmpty(Invalid):
    """There is nothing to put in the place of `name`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Fill in {name}.", field=name)
        self.name = name


def parts_of(text: str) -> list[Part]:
    """The text as pieces of text, their doubled braces made single, and placeholders, in order.

    :raises PlaceholderInvalid: with the line of the brace at fault.
    """
    parts: list[Part] = []
    plain = ""
    for piece in _pieces(text):
        if isinstance(piece, str):
            plain += piece
            continue
        parts += [plain, piece] if plain else [piece]
        plain = ""
    if plain:
        parts.append(plain)
    if len(names_in(parts)) > MOST_NAMES:
        raise PlaceholderInvalid(f"A task can have {MOST_NAMES} placeholders at most. Double the braces of the others.")
    return parts


def names_in(parts: list[Part]) -> tuple[str, ...]:
    """The names of the placeholders, each once, in the order in which they first stand."""
    return tuple(dict.fromkeys(part.name for part in parts if isinstance(part, Placeholder)))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder replaced by its value, to the letter.

    :raises PlaceholderInvalid: :raises PlaceholderEmpty: a value is missing or blank.
    """
    return "".join(part if isinstance(part, str) else _value(part.name, values) for part in parts_of(text))


def written_out(text: str) -> str:
    """`text` with its braces doubled: what `fill` makes `text` of again."""
    return text.replace("{", "{{").replace("}", "}}")


def _value(name: str, values: Mapping[str, str]) -> str:
    value = values.get(name, "")
    if not value.strip():
        raise PlaceholderEmpty(name)
    return value


def _pieces(text: str) -> Iterator[Part]:
    at = 0
    for found in BRACE.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        yield _meant(text, found)
    yield text[at:]


def _meant(text: str, found: re.Match[str]) -> Part:
    if found[0] in ("{{", "}}"):
        return found[0][0]
    name = (found[1] or "").strip()
    if NAME.fullmatch(name):
        return Placeholder(name)
    line = text.count("\n", 0, found.start()) + 1
    shown = found[0] if len(found[0]) <= SHOWN else f"{found[0][:SHOWN]}…"
    rule = f"a name begins with a letter or digit and has at most {LONGEST_NAME} letters, digits, spaces, _ and -"
    why = f"is no placeholder: {rule}" if len(found[0]) > 1 else "stands alone"
    raise PlaceholderInvalid(f"Line {line}: “{shown}” {why}. A brace that is meant as one is doubled: {{{{ or }}}}.")
