"""The language in which runs are looked for: `status:failed -worker:qwen cost>0.1 "tariff"`.

Pure: what can be asked of a run; how it is written and read is the language of all lists (`apps.core.filtering`).
"""

from dataclasses import dataclass

from apps.core import filtering
from apps.core.filtering import (
    LONGEST,
    MOST_TERMS,
    Comparison,
    Condition,
    Fault,
    Field,
    Language,
    Match,
    Measure,
    Moment,
    Term,
    Words,
    instant,
    one_of,
)

__all__ = [
    "FIELDS",
    "KINDS",
    "LONGEST",
    "MOST_TERMS",
    "REVIEWS",
    "STATES",
    "Comparison",
    "Condition",
    "Fault",
    "Field",
    "Filter",
    "Match",
    "Measure",
    "Moment",
    "Term",
    "Words",
    "instant",
    "parse",
    "render",
]

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
    "erased": "its texts are gone",
}
REVIEWS: dict[str, str] = {
    "accepted": "signed off",
    "rejected": "somebody said no to it",
    "open": "somebody is to review it",
    "yes": "accepted or rejected",
    "no": "neither, and it has ended",
}

FIELDS: dict[str, Field] = {
    field.name: field
    for field in (
        Field("status", "text", "how it stands", "status:failed"),
        Field("is", "text", "what kind of run", "is:mine"),
        Field("worker", "text", "a part of a worker's name", "worker:qwen"),
        Field("profile", "text", "a part of the profile's name", "profile:ultra"),
        Field("project", "text", "a part of the project's name", "project:default"),
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


@dataclass(frozen=True)
class Filter(filtering.Filter):
    """What was understood of a text, and what was not."""

    @property
    def states(self) -> tuple[str, ...]:
        """The states it asks for, as they are written."""
        return self.asked("status")

    def but(self, field: str, value: str) -> "Filter":
        """The same with another state or kind asked for, or with none where `value` is empty."""
        kept = tuple(term for term in self.terms if not _is_state_or_kind(term))
        return Filter((Term(Match(field, value)), *kept) if value else kept)


def _is_state_or_kind(term: Term) -> bool:
    condition = term.condition
    if term.negated or not isinstance(condition, Match):
        return False
    return condition.field == "status" or (condition.field, condition.value) == ("is", "test")


def _match(name: str, value: str) -> Match:
    if name == "reviewed":
        return Match(name, one_of(REVIEWS, value))
    if name not in ("status", "is"):
        return Match(name, value)
    said = one_of(STATES if name == "status" else {**STATES, **KINDS}, value, also=ALSO)
    return Match("status" if said in STATES else "is", said)


LANGUAGE = Language(FIELDS, _match)


def parse(text: str) -> Filter:
    """The conditions that `text` asks for; whatever it is, nothing is raised."""
    asked = LANGUAGE.parse(text)
    return Filter(asked.terms, asked.faults)


def render(asked: Filter) -> str:
    """The text that means what was understood: `parse` makes the same terms of it."""
    return LANGUAGE.render(asked)
