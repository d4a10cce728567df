"""How like two answers are: the same as people mean it, and how much of their words they share."""

from .answers import final_answer, normalised
from .wording import Effort, compare


def is_same_answer(first: str, second: str) -> bool:
    """Whether two replies state the same answer, in the form in which a vote counts them."""
    return normalised(final_answer(first)) == normalised(final_answer(second))


def likeness(first: str, second: str) -> float:
    """How much of two texts is the same words in the same order, from 0 to 1; case and white space do not count.

    Twice what they share by what they have together (Ratcliff and Metzener). Of texts too long to be compared word by
    word it is the least that it can be.
    """
    first, second = _plain(first), _plain(second)
    if first == second:
        return 1.0
    pieces = compare(first, second, effort=Effort()).pieces
    shared = sum(len(text) for op, text in pieces if op == "same")
    return 2 * shared / (len(first) + len(second))


def _plain(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.casefold().splitlines())
    return "\n".join(line for line in lines if line)
