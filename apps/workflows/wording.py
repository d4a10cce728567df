"""What differs between two texts, word by word; where they are too long for that, line by line, and that is said.

The longest common stretch of words is found first, then those on either side of it (Ratcliff and Metzener, as in
`difflib`). That takes time by the product of the lengths where words repeat, so every search is weighed before it is
made, and what an `Effort` does not reach for is left as replaced.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal

Op = Literal["same", "gone", "new"]
Grain = Literal["words", "lines", "whole"]

ENOUGH = 6_000_000
"""Places looked at for one difference: about half a second."""

# Scripts that are written without spaces between the words: every sign is a word.
SPACELESS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# A word has the gap before it: a gap by itself would be found everywhere, and the same words would be found in pieces.
WORD = re.compile(rf"\s*(?:[{SPACELESS}]|\d[\d.,]*\d|[^\W{SPACELESS}]+|[^\w\s])|\s+")
CRUMB = 16


@dataclass
class Effort:
    """How many places may still be looked at. One can be shared by all the texts of a page."""

    left: int = ENOUGH

    def spend(self, places: int) -> bool:
        """Whether it reaches for so many places more; they are taken off if it does."""
        if places > self.left:
            return False
        self.left -= places
        return True


@dataclass(frozen=True)
class Difference:
    """Pieces of two texts in order: the same and the gone make up the first text, the same and the new the second.

    `grain` is the coarsest way in which a part of them was compared: by words, by lines, or not at all.
    """

    pieces: tuple[tuple[Op, str], ...]
    grain: Grain = "words"

    @property
    def is_none(self) -> bool:
        return all(op == "same" for op, _ in self.pieces)

    @property
    def first(self) -> str:
        return "".join(text for op, text in self.pieces if op != "new")

    @property
    def second(self) -> str:
        return "".join(text for op, text in self.pieces if op != "gone")


@dataclass(frozen=True)
class Hunk:
    """A change, and the stretch that is the same behind it."""

    gone: str
    new: str
    same: str

    @property
    def size(self) -> int:
        return max(len(self.gone), len(self.new))


Match = tuple[int, int, int]  # where it begins in either, and how long it is


def words(text: str) -> list[str]:
    """The words and signs of `text`, each with the gap before it, which joined are `text` again."""
    return WORD.findall(text)


def compare(first: str, second: str, *, effort: Effort | None = None) -> Difference:
    """What was taken out of `first` and put in to make `second`.

    Lines that are the same are found first, then words within what lies between them.
    """
    effort = effort or Effort()
    if first == second:
        return Difference((("same", first),) if first else ())
    a, b = first.splitlines(keepends=True), second.splitlines(keepends=True)
    lines, is_read = _matches(a, b, effort)
    coarsest: Grain = "words"
    hunks: list[Hunk] = []
    for hunk in _tidied(_hunks(a, b, lines)):
        within, is_done = _in_words(hunk, effort)
        if not is_done:
            coarsest = "lines" if is_read else "whole"
        hunks += [*within, Hunk("", "", hunk.same)]
    return Difference(_pieces(hunks), coarsest)


def _in_words(hunk: Hunk, effort: Effort) -> tuple[list[Hunk], bool]:
    """A change as changes of words; as it is where the effort does not reach, or where there is nothing to compare."""
    a, b = words(hunk.gone), words(hunk.new)
    if not a or not b:
        return [Hunk(hunk.gone, hunk.new, "")], True
    matches, is_done = _matches(a, b, effort)
    return (_tidied(_hunks(a, b, matches)), True) if is_done else ([Hunk(hunk.gone, hunk.new, "")], False)


# --- searching -----------------------------------------------------------------------------------------------------


def _matches(a: Sequence[str], b: Sequence[str], effort: Effort) -> tuple[list[Match], bool]:
    """The stretches that `a` and `b` have in common, in order, and whether the effort reached for all of them."""
    head, tail = _common_ends(a, b)
    search = SequenceMatcher(None, a, b, autojunk=False)
    # One search looks at every place in b of every word of its range of a; these are their sums from the beginning.
    places = Counter(b)
    weight = list(accumulate((1 + places[word] for word in a), initial=0))
    found: list[Match] = [(0, 0, head), (len(a) - tail, len(b) - tail, tail)]
    ranges = deque([(head, len(a) - tail, head, len(b) - tail)])
    is_done = True
    while ranges:
        a_from, a_to, b_from, b_to = ranges.popleft()
        if a_from >= a_to or b_from >= b_to:
            continue
        if not effort.spend(weight[a_to] - weight[a_from]):
            is_done = False
            continue
        i, j, length = search.find_longest_match(a_from, a_to, b_from, b_to)
        if length:
            found.append((i, j, length))
            ranges += [(a_from, i, b_from, j), (i + length, a_to, j + length, b_to)]
    return sorted(match for match in found if match[2]), is_done


def _common_ends(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """How many of the first are the same in both, and how many of the last of what then remains."""
    shorter = min(len(a), len(b))
    head = next((at for at in range(shorter) if a[at] != b[at]), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if a[-1 - at] != b[-1 - at]), rest)
    return head, tail


# --- pieces --------------------------------------------------------------------------------------------------------


def _hunks(a: Sequence[str], b: Sequence[str], matches: Sequence[Match]) -> Iterator[Hunk]:
    at_a = at_b = 0
    for i, j, length in [*matches, (len(a), len(b), 0)]:
        yield Hunk("".join(a[at_a:i]), "".join(b[at_b:j]), "".join(a[i : i + length]))
        at_a, at_b = i + length, j + length


def _tidied(hunks: Iterable[Hunk]) -> list[Hunk]:
    """Without the crumbs: a word or two in common amid what was rewritten is nobody's notion of the same."""
    kept: list[Hunk] = []
    for hunk in hunks:
        if kept and (crumb := kept[-1].same) and len(crumb) <= min(CRUMB, kept[-1].size, hunk.size):
            last = kept.pop()
            hunk = Hunk(last.gone + crumb + hunk.gone, last.new + crumb + hunk.new, hunk.same)
        kept.append(hunk)
    return kept


def _pieces(hunks: Iterable[Hunk]) -> tuple[tuple[Op, str], ...]:
    """The hunks as pieces: what was taken out stands before what came instead."""
    pieces: list[tuple[Op, str]] = []
    before = ""
    for hunk in _joined(hunks):
        gap = _common_gap(hunk)
        gone, new = hunk.gone[len(gap) :], hunk.new[len(gap) :]
        ops: tuple[tuple[Op, str], ...] = (("same", before + gap), ("gone", gone), ("new", new))
        pieces += [(op, text) for op, text in ops if text]
        before = hunk.same
    return (*pieces, ("same", before)) if before else tuple(pieces)


def _common_gap(hunk: Hunk) -> str:
    """The gap that both the old words and the new ones begin with."""
    begun = hunk.gone[: _common_ends(hunk.gone, hunk.new)[0]]
    return begun[: len(begun) - len(begun.lstrip())]


def _joined(hunks: Iterable[Hunk]) -> list[Hunk]:
    """Changes with nothing between them as one, and so are stretches with no change between them."""
    joined: list[Hunk] = []
    for hunk in hunks:
        last = joined[-1] if joined else Hunk("", "", "")
        if not last.same:
            joined[-1:] = [Hunk(last.gone + hunk.gone, last.new + hunk.new, hunk.same)]
        elif not hunk.size:
            joined[-1:] = [Hunk(last.gone, last.new, last.same + hunk.same)]
        else:
            joined.append(hunk)
    return joined
