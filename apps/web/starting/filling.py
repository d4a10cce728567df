"""The form by which a run is started from a template: a field for each placeholder, its tags, profile, workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import uuid4

from django.http import QueryDict
from django.utils import timezone

from apps.accounts.models import User
from apps.core.errors import Invalid
from apps.runs.models import Run
from apps.runs.services import WorkflowInvalid
from apps.runs.templates import start_template
from apps.web.editing.outlined import Outlined, in_short
from apps.web.posted import key_of
from apps.web.starting.carries import tags_in, tags_offered
from apps.web.starting.choices import Choice, choices_of
from apps.workers.calls import clean
from apps.workers.models import Profile, Tag
from apps.workflows import placeholders
from apps.workflows.graph import Problem
from apps.workflows.models import SavedWorkflow

LONGEST_SLUG = 100


@dataclass(frozen=True)
class Field:
    """A placeholder as a field of the form."""

    name: str
    number: int
    value: str
    error: str


@dataclass(frozen=True)
class Span:
    """A piece of the task as it will be: what the template says, what was filled in, or what is missing still."""

    text: str
    kind: str


@dataclass
class Filling:
    """The form as it was filled in, and what is wrong with it."""

    template: SavedWorkflow
    by: User
    values: dict[str, str] = field(default_factory=dict)
    profile_slug: str = ""
    instead: dict[str, str] = field(default_factory=dict)
    unknown_price: bool = False
    tags: tuple[str, ...] = ()  # of what was filled in
    submit_key: str = field(default_factory=lambda: uuid4().hex)
    errors: dict[str, str] = field(default_factory=dict)
    problems: Sequence[Problem] = ()

    @classmethod
    def of(cls, template: SavedWorkflow, posted: QueryDict, *, by: User) -> "Filling":
        slugs = {step.worker for step in template.workflow.steps}
        given = {slug: posted.get(f"instead-{slug}", "")[:LONGEST_SLUG] for slug in slugs}
        form = cls(
            template,
            by,
            profile_slug=posted.get("profile", "")[:LONGEST_SLUG],
            instead={slug: chosen for slug, chosen in given.items() if chosen},
            unknown_price=bool(posted.get("unknown_price")),
            tags=tags_in(posted, "tags"),
            submit_key=posted.get("submit_key", "")[:64] or uuid4().hex,
        )
        form.values = {name: clean(posted.get(f"fill-{name}", "")).replace("\r\n", "\n") for name in form.names}
        return form

    @cached_property
    def parts(self) -> list[placeholders.Part]:
        return placeholders.parts_of(self.template.task)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return placeholders.names_in(self.parts)

    @property
    def fields(self) -> list[Field]:
        return [
            Field(name, number, self.values.get(name, ""), self.errors.get(f"fill-{name}", ""))
            for number, name in enumerate(self.names, start=1)
        ]

    @property
    def spans(self) -> list[Span]:
        """The task as it will be."""

        def span(part: placeholders.Part) -> Span:
            if isinstance(part, str):
                return Span(part, "text")
            value = self.values.get(part.name, "")
            return Span(value, "value") if value.strip() else Span(f"{{{part.name}}}", "missing")

        return [span(part) for part in self.parts]

    @cached_property
    def tags_offered(self) -> list[Tag]:
        """The tags that what is filled in may carry, and the template does not."""
        return [tag for tag in tags_offered(self.template.project) if tag.name not in self.template.tags]

    @cached_property
    def choices(self) -> list[Choice]:
        return choices_of(self.template.project)

    @cached_property
    def profile(self) -> Profile | None:
        """The profile that was chosen; before one was, the one it was kept with, else the first with workers."""
        by_slug = {choice.slug: choice for choice in self.choices}
        wanted = by_slug.get(self.profile_slug) or by_slug.get(self.template.profile)
        chosen = wanted or next((choice for choice in self.choices if choice.pool), None)
        return chosen.profile if chosen else None

    @property
    def outlined(self) -> Outlined:
        return Outlined(
            self.template.workflow,
            project=self.template.project,
            profile=self.profile,
            instead=self.instead,
            problems=self.problems,
        )

    def start(self, *, held: bool) -> Run | None:
        """The run that was started; None where something is wrong, which is noted at its field or its step."""
        self.errors |= {
            f"fill-{name}": f"Fill in {name}." for name in self.names if not self.values.get(name, "").strip()
        }
        if self.profile is None:
            self.errors["profile"] = "No profile is offered to you. Ask an admin for one."
        if self.errors or self.profile is None:
            return None
        try:
            return start_template(
                template=self.template,
                values=self.values,
                profile=self.profile,
                by=self.by,
                now=timezone.now(),
                instead=self.instead,
                held=held,
                unknown_price_ok=self.unknown_price,
                tags=self.tags,
                submit_key=self._key(held),
            )
        except WorkflowInvalid as invalid:
            self.problems = invalid.problems
            self.errors["workflow"] = in_short(invalid.problems)
        except Invalid as refusal:
            self.errors[refusal.field or "task"] = refusal.message
        return None

    def _key(self, held: bool) -> str | None:
        written: Mapping[str, str] = {**self.values, **{f"instead-{slug}": each for slug, each in self.instead.items()}}
        said = [*(f"{name}={value}" for name, value in sorted(written.items())), *sorted(self.tags)]
        return key_of(self.submit_key, str(self.template.pk), str(held), self.profile_slug, *said)
