"""One step as a review tells it: what it could see, what it was sent, who was asked, what it answered."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.runs.models import Attempt, Step
from apps.web.run.outline import cost_of
from apps.web.run.paused import Written
from apps.web.run.stand_ins import StandIn
from apps.web.words.billed import Billed
from apps.web.words.figures import short_title
from apps.web.words.looks import Look
from apps.web.words.texts import Shown

NOT_ASKED = (Attempt.Status.REUSED, Attempt.Status.WRITTEN)


@dataclass(frozen=True)
class Material:
    """An earlier step, as material for a later one."""

    label: str
    title: str
    anchor: str
    is_given: bool  # it was on the list, and had something to say
    tokens: int
    by: str  # the person who wrote its result


@dataclass(frozen=True)
class Section:
    """A stretch of what was sent. Where it stands elsewhere on the page word for word, `where` says so."""

    title: str
    text: Shown | None
    where: str
    tokens: int


@dataclass(frozen=True)
class Call(Billed):
    """One call of a worker for a step, or what took its place."""

    row: Attempt
    worker: Look
    written: Written | None
    before: Shown | None  # what a person wrote over

    @property
    def is_asked(self) -> bool:
        """Whether somebody was really asked."""
        return self.row.status not in NOT_ASKED


@dataclass(frozen=True)
class Told:
    """One step with all that there is to tell of it. Of a step of a nested run the `label` is `2.1`."""

    row: Step
    label: str
    anchor: str
    worker: Look
    reads: Sequence[Material]
    unread: Sequence[Material]
    unnamed: int  # earlier steps that it may not read, where they are too many to name
    shows_task: bool
    sections: Sequence[Section]
    sent: Shown | None  # what was sent, where it cannot be told in sections
    digest: str
    result: Shown
    calls: Sequence[Call]
    stand_ins: Sequence[StandIn]

    @property
    def depth(self) -> int:
        return self.label.count(".")

    @property
    def title(self) -> str:
        return short_title(self.row.instruction)

    @property
    def last(self) -> Call | None:
        return self.calls[-1] if self.calls else None

    @property
    def source(self) -> Attempt | None:
        """The call of another run whose result was taken over."""
        return self.last.row.source if self.last else None

    @property
    def is_done(self) -> bool:
        return self.row.status in Step.DONE

    @property
    def cost(self) -> str:
        return cost_of([call.row for call in self.calls])

    @property
    def is_as_sent(self) -> bool:
        return bool(self.sections)
