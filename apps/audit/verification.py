"""Whether trails still are what was sealed: lines, the texts they name, the columns beside them, ends, and anchors.

Everything is computed again here, in Python, from what the database returns; nothing it says about itself is believed.
Whoever owns the database can rewrite a trail from its first event to its head: anchors tell, whose signatures need a
key that is not in it, and for certain those that were kept elsewhere.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.audit import chain, signing
from apps.audit.anchored import Kept, Keys, Named, Pins, Source, Span
from apps.audit.chain import Break, Sealed
from apps.audit.missing import missing_trails
from apps.audit.models import Anchor
from apps.audit.payloads import Texts
from apps.audit.rows import Portion, Row, Scope, pages

MOST_BREAKS = 50  # that are named; all are counted
END = 2**63 - 1  # beyond every place
COLUMNS = ("trail", "seq", "at", "verb", "subject", "project")  # that repeat parts of the line, beside the actor's
Content = dict[str, Any]


@dataclass(frozen=True)
class Verified:
    """What re-computing a trail found: how many events hold, the last hash that was reached, and the first break."""

    events: int
    head: str
    first_break: Break | None


@dataclass(frozen=True)
class TrailBreak:
    """The first place where a trail does not hold."""

    trail: str
    seq: int
    reason: str


@dataclass
class Tally:
    """What was found in the trails of one project: trails looked at, events that hold, and what does not."""

    trails: int = 0
    events: int = 0
    broken: int = 0
    breaks: list[TrailBreak] = field(default_factory=list)

    def add(self, trail: str, found: Verified) -> None:
        self.trails += 1
        self.events += found.events
        if found.first_break:
            self.tell(TrailBreak(trail, found.first_break.seq, found.first_break.reason))

    def tell(self, broken: TrailBreak) -> None:
        self.broken += 1
        if len(self.breaks) < MOST_BREAKS:
            self.breaks.append(broken)


@dataclass
class Found:
    """What verifying many trails found, by project; `anchor` is the newest that was there when it began, or none."""

    anchor: Anchor | None
    by_project: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    @property
    def whole(self) -> Tally:
        """All projects together."""
        tallies = list(self.by_project.values())
        return Tally(
            trails=sum(tally.trails for tally in tallies),
            events=sum(tally.events for tally in tallies),
            broken=sum(tally.broken for tally in tallies),
            breaks=[found for tally in tallies for found in tally.breaks][:MOST_BREAKS],
        )


def verify(trail: str) -> Verified:
    """Re-compute a trail from its first event and name the first place where it does not hold.

    A text that was erased, and an event says so, is no break: its digest stays sealed.
    """
    walked: list[Verified] = []
    _walk(Scope(trail=trail), [_kept(_newest())], lambda row, found: walked.append(found))
    if walked:
        return walked[0]
    return Verified(events=0, head=chain.GENESIS, first_break=Break(1, f"there is no trail {trail}"))


def verify_trails(
    scope: Scope,
    *,
    keys: Keys | None = None,
    pins: Pins | None = None,
    progress: Callable[[Found], None] = lambda found: None,
) -> Found:
    """Verify the trails in scope against the anchors of the database and, where some were kept elsewhere, `pins`.

    Signatures are believed of `keys`, the studio's own unless others are given. A trail that is broken is looked at no
    further; the others are. `progress` is told every few thousand events.
    """
    newest = _newest()
    found = Found(newest)
    sources: list[Source] = [_kept(newest, keys), *([pins] if pins else [])]

    def done(row: Row, walked: Verified) -> None:
        found.by_project[row.trail_project].add(row.trail, walked)

    _walk(scope, sources, done, lambda: progress(found))
    for project, broken in missing_trails(scope, newest=newest, pins=pins):
        found.by_project[project].tell(TrailBreak(*broken))
    if pins:
        for line, fault in pins.faults:
            found.by_project[scope.project or ""].tell(TrailBreak(pins.path.name, line, f"line {line} {fault}"))
    return found


def _newest() -> Anchor | None:
    return Anchor.objects.order_by("-seq").first()


def _kept(newest: Anchor | None, keys: Keys | None = None) -> Kept:
    return Kept(signing.public_keys() if keys is None else keys, newest=newest.seq if newest else 0)


# --- along the trails ----------------------------------------------------------------------------------------------


def _walk(
    scope: Scope,
    sources: Sequence[Source],
    done: Callable[[Row, Verified], None],
    progress: Callable[[], None] = lambda: None,
) -> None:
    walk = TrailWalk("")
    for page in pages(scope):
        contents = [[_parsed(row.line) for row in portion.rows] for portion in page]
        texts = Texts.of(_naming(page, contents))
        spans = [_span(portion, after=walk.chain.seq if portion.end.trail == walk.trail else 0) for portion in page]
        expected = [source.expected(spans) for source in sources]
        for portion, parsed in zip(page, contents, strict=True):
            name = portion.end.trail
            if walk.trail != name:
                walk = TrailWalk(name)
            walk.expect(named for each in expected for named in each.get(name, ()))
            walk.go(portion.rows, parsed, texts)
            if portion.is_last:
                done(portion.end, walk.end(portion.end))
        progress()


def _naming(page: Sequence[Portion], contents: Sequence[Sequence[Content]]) -> Iterator[tuple[Row, Mapping[str, str]]]:
    for portion, parsed in zip(page, contents, strict=True):
        for row, content in zip(portion.rows, parsed, strict=True):
            yield row, _named(content)


def _span(portion: Portion, *, after: int) -> Span:
    """The stretch of a trail that a portion is to be held against: the last one answers for all that should follow."""
    return Span(portion.end.trail, after + 1, END if portion.is_last else portion.rows[-1].seq)


class TrailWalk:
    """A walk along one trail, which stops at the first place that does not hold."""

    def __init__(self, trail: str) -> None:
        self.trail = trail
        self.chain = chain.Walk()
        self.found: Break | None = None
        self.named: dict[int, list[Named]] = {}

    def expect(self, named: Iterable[Named]) -> None:
        """What anchors say of the events that come next."""
        self.named = defaultdict(list)
        for each in named:
            self.named[each.seq].append(each)

    def go(self, rows: Sequence[Row], contents: Sequence[Content], texts: Texts) -> None:
        """Go on along `rows`, with their lines parsed and their texts read."""
        for row, content in zip(rows, contents, strict=True):
            if self.found:
                return
            self.found = (
                self.chain.step(Sealed(row.seq, row.line, row.hash))
                or _break_of_columns(row, content)
                or texts.break_of(row, _named(content))
                or self._break_of_anchors(row)
            )

    def _break_of_anchors(self, row: Row) -> Break | None:
        for named in self.named.pop(row.seq, ()):
            if named.fault:
                return Break(row.seq, named.fault)
            if named.hash != row.hash:
                anew = "it, or one before it, was sealed anew" if row.seq > 1 else "it was sealed anew"
                return Break(row.seq, f"event {row.seq} is not the one that {named.anchor} names: {anew}")
        return None

    def end(self, end: Row) -> Verified:
        """What was found, now that no event follows."""
        found = self.found or self.chain.end(head_seq=end.head_seq, head_hash=end.head_hash) or self._break_behind()
        events = min(found.seq - 1, self.chain.seq) if found else self.chain.seq
        return Verified(events=events, head=self.chain.hash, first_break=found)

    def _break_behind(self) -> Break | None:
        """An event that an anchor names, and that is no more."""
        missing = min(self.named, default=None)
        if missing is None:
            return None
        [named, *_] = self.named[missing]
        return Break(
            self.chain.seq + 1,
            named.fault
            or f"the end is cut off: event {self.chain.seq} is the last, and {named.anchor} names event {missing}",
        )


# --- at one event --------------------------------------------------------------------------------------------------


def _parsed(line: str) -> Content:
    """The line as an event; nothing where it is none, which the walk will say."""
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _named(content: Content) -> Mapping[str, str]:
    """The texts an event names; none where its line is no event."""
    texts = content.get("texts")
    return {name: str(digest) for name, digest in texts.items()} if isinstance(texts, dict) else {}


def _break_of_columns(row: Row, content: Content) -> Break | None:
    """A column that says something else than the line would show a filter what never happened."""
    try:
        actor = content["actor"]
        told = (*(content[name] for name in COLUMNS), (actor["kind"], actor["id"], actor["label"]))
        content["data"], content["texts"].items()
    except (KeyError, TypeError, AttributeError):
        return Break(row.seq, f"event {row.seq} is sealed, but its line is no event")
    beside = (row.trail, row.seq, row.at, row.verb, row.subject, row.project)
    actor_beside = (row.actor_kind, row.actor_id, row.actor_label)
    if told == (*beside, actor_beside):
        return None
    pairs = zip((*COLUMNS, "actor"), told, (*beside, actor_beside), strict=True)
    name = next(name for name, one, other in pairs if one != other)
    word = "time" if name == "at" else name
    return Break(row.seq, f"the {word} beside event {row.seq} is not the one in its line")
