"""A run's timeline: every call on one line of time, what it waited for, and what the whole run waited for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from apps.audit import log
from apps.runs.models import Attempt, Proposal
from apps.web.run.calls_within import Rows, rows_of
from apps.web.run.lanes import Lane
from apps.web.run.lanes_of_run import Held, Lanes
from apps.web.run.standing import Standing
from apps.web.run.timescale import Scale, Stretch
from apps.web.words.looks import Look

HELD, LET_GO = "run.held", ("run.approved", "run.resumed", "run.excepted")
HELD_FOR = {"review": "held for review", "limit": "held at a limit", "pause": "paused", "rules": "held by rules"}


@dataclass(frozen=True)
class Group:
    """The lanes of one round; `number` is 0 where a run has but one."""

    number: int
    key: str
    verdict: str
    progress: str
    lanes: Sequence[Lane]


@dataclass(frozen=True)
class Hold:
    """A stretch in which the run was held."""

    start: float
    width: float
    words: str


class Timeline:
    """One run at one moment; with `cut` its long idle stretches are drawn short."""

    def __init__(self, standing: Standing, *, cut: bool) -> None:
        self.standing = standing
        self.run = standing.run
        self.now = standing.now
        self.is_cut = cut

    @cached_property
    def rows(self) -> Rows:
        return rows_of(self.run)

    @cached_property
    def scale(self) -> Scale:
        end = self.run.finished_at or self.now
        return Scale(self.run.created_at, end, self._busy(), cut=self.is_cut)

    @cached_property
    def held(self) -> list[Held]:
        """From when until when it was held, and for what."""
        found: list[Held] = []
        since: tuple[datetime, str] | None = None
        for event in log.read(self.run.trail, verbs=[HELD, *LET_GO]):
            if event.verb == HELD:
                since = (event.at, str(event.data.get("reason", "")))
            elif since is not None:
                found.append((since[0], event.at, since[1]))
                since = None
        return found if since is None else [*found, (since[0], self.run.finished_at or self.now, since[1])]

    @property
    def holds(self) -> list[Hold]:
        return [
            Hold(*self.scale.between(begin, end), words=HELD_FOR.get(reason, "held"))
            for begin, end, reason in self.held
        ]

    @cached_property
    def groups(self) -> list[Group]:
        """The lanes by round, as the outline groups the steps; in each the planning first."""
        made = Lanes(self.rows, self.scale, self.held, now=self.now, looks=self._looks)
        rounds = self.standing.rounds
        if len(rounds) < 2:
            return [Group(0, "", "", "", made.all())]
        return [
            Group(each.number, each.key, each.verdict, each.progress, made.of_round(each.number)) for each in rounds
        ]

    @property
    def lanes(self) -> list[Lane]:
        """All of them, those of nested runs behind the steps that became them."""
        return [lane for group in self.groups for each in group.lanes for lane in _with_inner(each)]

    def _busy(self) -> Iterator[Stretch]:
        for rows in self.rows.runs:
            calls: list[Attempt | Proposal] = [each for some in rows.attempts.values() for each in some]
            for call in [*calls, *rows.proposals]:
                yield call.started_at, call.finished_at or self.now

    @cached_property
    def _looks(self) -> Mapping[str, Look]:
        conductor = self.standing.whence.conductor
        known = {} if conductor is None else {conductor.slug: conductor}
        return known | self.standing.looks


def _with_inner(lane: Lane) -> list[Lane]:
    within = lane.inner.lanes if lane.inner else ()
    return [lane, *(each for inner in within for each in _with_inner(inner))]
