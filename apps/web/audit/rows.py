"""Events as rows of a list: when, who, what, to which object, what came of it, and how it is sealed.

The same rows stand in the audit page and among the views of a run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from apps.accounts.models import User
from apps.audit.filters import outcome_of
from apps.audit.lines import Line
from apps.web.words.events import facts_of, in_words, main_text
from apps.web.words.looks import Look

TEXT_CHARS = 200  # of which fewer are shown: spaces and line ends become one
SHOWN_CHARS = 120
SHOWN_OF_HASH = 8
UNREADABLE = "What is stored here is no event any more: it was changed in the database. Verify names it."
ROWS_OF = ("worker", "conductor", "profile", "credential", "project", "budget", "group", "key")


@dataclass(frozen=True)
class Thing:
    """What an event is about, and where it is to be seen, where it has a page."""

    label: str
    url: str = ""


@dataclass(frozen=True)
class Row:
    """An event as a line to read."""

    id: int
    seq: int
    at: datetime
    day: str
    clock: str
    verb: str
    words: str
    who: str
    kind: str
    object: Thing
    step: str | None
    outcome: str
    project: str
    facts: Sequence[str]
    text: str
    seal: str


def rows_of(lines: Sequence[Line], looks: Mapping[str, Look]) -> list[Row]:
    """The rows of events; `looks` are those of a run's workers, where they are a run's."""
    people = people_in(lines)
    return [_row(line, looks, people) for line in lines]


def people_in(lines: Iterable[Line]) -> dict[str, str]:
    """What the people are called now whom events are about, by the events' word for them."""
    numbers = {line.subject.removeprefix("person:") for line in lines if line.subject.startswith("person:")}
    people = User.objects.in_bulk([int(number) for number in numbers if number.isdecimal()]) if numbers else {}
    return {f"person:{pk}": person.label for pk, person in people.items()}


def _row(line: Line, looks: Mapping[str, Look], people: Mapping[str, str]) -> Row:
    step, thing = line.data.get("step"), thing_of(line, people)
    facts = facts_of(line.verb, line.data, looks)
    return Row(
        id=line.id,
        seq=line.seq,
        at=line.at,
        day=f"{line.at:%Y-%m-%d}",
        clock=f"{line.at:%H:%M:%S}.{line.at.microsecond // 1000:03d}",
        verb=line.verb,
        words=in_words(line.verb),
        who=line.actor.label,
        kind=line.actor.kind,
        object=thing,
        step=step if isinstance(step, str) else None,
        outcome=outcome_of(line.verb),
        project=line.project,
        facts=[fact for fact in facts if not thing.label.endswith(f" {fact}")],
        text=_cut(main_text(line.texts)) if line.is_readable else UNREADABLE,
        seal=line.hash[:SHOWN_OF_HASH],
    )


def thing_of(line: Line, people: Mapping[str, str]) -> Thing:
    """A run, a person, a row of the pool, or whatever the event calls it."""
    if line.trail.startswith("run:"):
        return Thing(f"run {line.trail.removeprefix('run:')}", _run_url(line))
    if line.subject in people:
        return Thing(people[line.subject])
    for noun in ROWS_OF:
        if isinstance(name := line.data.get(noun), str | int) and line.verb.startswith(f"{noun}."):
            return Thing(f"{noun} {name}")
    return Thing(line.subject.replace(":", " ", 1))


def _run_url(line: Line) -> str:
    step = line.data.get("step")
    return f"/runs/{line.trail.removeprefix('run:')}/" + (f"?step={quote(step)}" if isinstance(step, str) else "")


def _cut(text: str) -> str:
    return text if len(text) < SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
