"""A walk along one trail: its chain, the columns beside its lines, the texts they name, and what anchors say of it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apps.audit import chain
from apps.audit.anchored import Named
from apps.audit.chain import Break, Sealed
from apps.audit.payloads import Texts
from apps.audit.rows import Row

COLUMNS = ("trail", "seq", "at", "verb", "subject", "project")  # that repeat parts of the line, beside the actor's
Content = dict[str, Any]


@dataclass(frozen=True)
class Verified:
    """What re-computing a trail found: how many events hold, the last hash that was reached, and the first break."""

    events: int
    head: str
    first_break: Break | None


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
                or texts.break_of(row, chain.texts_in(content))
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


def parsed(line: str) -> Content:
    """The line as an event; nothing where it is none, which the walk will say."""
    try:
        content = chain.parsed(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


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
