"""Whether trails still are what was sealed: lines, the texts they name, the columns beside them, ends, and anchors.

Everything is computed again here, in Python, from what the database returns; nothing it says about itself is believed.
Whoever owns the database can rewrite a trail from its first event to its head: anchors tell, whose signatures need a
key that is not in it, and for certain those that were kept elsewhere.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apps.audit import chain, signing
from apps.audit.anchored import Kept, Keys, Source, Span
from apps.audit.chain import Break
from apps.audit.missing import missing_trails
from apps.audit.models import Anchor, Trail
from apps.audit.payloads import Texts
from apps.audit.pinned import TRAIL
from apps.audit.pins import Pins
from apps.audit.rows import Portion, Row, Scope, pages
from apps.audit.walking import Content, TrailWalk, Verified, parsed

__all__ = ["Found", "Tally", "TrailBreak", "Verified", "verify", "verify_trails"]

MOST_BREAKS = 50  # that are named; all are counted
END = 2**63 - 1  # beyond every place


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

    def add(self, found: Verified) -> None:
        self.trails += 1
        self.events += found.events

    def tell(self, broken: TrailBreak) -> None:
        self.broken += 1
        if len(self.breaks) < MOST_BREAKS:
            self.breaks.append(broken)


@dataclass
class Found:
    """What verifying many trails found, by project; `anchor` is the newest that was there when it began, or none."""

    anchor: Anchor | None
    by_project: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    _again: int = 0  # how often a break was told to one more project

    def tell(self, broken: TrailBreak, projects: Collection[str]) -> None:
        """Tell each of `projects` of one break, which is one for all together."""
        for project in projects:
            self.by_project[project].tell(broken)
        self._again += len(projects) - 1

    @property
    def whole(self) -> Tally:
        """All projects together."""
        tallies = list(self.by_project.values())
        return Tally(
            trails=sum(tally.trails for tally in tallies),
            events=sum(tally.events for tally in tallies),
            broken=sum(tally.broken for tally in tallies) - self._again,
            breaks=list(dict.fromkeys(found for tally in tallies for found in tally.breaks))[:MOST_BREAKS],
        )


def verify(trail: str) -> Verified:
    """Re-compute a trail from its first event and name the first place where it does not hold.

    A text that was erased, and an event says so, is no break: its digest stays sealed. It is held against the anchors
    that are found beside it; that none was taken away there is told by `verify_trails`, which looks at all of them.
    """
    walked: list[Verified] = []
    _walk(Scope(trail=trail), [_kept()], lambda row, found: walked.append(found))
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

    The trail of anchors is walked whatever the scope. What is wrong there concerns every project: what was changed, or
    stands behind the change, may have named any trail.
    """
    found = Found(Anchor.objects.defer("at").order_by("-seq").first())
    kept = _kept(keys)
    sources: list[Source] = [kept, *([pins] if pins else [])]
    own: list[Verified] = []

    def done(row: Row, walked: Verified) -> None:
        found.by_project[row.trail_project].add(walked)
        if row.trail == TRAIL:
            own.append(walked)
        elif broken := walked.first_break:
            found.tell(TrailBreak(row.trail, broken.seq, broken.reason), [row.trail_project])

    _walk(scope, sources, done, lambda: progress(found))
    if not own:
        _walk(Scope(trail=TRAIL), sources, lambda row, walked: own.append(walked), lambda: progress(found))
    for missing in missing_trails(scope, newest=kept.newest, pins=pins):
        found.tell(TrailBreak(missing.trail, missing.seq, missing.reason), missing.projects)
    for broken in _breaks_of_anchors(own, found.anchor):
        found.tell(broken, _concerned(scope, found))
    if pins:
        for line, fault in pins.faults:
            found.tell(TrailBreak(pins.path.name, line, f"line {line} {fault}"), [scope.project or ""])
    return found


def _kept(keys: Keys | None = None) -> Kept:
    """The anchors there are now: as many as were signed, or as were sealed, whichever are more."""
    signed = Anchor.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
    sealed = Trail.objects.filter(name=TRAIL).values_list("head_seq", flat=True).first() or 0
    return Kept(signing.public_keys() if keys is None else keys, newest=max(signed, sealed))


def _breaks_of_anchors(own: Sequence[Verified], newest: Anchor | None) -> Iterator[TrailBreak]:
    for walked in own:
        if walked.first_break:
            yield TrailBreak(TRAIL, walked.first_break.seq, walked.first_break.reason)
    if newest and not own:
        yield TrailBreak(TRAIL, 1, f"the trail is gone, and the signature of anchor {newest.seq} is still there")


def _concerned(scope: Scope, found: Found) -> Collection[str]:
    """Every project of which something is told, and the studio as a whole where all trails are."""
    return {"", *found.by_project} if scope.project is None else {scope.project}


# --- along the trails ----------------------------------------------------------------------------------------------


def _walk(
    scope: Scope,
    sources: Sequence[Source],
    done: Callable[[Row, Verified], None],
    progress: Callable[[], None] = lambda: None,
) -> None:
    walk = TrailWalk("")
    for page in pages(scope):
        contents = [[parsed(row.line) for row in portion.rows] for portion in page]
        texts = Texts.of(_naming(page, contents))
        spans = [_span(portion, after=walk.chain.seq if portion.end.trail == walk.trail else 0) for portion in page]
        expected = [source.expected(spans) for source in sources]
        for portion, lines in zip(page, contents, strict=True):
            name = portion.end.trail
            if walk.trail != name:
                walk = TrailWalk(name)
            walk.expect(named for each in expected for named in each.get(name, ()))
            walk.go(portion.rows, lines, texts)
            if portion.is_last:
                done(portion.end, walk.end(portion.end))
        progress()


def _naming(page: Sequence[Portion], contents: Sequence[Sequence[Content]]) -> Iterator[tuple[Row, Mapping[str, str]]]:
    for portion, lines in zip(page, contents, strict=True):
        for row, content in zip(portion.rows, lines, strict=True):
            yield row, chain.texts_in(content)


def _span(portion: Portion, *, after: int) -> Span:
    """The stretch of a trail that a portion is to be held against: the last one answers for all that should follow."""
    return Span(portion.end.trail, after + 1, END if portion.is_last else portion.rows[-1].seq)
