"""A lane for each call of a model: how long it queued, waited for its first token and was written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from apps.runs.models import Attempt, Proposal
from apps.web.run.timescale import Scale
from apps.web.words.figures import count, price, seconds
from apps.web.words.looks import Look

NOTHING = "–"
SEEN = 0.05  # percent: what is narrower is not drawn
WAITED = {"running": "running", "writing": "running", "valid": "succeeded", "invalid": "failed"}
IN_WORDS = {
    "queue": "queued",
    "first": "first token after",
    "stream": "wrote for",
    "call": "took",
    "going": "under way for",
}


@dataclass(frozen=True)
class Times:
    """The moments of one call. `ready` is when it could have been made, `first` when its first token came."""

    ready: datetime
    began: datetime | None
    first: datetime | None
    ended: datetime | None

    def parts(self, now: datetime, *, streams: bool) -> Iterator[tuple[str, datetime, datetime]]:
        """Its stretches, each with what it is: `queue`, `first`, `stream`; `call` where nothing was seen to stream.

        When the first token of a call came is kept with its end: until then all of it is `going`.
        """
        yield "queue", self.ready, self.began or now
        if self.began is None:
            return
        if self.ended is None:
            yield "going", self.began, now
        elif self.first is None or not streams:
            yield "call", self.began, self.ended
        else:
            first = min(self.first, self.ended)
            yield "first", self.began, first
            yield "stream", first, self.ended


@dataclass(frozen=True)
class Bar:
    """One stretch of a lane."""

    part: str
    start: float
    width: float
    ms: float


@dataclass(frozen=True)
class Lane:
    """One call, or a step that had none yet."""

    kind: str  # `plan` or `step`
    name: str
    title: str
    path: str  # what a click selects; empty for the plan
    state: str
    said: str  # the state in words
    look: Look | None
    attempt: int  # 0 where none was made
    bars: Sequence[Bar]
    began: str
    joined: float | None  # where the attempt before it ended,
    begins: float  # and where this one begins
    joins: float | None  # where it ends itself, if there is another after it
    is_critical: bool
    tokens: str
    cost: str
    inner: "Inner | None" = None

    @property
    def whole(self) -> str:
        """From when it could have begun to its end."""
        return seconds(sum(bar.ms for bar in self.bars)) if self.bars else NOTHING

    def took(self, *parts: str) -> str:
        ms = [bar.ms for bar in self.bars if bar.part in parts]
        return seconds(sum(ms)) if ms else NOTHING

    @property
    def queued(self) -> str:
        return self.took("queue")

    @property
    def waited(self) -> str:
        return self.took("first")

    @property
    def wrote(self) -> str:
        return self.took("stream", "call", "going")

    @property
    def words(self) -> str:
        """`done, queued 0.20 s, first token after 0.41 s, wrote for 1.8 s`"""
        told = [f"{IN_WORDS[bar.part]} {seconds(bar.ms)}" for bar in self.bars if bar.ms >= 1]
        return ", ".join([self.said, *told, *(["on the critical path"] if self.is_critical else [])])

    @property
    def drawn(self) -> list[Bar]:
        return [bar for bar in self.bars if bar.width >= SEEN]

    @property
    def outline(self) -> tuple[float, float] | None:
        """Around all of it but the queue: where it begins, and how wide it is."""
        made = [bar for bar in self.drawn if bar.part != "queue"]
        return (made[0].start, round(sum(bar.width for bar in made), 3)) if made else None

    @property
    def is_instant(self) -> bool:
        """It took no time that could be seen, and is marked where it happened."""
        return self.attempt > 0 and not any(bar.part != "queue" for bar in self.drawn)


@dataclass(frozen=True)
class Inner:
    """The run that a step became, with lanes of its own."""

    code: str
    path: str
    progress: str
    lanes: Sequence[Lane]


def bars_of(times: Times, scale: Scale, now: datetime, *, streams: bool = True) -> list[Bar]:
    """The stretches of one call on the line; empty ones are left out."""
    return [
        Bar(part, *scale.between(begin, end), ms=(end - begin).total_seconds() * 1000)
        for part, begin, end in times.parts(now, streams=streams)
        if end > begin
    ]


def times_of(call: Attempt | Proposal, ready: datetime) -> Times:
    """When a call was made, was first heard of and ended; `ready` is when it could have been."""
    first = None if call.ttft_ms is None else call.started_at + timedelta(milliseconds=call.ttft_ms)
    return Times(min(ready, call.started_at), call.started_at, first, call.finished_at)


def state_of(call: Attempt | Proposal) -> str:
    """The state as dots show it."""
    return WAITED.get(call.status, call.status)


def tokens_of(call: Attempt | Proposal) -> str:
    """What went in and came out: `120 + 34`."""
    if call.finished_at is None or not (call.input_tokens or call.output_tokens):
        return NOTHING
    return f"{'≈ ' if call.estimated else ''}{count(call.input_tokens)} + {count(call.output_tokens)}"


def cost_of(call: Attempt | Proposal) -> str:
    """What the call was billed."""
    if call.finished_at is None or call.status in ("reused", "written"):
        return NOTHING
    cost: Decimal | None = call.cost_usd
    if cost is None and not (call.input_tokens or call.output_tokens):
        return NOTHING
    return price(cost, estimated=call.estimated)
