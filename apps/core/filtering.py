"""How lists are narrowed: `status:failed -worker:qwen cost>0.1 "tariff"`. Each list has fields of its own.

Pure: a text becomes conditions that all must hold, and a fault for every part that could not be read. What was read
stands whatever else is wrong, so that a list can be narrowed by it while somebody is still typing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from typing import Literal, TypeAlias

LONGEST = 1_000  # characters of a filter
MOST_TERMS = 20


@dataclass(frozen=True)
class Field:
    """Something of what a list shows that can be asked for, and how that is written."""

    name: str
    kind: Literal["text", "number", "time", "moment"]
    hint: str
    example: str


Comparison: TypeAlias = Literal["=", ">", ">=", "<", "<="]
# Every sign that TOKEN lets through.
COMPARED: Mapping[str, Comparison] = {":": "=", "=": "=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


@dataclass(frozen=True)
class Words:
    """Text to be found: each word may go on differently, unless it is `exact`, which is a phrase in quotes."""

    text: str
    exact: bool = False


@dataclass(frozen=True)
class Match:
    """A field that has this value or part of a value."""

    field: str
    value: str


@dataclass(frozen=True)
class Measure:
    """A number compared; of a field that measures time, seconds."""

    field: str
    comparison: Comparison
    value: Decimal


@dataclass(frozen=True)
class Moment:
    """`after` or `before` a day (`2026-11-20`, with a time if wanted), `today`, `yesterday`, or `7d` ago."""

    field: str
    when: str


Condition: TypeAlias = Words | Match | Measure | Moment


@dataclass(frozen=True)
class Term:
    """A condition that must hold, or must not."""

    condition: Condition
    negated: bool = False


@dataclass(frozen=True)
class Fault:
    """A part of the text that could not be read: where it begins, counted from 1, and what is wrong with it."""

    at: int
    token: str
    message: str


@dataclass(frozen=True)
class Filter:
    """What was understood of a text, and what was not."""

    terms: tuple[Term, ...] = ()
    faults: tuple[Fault, ...] = ()

    def asks(self, field: str, value: str) -> bool:
        """Whether it asks for what has `value` as its `field`."""
        return Term(Match(field, value)) in self.terms

    def asked(self, field: str) -> tuple[str, ...]:
        """What it asks for of `field`, as it is written; what must not be is left out."""
        return tuple(
            term.condition.value
            for term in self.terms
            if isinstance(term.condition, Match) and term.condition.field == field and not term.negated
        )


TOKEN = re.compile(
    r"""(?P<no>-?)
        (?:(?P<field>[A-Za-z_]+)(?P<sign>>=|<=|[:=<>]))?
        (?P<value>"(?:[^"\\]|\\.)*"|"(?P<open>.*)|[^\s"]\S*|)""",
    re.VERBOSE | re.DOTALL,
)
NUMBER = re.compile(r"\$?(?P<digits>\d{1,12}(?:\.\d{1,8})?|\.\d{1,8})(?P<unit>[a-z]*)", re.IGNORECASE | re.ASCII)
AGO = re.compile(r"\d{1,4}(?:h|d|w)", re.ASCII)
UNITS = {"": Decimal(1), "k": Decimal(1_000), "m": Decimal(1_000_000)}
SECONDS = {
    "": Decimal(1),
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "min": Decimal(60),
    "h": Decimal(3_600),
    "d": Decimal(86_400),
}
HOURS = {"h": 1, "d": 24, "w": 24 * 7}


class Unreadable(Exception):
    """Says what is wrong with a token."""


def exactly(name: str, value: str) -> Match:
    """A value as it stands: for a list none of whose fields has known values."""
    return Match(name, value)


@dataclass(frozen=True)
class Language:
    """The fields of one list. `match` reads the value of a field of kind text, or raises Unreadable."""

    fields: Mapping[str, Field]
    match: Callable[[str, str], Match] = exactly

    def parse(self, text: str) -> Filter:
        """The conditions that `text` asks for; whatever it is, nothing is raised."""
        terms: list[Term] = []
        faults: list[Fault] = []
        for found in _tokens(text.replace("\0", "")[:LONGEST]):
            try:
                term = self._term(found)
                if len(terms) == MOST_TERMS:
                    raise Unreadable(f"There may be at most {MOST_TERMS} conditions.")
                terms.append(term)
            except Unreadable as problem:
                faults.append(Fault(at=found.start() + 1, token=found[0], message=str(problem)))
        return Filter(tuple(dict.fromkeys(terms)), tuple(faults))

    def _term(self, found: re.Match[str]) -> Term:
        if found["open"] is not None:
            raise Unreadable("The quotation mark is not closed.")
        value, is_quoted = _unquoted(found["value"])
        if found["field"]:
            condition = self._condition(found["field"].lower(), found["sign"], value)
        elif any(character.isalnum() for character in value):
            condition = Words(value, exact=is_quoted)
        elif value:
            raise Unreadable("There is no letter and no digit in it to look for.")
        else:
            raise Unreadable("A minus leaves out what follows it, and nothing follows.")
        return Term(condition, negated=bool(found["no"]))

    def _condition(self, name: str, sign: str, value: str) -> Condition:
        field = self.fields.get(name)
        if field is None:
            meant = did_you_mean(name, self.fields)
            raise Unreadable(f"There is no field “{name}”.{meant} In quotes it is looked for as text.")
        if not value.strip():
            raise Unreadable(f"Nothing follows “{name}{sign}”: write {field.example}, for example.")
        if field.kind in ("number", "time"):
            return Measure(name, COMPARED[sign], _number(field, value))
        if sign not in (":", "="):
            raise Unreadable(f"“{name}” cannot be compared with {sign}: write {field.example}, for example.")
        if field.kind == "moment":
            return Moment(name, _when(value, field))
        return self.match(name, value)

    def render(self, asked: Filter) -> str:
        """The text that means what was understood: `parse` makes the same terms of it."""
        return " ".join(("-" if term.negated else "") + self.written(term.condition) for term in asked.terms)

    def written(self, condition: Condition) -> str:
        """One condition as it is written."""
        match condition:
            case Words(text, exact):
                return _quoted(text) if exact else text
            case Match(field, value):
                return f"{field}:{value if _is_plain(value) else _quoted(value)}"
            case Measure(field, comparison, value):
                return f"{field}{comparison}{value:f}{'s' if self.fields[field].kind == 'time' else ''}"
            case Moment(field, when):
                return f"{field}:{when}"


def one_of(known: Mapping[str, str], value: str, *, also: Mapping[str, str] | None = None) -> str:
    """The one of `known` that `value` names, or that it is an other word for.

    :raises Unreadable: it names none.
    """
    said = (also or {}).get(value.lower(), value.lower())
    if said not in known:
        raise Unreadable(f"“{value}” is none of {', '.join(known)}.{did_you_mean(said, known)}")
    return said


def did_you_mean(said: str, known: Iterable[str]) -> str:
    close = get_close_matches(said, list(known), n=1)
    return f" Did you mean {close[0]}?" if close else ""


def instant(moment: Moment, *, now: datetime) -> datetime:
    """The time a moment names; a day begins at midnight UTC."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if moment.when in ("today", "yesterday"):
        return midnight - timedelta(days=moment.when == "yesterday")
    if AGO.fullmatch(moment.when):
        return now - timedelta(hours=int(moment.when[:-1]) * HOURS[moment.when[-1]])
    said = datetime.fromisoformat(moment.when)
    return said if said.tzinfo else said.replace(tzinfo=UTC)


def _tokens(text: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        found = TOKEN.match(text, position)
        assert found is not None, "every character begins a token"
        yield found
        position = found.end()


def _unquoted(value: str) -> tuple[str, bool]:
    if value.startswith('"'):
        return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL), True
    return value, False


def _number(field: Field, value: str) -> Decimal:
    found = NUMBER.fullmatch(value)
    units = SECONDS if field.kind == "time" else UNITS
    if found is None or found["unit"].lower() not in units:
        raise Unreadable(f"“{value}” is no {field.kind}: write {field.example}, for example.")
    return (Decimal(found["digits"]) * units[found["unit"].lower()]).normalize()


def _when(value: str, field: Field) -> str:
    said = value.lower()
    if said in ("today", "yesterday") or AGO.fullmatch(said):
        return said
    try:
        return datetime.fromisoformat(value).isoformat().removesuffix("T00:00:00")
    except ValueError:
        wanted = f"write a day like 2026-11-20, today, yesterday, or how long ago: {field.name}:7d"
        raise Unreadable(f"“{value}” is no day: {wanted}.") from None


def _is_plain(value: str) -> bool:
    return not value.startswith('"') and not any(character.isspace() for character in value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
