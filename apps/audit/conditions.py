"""What a filter asks of events, in SQL: each of its terms becomes one condition on the columns of an event."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from django.db import connection

from apps.audit.filters import OF_WORDS, outcome_of
from apps.core.filtering import Filter, Match, Moment, Term, Words, instant

# Every different value of a column, each found in the index behind the one before it.
VALUES = """
    WITH RECURSIVE known AS (
        (SELECT {column} AS value FROM audit_event WHERE {column} IS NOT NULL ORDER BY {column} LIMIT 1)
        UNION ALL
        SELECT (SELECT {column} FROM audit_event WHERE {column} > known.value ORDER BY {column} LIMIT 1)
        FROM known WHERE known.value IS NOT NULL
    )
    SELECT value FROM known WHERE value IS NOT NULL
"""
OF_TRAILS = "trail_id = ANY(ARRAY(SELECT trail.id FROM audit_trail AS trail WHERE trail.name LIKE %({name})s))"
SAID = "EXISTS (SELECT FROM audit_eventwords AS said WHERE said.event_id = id AND said.words @@ ({query}))"


Names: TypeAlias = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Condition:
    """A condition in SQL and what is put into it.

    `index` tells how an index helps: it finds what fits, or goes through what fits in the order of commits, too.
    """

    sql: str
    given: dict[str, Any] = field(default_factory=dict)
    index: Literal["none", "finds", "walks"] = "none"


@dataclass(frozen=True)
class Asked:
    """The conditions of a filter: those on columns, the time that is asked for, and the words, which have a table."""

    columns: Sequence[Condition]
    time: Condition | None
    words: Condition | None  # its SQL is what is looked for, as a tsquery
    others: Sequence[Condition]  # what must not be

    @property
    def all(self) -> list[Condition]:
        """All of them, as conditions on an event."""
        said = [Condition(SAID.format(query=self.words.sql), self.words.given)] if self.words else []
        return [*self.columns, *([self.time] if self.time else []), *said, *self.others]


def conditions_of(asked: Filter, *, projects: Collection[str], names: Names, now: datetime) -> Asked:
    """What `asked` means for the events of `projects`. `names` are labels of people by other names of theirs."""
    wanted = [term for term in asked.terms if not term.negated]
    columns = [_any("project", sorted(projects), "scope")]
    moments: list[Condition] = []
    words: list[Condition] = []
    for number, term in enumerate(wanted):
        match term.condition:
            case Words(text, exact):
                words.append(_query(text, exact, f"t{number}"))
            case Moment():
                moments.append(_moment(term.condition, f"t{number}", now=now))
            case Match():
                columns.append(_match(term.condition, f"t{number}", names))
    others = [_not(term, f"n{number}", names, now=now) for number, term in enumerate(asked.terms) if term.negated]
    return Asked(columns, _joined(moments, " AND ", "finds"), _joined(words, " && "), others)


def _joined(
    conditions: Sequence[Condition], between: str, index: Literal["none", "finds"] = "none"
) -> Condition | None:
    if not conditions:
        return None
    given = {name: value for each in conditions for name, value in each.given.items()}
    return Condition(between.join(each.sql for each in conditions), given, index)


def _not(term: Term, name: str, names: Names, *, now: datetime) -> Condition:
    match term.condition:
        case Words(text, exact):
            query = _query(text, exact, name)
            inner = Condition(SAID.format(query=query.sql), query.given)
        case Moment():
            inner = _moment(term.condition, name, now=now)
        case Match():
            inner = _match(term.condition, name, names)
        case _:
            raise AssertionError("no field of an event is measured")
    return Condition(f"({inner.sql}) IS NOT TRUE", inner.given)


def _query(text: str, exact: bool, name: str) -> Condition:
    return Condition(f"audit_wanted(%({name})s, {'false' if exact else 'true'})", {name: text})


def _moment(moment: Moment, name: str, *, now: datetime) -> Condition:
    sign = ">=" if moment.field == "after" else "<"
    return Condition(f"at {sign} %({name})s", {name: instant(moment, now=now)}, "finds")


def _match(asked: Match, name: str, names: Names) -> Condition:
    said = asked.value.lower()
    match asked.field:
        case "verb":
            return _any("verb", [verb for verb in values("verb") if said in verb], name)
        case "outcome":
            return _outcome(asked.value, name)
        case "actor":
            labels = [label for label in values("actor_label") if said in label.lower() or label in names.get(said, ())]
            return _any("actor_label", labels, name)
        case "worker":
            return _any("worker", [worker for worker in values("worker") if said in worker.lower()], name)
        case "is":
            return Condition(f"actor_kind = %({name})s", {name: asked.value})
        case "project":
            return Condition(f"project = %({name})s", {name: asked.value}, "walks")
        case "object":
            return Condition(f"subject LIKE %({name})s", {name: _begins(asked.value)}, "finds")
        case "run":
            return Condition(OF_TRAILS.format(name=name), {name: _begins(f"run:{said}")}, "finds")
    raise AssertionError(f"nothing is known of {asked.field}")


def _any(column: str, found: Sequence[str], name: str) -> Condition:
    """That a column has one of some values; one alone can be followed through its index."""
    if len(found) == 1:
        return Condition(f"{column} = %({name})s", {name: found[0]}, "walks")
    return Condition(f"{column} = ANY(%({name})s::text[])", {name: list(found)}, "finds")


def _outcome(outcome: str, name: str) -> Condition:
    if outcome != "done":
        return _any("verb", [verb for verb in values("verb") if outcome_of(verb) == outcome], name)
    others = [verb for verb in values("verb") if verb.rpartition(".")[2] in OF_WORDS]
    return Condition(f"verb <> ALL(%({name})s::text[])", {name: others})


def _begins(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"{escaped}%"


def values(column: Literal["verb", "actor_label", "worker"]) -> list[str]:
    """Every value that a column has: one look into its index for each, however many events there are."""
    with connection.cursor() as cursor:
        cursor.execute(VALUES.format(column=column))
        return [value for (value,) in cursor.fetchall()]
