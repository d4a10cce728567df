"""What of the log is asked for, as its address says it: in the language of filters, or as a form that becomes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.http import QueryDict

from apps.audit import filters
from apps.audit.places import Place
from apps.core.filtering import LONGEST, Condition, Filter, Match, Moment, Term, Words

MATCHED = ("actor", "is", "verb", "object", "run", "worker", "outcome", "project")
MOMENTS = ("after", "before")
LONGEST_TYPED = 500


@dataclass(frozen=True)
class Asked:
    """What is asked for; what the address cannot mean is left out."""

    text: str = ""
    place: Place | None = None

    @classmethod
    def of(cls, given: QueryDict) -> "Asked":
        text = given.get("q", "").replace("\0", "").strip()[:LONGEST]
        return cls(text, Place.read(given.get("from", "")))

    @cached_property
    def filter(self) -> Filter:
        return filters.parse(self.text)

    @cached_property
    def understood(self) -> str:
        return filters.render(self.filter)

    @property
    def has_words(self) -> bool:
        return any(isinstance(term.condition, Words) for term in self.filter.terms)

    @property
    def project(self) -> str | None:
        """The one project that is asked for."""
        asked = self.filter.asked("project")
        return asked[0] if len(asked) == 1 else None

    @cached_property
    def form(self) -> Mapping[str, str]:
        """What of it the fields of the form can say; the rest stands in its text."""
        said: dict[str, str] = {}
        rest: list[Term] = []
        for term in self.filter.terms:
            condition = term.condition
            field = condition.field if isinstance(condition, Match | Moment) else ""
            if field and not term.negated and field not in said and isinstance(condition, Match | Moment):
                said[field] = condition.value if isinstance(condition, Match) else condition.when
            else:
                rest.append(term)
        return said | {"text": filters.render(Filter(tuple(rest)))}


def from_form(given: QueryDict) -> str:
    """The text that says what was filled in."""
    said = {name: " ".join(given.get(name, "").replace("\0", "").split()) for name in (*MATCHED, *MOMENTS, "text")}
    conditions: list[Condition] = [Match(name, said[name]) for name in MATCHED if said[name]]
    conditions += [Moment(name, said[name]) for name in MOMENTS if said[name]]
    written = [filters.LANGUAGE.written(condition) for condition in conditions]
    return " ".join([*written, said["text"]]).strip()[:LONGEST]


def url_of(text: str = "", **more: object) -> str:
    """The address of the page narrowed by `text`."""
    query = urlencode({name: value for name, value in {"q": text, **more}.items() if value}, safe=':<>="')
    return f"/audit/?{query}" if query else "/audit/"
