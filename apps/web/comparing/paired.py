"""A step of one run beside what it is in the other: what differs, and the texts as far as a page shows them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from django.urls import reverse

from apps.web.comparing.differing import FIRST_CHARS, Differing, Text, alone, differing
from apps.web.comparing.sides import Texts
from apps.web.run.outline import Line
from apps.workflows.wording import Effort

What = Literal["same", "changed", "outcome", "only-a", "only-b"]
LABELS: dict[What, str] = {
    "same": "the same",
    "changed": "changed",
    "outcome": "other outcome",  # the same step, which was sent or answered something else
    "only-a": "only in A",
    "only-b": "only in B",
}


@dataclass(frozen=True)
class Row:
    """A step of the one run, of the other, or of both."""

    number: int
    a: Line | None
    b: Line | None
    marks: tuple[Texts, Texts]
    planned: Sequence[str]  # what was planned otherwise, in words
    came: Sequence[str]  # what came otherwise

    @property
    def anchor(self) -> str:
        return f"pair-{self.number}"

    @property
    def at(self) -> str:
        """How the address names it: its keys in A and in B."""
        return f"{self.a.row.key if self.a else ''}:{self.b.row.key if self.b else ''}"

    @property
    def line(self) -> Line:
        """The step in B, or else in A."""
        line = self.b or self.a
        assert line is not None, "a row is of a step"
        return line

    @property
    def both(self) -> tuple[tuple[Line | None, str], tuple[Line | None, str]]:
        """The step in either run, with the run's name."""
        return (self.a, "A"), (self.b, "B")

    @property
    def nested_url(self) -> str:
        """Where the runs that the step became stand beside each other; nothing unless it became one in both."""
        if not (self.a and self.b and self.a.nest and self.b.nest) or self.a.nest.code == self.b.nest.code:
            return ""
        return f"{reverse('compare')}?a={self.a.nest.code}&b={self.b.nest.code}"

    @property
    def only(self) -> str:
        """The run that alone has it; nothing where both do."""
        return "" if self.a and self.b else "A" if self.a else "B"

    @property
    def what(self) -> What:
        if self.only:
            return "only-a" if self.only == "A" else "only-b"
        return "changed" if self.planned else "outcome" if self.came else "same"

    @property
    def label(self) -> str:
        """The same in a word or two, so that no colour is needed to know it."""
        return LABELS[self.what]

    @property
    def said(self) -> list[str]:
        """All that differs, in words."""
        return [*self.planned, *self.came]

    @property
    def place(self) -> str:
        """`2`, or `2 → 3` for what stands elsewhere in B."""
        if self.a and self.b and self.a.number != self.b.number:
            return f"{self.a.number} → {self.b.number}"
        return str(self.line.number)

    @property
    def is_same_prompt(self) -> bool:
        """Whether both were sent the very same."""
        a, b = self.marks
        return bool(a.prompt.mark) and a.prompt == b.prompt

    @property
    def is_same_result(self) -> bool:
        a, b = self.marks
        return a.result == b.result

    @property
    def is_unlike_itself(self) -> bool:
        """Same input, different output."""
        return self.is_same_prompt and not self.is_same_result


@dataclass
class Shown:
    """A row with its texts, as far as a page shows them."""

    row: Row
    a: Texts
    b: Texts
    effort: Effort
    whole: bool = False
    is_open: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_open = self.whole or self.row.what != "same"

    @cached_property
    def instruction(self) -> Differing:
        return self._of(*(_as_text(line, self.whole) for line in (self.row.a, self.row.b)))

    @cached_property
    def prompt(self) -> Differing:
        return self._of(self.a.prompt, self.b.prompt)

    @cached_property
    def result(self) -> Differing:
        return self._of(self.a.result, self.b.result)

    def _of(self, a: Text, b: Text) -> Differing:
        if self.row.only:
            return alone(a if self.row.a else b, whole=self.whole)
        return differing(a, b, effort=self.effort, whole=self.whole)


def _as_text(line: Line | None, whole: bool) -> Text:
    text = line.row.instruction if line else ""
    return Text(text if whole else text[:FIRST_CHARS], len(text), text)
