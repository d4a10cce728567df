"""Earlier steps as material for a later one: what it may read, what it was given, and how much of all that each is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.runs.models import Step
from apps.web.words.figures import about_tokens, short_title
from apps.web.words.texts import Shown, shown


@dataclass(frozen=True)
class Piece:
    """An earlier step, as material."""

    row: Step
    title: str
    is_allowed: bool
    is_given: bool  # whether the call that is shown was really sent it
    tokens: int
    is_estimated: bool
    share: float  # of all that was given, in percent
    text: Shown | None = None
    by: str = ""  # the person who wrote its result

    @property
    def number(self) -> int:
        return self.row.position + 1

    @property
    def is_done(self) -> bool:
        return self.row.status in Step.DONE


def pieces_of(
    reader: Step,
    earlier: Sequence[Step],
    *,
    results: Mapping[str, str],
    counted: Mapping[str, int],
    was_called: bool,
    whole: bool,
    with_texts: bool,
    authors: Mapping[str, str] | None = None,
) -> list[Piece]:
    """Every one of the `earlier` steps: those that `reader` may read, then those it may not.

    `results` are the texts of those that have answered, `counted` their tokens where somebody has counted,
    `authors` the people who wrote some of them by hand.
    """
    sizes = {key: counted.get(key) or about_tokens(text) for key, text in results.items() if text.strip()}
    total = sum(sizes.values()) or 1

    def piece(step: Step) -> Piece:
        allowed = step.key in reader.access
        text = results.get(step.key, "")
        return Piece(
            row=step,
            title=short_title(step.instruction),
            is_allowed=allowed,
            is_given=allowed and bool(text.strip()) and was_called,
            tokens=sizes.get(step.key, 0),
            is_estimated=step.key not in counted,
            share=round(sizes.get(step.key, 0) / total * 100, 1),
            text=shown(text, whole=whole, raw=True) if with_texts and allowed else None,
            by=(authors or {}).get(step.key, ""),
        )

    return sorted(map(piece, earlier), key=lambda found: not found.is_allowed)
