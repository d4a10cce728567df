"""How many things a text asks for, so that nobody takes the answer to one of them for the answer to all."""

import re

_QUESTION = re.compile(r"[^.?!]*(?:\.(?=\d)[^.?!]*)*\?")  # a point before a digit ends no sentence
_INTERROGATIVE = (
    r"(?:by|in|on|at|to|from|for|of|with)?\s*\b(?:which|who|whom|whose|what|when|where|why|how)\b(?:\s+(?:much|many))?"
)
_BEGINS = re.compile(rf"(?:^|[\n,;:]|\band\b|\bor\b|\bthen\b)\s*({_INTERROGATIVE})", re.I)
# What belongs to the question before it: who is ahead, and by how much.
_RIDER = re.compile(
    r"by\s+(?:how|what)|how\s+(?:much|many)\s+(?:more|less|fewer|longer|shorter|heavier|lighter|larger|smaller)\b", re.I
)
_ELLIPSIS = re.compile(r"^\s*(?:and|or)\b", re.I)  # "And of France?"
_TASKS = re.compile(
    r"(?:\band|,|;|\bthen)\s+(?:count|reverse|sort|convert|explain|translate|compare|rank|describe|draw|justify|"
    r"compute|calculate)\b|(?<=[.!])\s+(?:explain|justify|describe|translate)\b",
    re.I,
)
_AGAIN = re.compile(r"\b(of|to)\s+(?:the\s+)?\w+(?:\s\w+)?\s*,?\s+and\s+(?:also\s+)?\1\s+\w", re.I)


def questions_in(text: str) -> int:
    """The questions in `text`, those that belong to the one before not counted."""
    return sum(map(_mains, _QUESTION.findall(text)))


def _mains(sentence: str) -> int:
    begins = list(_BEGINS.finditer(sentence))
    mains = [match for match in begins if not _RIDER.match(sentence[match.start(1) :].lstrip())]
    return 1 if not begins and _ELLIPSIS.match(sentence) else len(mains)


def has_second_task(text: str) -> bool:
    """Whether something else is to be done besides, as in "reverse the word and count its vowels"."""
    return bool(_TASKS.search(text))


def asks_again(text: str) -> bool:
    """Whether the same is asked of a second thing, as in "the capital of Japan and of France"."""
    return bool(_AGAIN.search(text))
