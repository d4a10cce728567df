"""A reply as it leaves: cut into tokens, stretched or shortened to a wished length, and counted."""

import re
from dataclasses import dataclass
from functools import cached_property

CHARS_PER_TOKEN = 4
LONGEST_DELTA = 4096  # characters in one delta when nothing is to be waited for

_TOKEN = re.compile(r"\s?\w{1,4}|\s?[^\w\s]|\s+")

_FILLER = (
    "This sentence only fills the reply to the length that was asked for. "
    "It was written by a simulated model and carries no information. "
    "A real model would go on with its working here, step by step. "
    "Nothing in this paragraph should be read as an answer. "
)


def tokens(text: str) -> list[str]:
    """The text in word pieces of about four characters; joined they give it back exactly."""
    return _TOKEN.findall(text)


def count(text: str) -> int:
    """How many tokens a prompt is charged for: its characters by four, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


@dataclass(frozen=True)
class Reply:
    """What a model says. `closing` is the part that keeps its place at the end when the length changes."""

    body: str
    closing: str = ""
    finish_reason: str = "stop"

    @cached_property
    def text(self) -> str:
        return self.body + self.closing

    @cached_property
    def pieces(self) -> list[str]:
        return tokens(self.text)

    @cached_property
    def bulk(self) -> list[str]:
        """The text in as few deltas as show that it streams: two, or more where one would be huge."""
        head = self.pieces[0] if self.pieces else ""
        rest = self.text[len(head) :]
        return [head, *(rest[i : i + LONGEST_DELTA] for i in range(0, len(rest), LONGEST_DELTA))] if head else []


def of_length(reply: Reply, wished: int | None) -> Reply:
    """The reply with exactly `wished` tokens, its closing kept where there is room for it."""
    if wished is None or wished == len(reply.pieces):
        return reply
    closing = tokens(reply.closing)
    room = wished - len(closing)
    if room < 0:
        return cut_to(reply, wished)
    body = tokens(reply.body)
    while len(body) < room:
        body += tokens(_FILLER)
    return Stretched(body="".join(body[:room]), closing=reply.closing, exact=(*body[:room], *closing))


@dataclass(frozen=True)
class Stretched(Reply):
    """A reply whose tokens are given: cutting its text anew could join the two at a seam."""

    exact: tuple[str, ...] = ()

    @cached_property
    def pieces(self) -> list[str]:
        return list(self.exact)


def cut_to(reply: Reply, limit: int | None) -> Reply:
    """The reply as `max_tokens` leaves it, saying so in its finish reason."""
    if limit is None or len(reply.pieces) <= limit:
        return reply
    kept = tuple(reply.pieces[:limit])
    return Stretched(body="".join(kept), finish_reason="length", exact=kept)
