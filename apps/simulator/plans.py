"""The drafts of a workflow, before models are chosen for its steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Draft:
    """A step to be. `reads` are positions of earlier drafts; what is not `needed` goes first when space is short.

    A negative position is the answer of the round before.
    """

    instruction: str
    reads: tuple[int, ...] = ()
    needed: bool = True


@dataclass(frozen=True)
class Outline:
    """A shape for a task, why it was chosen, and the one instruction to give when a single step must do."""

    because: str
    drafts: tuple[Draft, ...]
    alone: str


class Choices:
    """Choices that a seed makes: read as a number whose digits have as many values as there are options.

    Neighbouring seeds therefore differ in the first choice, and no two differ in nothing before all were used.
    """

    def __init__(self, number: int) -> None:
        self._left = number

    def pick(self, options: Sequence[T]) -> T:
        self._left, at = divmod(self._left, len(options))
        return options[at]


def within(outline: Outline, limit: int) -> tuple[Draft, ...]:
    """The drafts, cut down to the limit: what is not needed goes first, then the earliest; the last one stays."""
    if limit <= 1 and len(outline.drafts) > 1:
        return (replace(outline.drafts[-1], instruction=outline.alone, reads=_outside(outline.drafts[-1])),)
    drafts = list(outline.drafts)
    while len(drafts) > limit:
        spare = [at for at, draft in enumerate(drafts[:-1]) if not draft.needed]
        drafts = _dropped(drafts, spare[-1] if spare else 0)
    return tuple(drafts)


def _outside(draft: Draft) -> tuple[int, ...]:
    """What it reads of the round before, which stays when all other steps go."""
    return tuple(read for read in draft.reads if read < 0)


def _dropped(drafts: list[Draft], gone: int) -> list[Draft]:
    return [
        replace(draft, reads=tuple(read - (read > gone) for read in draft.reads if read != gone))
        for at, draft in enumerate(drafts)
        if at != gone
    ]


def everything_before(count: int) -> tuple[int, ...]:
    return tuple(range(count))
