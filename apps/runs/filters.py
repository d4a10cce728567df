"""The language in which runs are looked for: `status:failed -worker:qwen cost>0.1 "tariff"`.

Pure: a text becomes conditions that all must hold, and a fault for every part that could not be read. What was read
stands whatever else is wrong, so that a list can be narrowed by it while somebody is still typing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from typing import Literal, TypeAlias

LONGEST = 1_000  # characters of a filter
MOST_TERMS = 20

STATES: dict[str, str] = {
    "live": "queued, planning or running",
    "queued": "waits for a driver",
    "planning": "its workflow is being written",
    "held": "waits for a person",
    "running": "steps are under way",
    "succeeded": "has an answer",
    "failed": "ended without one",
    "stopped": "somebody stopped it",
}
ALSO = {"cancelled": "stopped", "done": "succeeded", "ok": "succeeded", "error": "failed", "review": "held"}
KINDS: dict[str, str] = {
    "mine": "started by you",
    "fork": "made from another run",
    "unpriced": "a call of unknown price",
    "test": "only tries a worker",
    "experiment": "an experiment on edges made it",
    "corrected": "somebody wrote what its answer should have been",
}
REVIEWS: dict[str, str] = {
    "accepted": "signed off",
    "rejected": "somebody said no to it",
    "open": "somebody is to review it",
    "yes": "accepted or rejected",
    "no": "neither, and it has ended",
}


@dataclass(frozen=True)
class Field:
    """Something of a run that can be asked for, and how that is written."""

    name: str
    kind: Literal["text", "number", "time", "moment"]
    hint: str
    example: str


FIELDS: dict[str, Field] = {
    field.name: field
    for field in (
        Field("status", "text", "how it stands", "status:failed"),
        Field("is", "text", "what kind of run", "is:mine"),
        Field("worker", "text", "a part of a worker's name", "worker:qwen"),
        Field("profile", "text", "a part of the profile's name", "profile:ultra"),
        Field("planner", "text", "who wrote the workflow", "planner:conductor"),
        Field("who", "text", "a part of a person's name", "who:ada"),
        Field("code", "text", "how its code begins", "code:k7f2"),
        Field("cost", "number", "in USD, as far as it is known", "cost>0.1"),
        Field("steps", "number", "how many its workflow has", "steps>=5"),
        Field("tokens", "number", "read and written", "tokens>10k"),
        Field("reviewed", "text", "whether it was signed off", "reviewed:no"),
        Field("rating", "number", "what somebody gave its answer, from 1 to 5", "rating<3"),
        Field("took", "time", "from its start to its end, or to now", "took>2m"),
        Field("after", "moment", "begun on that day or later", "after:7d"),
        Field("before", "moment", "begun earlier than that day", "before:2026-11-20"),
    )
}

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
    """A number compared: USD, steps, tokens, or seconds of `took`."""

    field: str
    comparison: Comparison
    value: Decimal


@dataclass(frozen=True)
class Moment:
    """Begun `after` or `before` a day (`2026-11-20`, with a time if wanted), `today`, `yesterday`, or `7d` ago."""

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

    @property
    def states(self) -> tuple[str, ...]:
        """The states it asks for, as they are written."""
        return tuple(
            term.condition.value
            for term in self.terms
            if isinstance(term.condition, Match) and term.condition.field == "status" and not term.negated
        )

    def asks(self, field: str, value: str) -> bool:
        """Whether it asks for runs of which `field` is `value`."""
        return Term(Match(field, value)) in self.terms

    def but(self, field: str, value: str) -> "Filter":
        """The same with another state or kind asked for, or with none where `value` is empty."""
        kept = tuple(term for term in self.terms if not _is_state_or_kind(term))
        return Filter((Term(Match(field, value)), *kept) if value else kept)


def _is_state_or_kind(term: Term) -> bool:
    condition = term.condition
    if term.negated or not isinstance(condition, Match):
        return False
    return condition.field == "status" or (condition.field, condition.value) == ("is", "test")


# --- reading --------------------------------------------------------------------------------------------------------

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


class _Unreadable(Exception):
    """Says what is wrong with a token."""


def parse(text: str) -> Filter:
    """The conditions that `text` asks for; whatever it is, nothing is raised."""
    terms: list[Term] = []
    faults: list[Fault] = []
    for found in _tokens(text.replace("\0", "")[:LONGEST]):
        try:
            term = _term(found)
            if len(terms) == MOST_TERMS:
                raise _Unreadable(f"There may be at most {MOST_TERMS} conditions.")
            terms.append(term)
        except _Unreadable as problem:
            faults.append(Fault(at=found.start() + 1, token=found[0], message=str(problem)))
    return Filter(tuple(dict.fromkeys(terms)), tuple(faults))


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


def _term(found: re.Match[str]) -> Term:
    if found["open"] is not None:
        raise _Unreadable("The quotation mark is not closed.")
    value, is_quoted = _unquoted(found["value"])
    if found["field"]:
        condition = _condition(found["field"].lower(), found["sign"], value)
    elif any(character.isalnum() for character in value):
        condition = Words(value, exact=is_quoted)
    elif value:
        raise _Unreadable("There is no letter and no digit in it to look for.")
    else:
        raise _Unreadable("A minus leaves out what follows it, and nothing follows.")
    return Term(condition, negated=bool(found["no"]))


def _unquoted(value: str) -> tuple[str, bool]:
    if value.startswith('"'):
        return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL), True
    return value, False


def _condition(name: str, sign: str, value: str) -> Condition:
    field = FIELDS.get(name)
    if field is None:
        raise _Unreadable(f"There is no field “{name}”.{_meant(name, FIELDS)} In quotes it is looked for as text.")
    if not value.strip():
        raise _Unreadable(f"Nothing follows “{name}{sign}”: write {field.example}, for example.")
    if field.kind in ("number", "time"):
        return Measure(name, COMPARED[sign], _number(field, value))
    if sign not in (":", "="):
        raise _Unreadable(f"“{name}” cannot be compared with {sign}: write {field.example}, for example.")
    if field.kind == "moment":
        return Moment(name, _when(value, field))
    return _match(name, value)


def _match(name: str, value: str) -> Match:
    if name == "reviewed":
        return Match(name, _one_of(REVIEWS, value))
    if name not in ("status", "is"):
        return Match(name, value)
    said = _one_of(STATES if name == "status" else {**STATES, **KINDS}, value)
    return Match("status" if said in STATES else "is", said)


def _one_of(known: Mapping[str, str], value: str) -> str:
    said = ALSO.get(value.lower(), value.lower())
    if said not in known:
        raise _Unreadable(f"“{value}” is none of {', '.join(known)}.{_meant(said, known)}")
    return said


def _number(field: Field, value: str) -> Decimal:
    found = NUMBER.fullmatch(value)
    units = SECONDS if field.kind == "time" else UNITS
    if found is None or found["unit"].lower() not in units:
        raise _Unreadable(f"“{value}” is no {field.kind}: write {field.example}, for example.")
    return (Decimal(found["digits"]) * units[found["unit"].lower()]).normalize()


def _when(value: str, field: Field) -> str:
    said = value.lower()
    if said in ("today", "yesterday") or AGO.fullmatch(said):
        return said
    try:
        return datetime.fromisoformat(value).isoformat().removesuffix("T00:00:00")
    except ValueError:
        wanted = f"write a day like 2026-11-20, today, yesterday, or how long ago: {field.name}:7d"
        raise _Unreadable(f"“{value}” is no day: {wanted}.") from None


def _meant(said: str, known: Iterable[str]) -> str:
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


# --- writing --------------------------------------------------------------------------------------------------------


def render(asked: Filter) -> str:
    """The text that means what was understood: `parse` makes the same terms of it."""
    return " ".join(("-" if term.negated else "") + _written(term.condition) for term in asked.terms)


def _written(condition: Condition) -> str:
    match condition:
        case Words(text, exact):
            return _quoted(text) if exact else text
        case Match(field, value):
            return f"{field}:{value if _is_plain(value) else _quoted(value)}"
        case Measure(field, comparison, value):
            return f"{field}{comparison}{value:f}{'s' if FIELDS[field].kind == 'time' else ''}"
        case Moment(field, when):
            return f"{field}:{when}"


def _is_plain(value: str) -> bool:
    return not value.startswith('"') and not any(character.isspace() for character in value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
