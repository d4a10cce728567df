"""Two texts as one, for a page: what is only in the first, what is only in the second, and around it what both have."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from apps.workflows.wording import Difference, Effort, compare

FIRST_CHARS = 20_000
"""Characters of a text that are read for a page of many; of one that is looked at alone, `MOST_CHARS`."""
MOST_CHARS = 400_000

AROUND = 240  # characters kept around a change
SHOWN = 6_000
GLIMPSE = 600  # of a text that is the same in both, or has nothing beside it

GRAINS = {
    "words": "",
    "lines": "Too long to be compared word by word throughout: parts of it are compared line by line.",
    "whole": "Too long to be compared throughout: parts of it stand there whole, once as in A and once as in B.",
}

FURTHER_ON = "What differs lies further on than was read for this page."


@dataclass(frozen=True)
class Text:
    """A text as far as it was read. `mark` is a digest of the whole: two texts are the same if their marks are."""

    beginning: str = ""
    chars: int = 0
    mark: str = ""


NO_TEXT = Text()


@dataclass(frozen=True)
class Piece:
    """A stretch of text; of one that is `skipped`, which both have, how long it is."""

    op: Literal["same", "gone", "new", "skipped"]
    text: str
    chars: int = 0

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to be seen in it, so that something must stand for it."""
        return self.op != "same" and self.text.isspace()


@dataclass(frozen=True)
class Differing:
    """What a page shows of two texts."""

    pieces: Sequence[Piece]
    is_same: bool
    is_cut: bool  # there is more of it than is shown
    chars: tuple[int, int]
    note: str = ""

    @property
    def ends_with_gap(self) -> bool:
        return bool(self.pieces) and self.pieces[-1].op == "skipped"

    @property
    def is_empty(self) -> bool:
        return not any(self.chars)


def differing(a: Text, b: Text, *, effort: Effort, whole: bool = False) -> Differing:
    """What `b` has otherwise than `a`, with what stands around each change; all there is if `whole`."""
    chars = (a.chars, b.chars)
    if (a.mark, a.chars) == (b.mark, b.chars):
        return _glimpse(a, chars, whole=whole, is_same=True)
    found = compare(a.beginning, b.beginning, effort=effort)
    pieces = [Piece(op, text) for op, text in found.pieces] if whole else list(_shortened(found))
    shown = pieces if whole else list(_first(pieces, SHOWN))
    is_read = (len(a.beginning), len(b.beginning)) == chars
    is_cut = not is_read or any(piece.op == "skipped" for piece in shown) or shown != pieces
    note = FURTHER_ON if found.is_none else GRAINS[found.grain]
    return Differing(shown, is_same=False, is_cut=is_cut, chars=chars, note=note)


def alone(text: Text, *, whole: bool = False) -> Differing:
    """A text that has none beside it."""
    return _glimpse(text, (text.chars, text.chars), whole=whole, is_same=False)


def _glimpse(text: Text, chars: tuple[int, int], *, whole: bool, is_same: bool) -> Differing:
    shown = text.beginning if whole else text.beginning[:GLIMPSE]
    pieces = [Piece("same", shown)] if shown else []
    return Differing(pieces, is_same=is_same, is_cut=len(shown) < text.chars, chars=chars)


def _shortened(difference: Difference) -> Iterator[Piece]:
    """The pieces, without the middle of what is long and the same."""
    last = len(difference.pieces) - 1
    for at, (op, text) in enumerate(difference.pieces):
        if op != "same":
            yield Piece(op, text)
            continue
        head, tail = (AROUND if at > 0 else 0), (AROUND if at < last else 0)
        if len(text) <= 2 * AROUND:
            yield Piece(op, text)
            continue
        if head:
            yield Piece("same", text[:head])
        yield Piece("skipped", "", chars=len(text) - head - tail)
        if tail:
            yield Piece("same", text[-tail:])


def _first(pieces: Iterable[Piece], most: int) -> Iterator[Piece]:
    """The pieces up to `most` characters, the last of them cut."""
    for piece in pieces:
        if most <= 0:
            return
        yield piece if len(piece.text) <= most else Piece(piece.op, piece.text[:most])
        most -= len(piece.text)
