"""What the anchors of the database say that trails must contain, and what is wrong with these anchors themselves.

Each of them is checked before it is believed: its hash, its signature, and that its line names what is said of it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db import connection

from apps.audit import signing
from apps.audit.models import AnchoredHead
from apps.audit.pinned import TRAIL, Head, Pinned

Keys = Mapping[str, Ed25519PublicKey]
KEPT_PARSED = 256  # anchors of which the heads are held in memory


@dataclass(frozen=True)
class Named:
    """That an anchor names an event of a trail: by its hash, and with what is wrong with the anchor, if anything is."""

    seq: int
    hash: str
    anchor: str  # in words
    fault: str = ""


class Span(NamedTuple):
    """A stretch of a trail, both ends included."""

    trail: str
    first: int
    last: int


Expected = Mapping[str, Sequence[Named]]
"""By trail, in the order of their places."""


class Source(Protocol):
    """Somewhere that anchors are kept."""

    def expected(self, spans: Sequence[Span]) -> Expected:
        """What its anchors say of these stretches, one of a trail."""
        ...


def fault_of(pinned: Pinned, keys: Keys) -> str:
    """What is wrong with an anchor, in words that follow “anchor 7”; empty where it holds.

    Without any key its signature is left unchecked: then it is only as good as where it was kept.
    """
    if not pinned.is_whole:
        return "is not what was sealed: its text or its hash was changed"
    if keys and pinned.key not in keys:
        return "is signed with a key that is not the studio's"
    if keys and not signing.is_signed(signing.ANCHOR, pinned.hash, signature=pinned.signature, key=keys[pinned.key]):
        return "does not bear the studio's signature"
    return ""


# The signed events in order, each with the hash before it.
PINNED = """
    SELECT anchor.seq, coalesce(before.hash, repeat('0', 64)), event.line, anchor.hash, anchor.key_id, anchor.signature
    FROM audit_anchor AS anchor
    JOIN audit_trail AS trail ON trail.name = 'anchors'
    JOIN audit_event AS event ON event.trail_id = trail.id AND event.seq = anchor.seq
    LEFT JOIN audit_event AS before ON before.trail_id = trail.id AND before.seq = anchor.seq - 1
"""

# Every event of the trail of anchors beside its signature: whatever stands on one side alone is at fault.
OWN = """
    SELECT coalesce(event.seq, anchor.seq), coalesce(before.hash, repeat('0', 64)), event.line,
           anchor.hash, anchor.key_id, anchor.signature, anchor.project,
           to_char(anchor.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')
    FROM (SELECT * FROM audit_anchor WHERE seq BETWEEN %(first)s AND %(last)s) AS anchor
    FULL JOIN (
        SELECT event.trail_id, event.seq, event.line
        FROM audit_trail AS trail JOIN audit_event AS event ON event.trail_id = trail.id
        WHERE trail.name = 'anchors' AND event.seq BETWEEN %(first)s AND %(last)s
    ) AS event ON event.seq = anchor.seq
    LEFT JOIN audit_event AS before ON before.trail_id = event.trail_id AND before.seq = event.seq - 1
    ORDER BY 1
"""

HEADS = """
    SELECT head.trail, head.seq, head.hash, head.anchor_id
    FROM unnest(%(trails)s::text[], %(firsts)s::bigint[], %(lasts)s::bigint[]) AS span (trail, first, last)
    JOIN audit_anchoredhead AS head ON head.trail = span.trail AND head.seq BETWEEN span.first AND span.last
    WHERE head.anchor_id <= %(newest)s
    ORDER BY head.trail, head.seq
"""


# --- those in the database -----------------------------------------------------------------------------------------


@dataclass
class Kept:
    """The anchors of the database, up to one; those that are newer may name events that the reader has not seen."""

    keys: Keys
    newest: int
    _parsed: dict[int, "_Parsed"] = field(default_factory=dict)

    def expected(self, spans: Sequence[Span]) -> Expected:
        others = [span for span in spans if span.trail != TRAIL]
        given: dict[str, Any] = {"trails": [each.trail for each in others], "firsts": [each.first for each in others]}
        with connection.cursor() as cursor:
            cursor.execute(HEADS, given | {"lasts": [each.last for each in others], "newest": self.newest})
            rows = [(Head(trail, seq, hash_), anchor) for trail, seq, hash_, anchor in cursor.fetchall()]
        self._parse({anchor for _, anchor in rows})
        expected = defaultdict(list)
        for head, anchor in rows:
            expected[head.trail].append(Named(head.seq, head.hash, f"anchor {anchor}", self._fault(head, anchor)))
        for span in spans:
            if span.trail == TRAIL:
                expected[TRAIL] = self._own(span)
        return expected

    def _fault(self, head: Head, anchor: int) -> str:
        parsed = self._parsed.get(anchor)
        if parsed is None:
            return f"anchor {anchor}, which names event {head.seq}, is gone"
        if parsed.fault:
            return f"anchor {anchor}, which names event {head.seq}, {parsed.fault}"
        if head not in parsed.heads:
            return f"what is kept of anchor {anchor} about event {head.seq} is not in its line"
        return ""

    def _parse(self, anchors: set[int]) -> None:
        if missing := anchors - self._parsed.keys():
            if len(self._parsed) > KEPT_PARSED:
                self._parsed = {seq: parsed for seq, parsed in self._parsed.items() if seq in anchors}
            for pinned in pinned_at(list(missing)):
                self._parsed[pinned.seq] = _Parsed.of(pinned, self.keys)

    def _own(self, span: Span) -> list[Named]:
        """What the signatures say of the trail of anchors itself, each of whose events must bear one."""
        with connection.cursor() as cursor:
            cursor.execute(OWN, {"first": span.first, "last": min(span.last, self.newest)})
            rows = cursor.fetchall()
        kept = _heads_beside([seq for seq, *_ in rows])
        named = []
        for seq, prev, line, hash_, key, signature, *beside in rows:
            fault = ""
            if hash_ is None:
                fault = "bears no signature: it was taken away"
            elif line is not None:  # else its event is gone, which the walk says
                fault = self._own_fault(Pinned(seq, prev, line, hash_, key, signature), beside, kept[seq])
            named.append(Named(seq, hash_ or "", f"anchor {seq}", fault and f"anchor {seq} {fault}"))
        return named

    def _own_fault(self, pinned: Pinned, beside: Sequence[str], heads: Collection[Head]) -> str:
        """What is wrong with an anchor, or with what is kept beside its line, by which other trails find it."""
        if fault := fault_of(pinned, self.keys):
            return fault
        try:
            if heads != set(pinned.heads):
                return "names other heads in its line than are kept beside it"
            for name, kept in zip(("project", "at"), beside, strict=True):
                if kept != pinned.content[name]:
                    word = "time" if name == "at" else name
                    return f"names another {word} in its line than is kept beside it"
        except (ValueError, KeyError):
            return "is no anchor's event"
        return ""


@dataclass(frozen=True)
class _Parsed:
    fault: str
    heads: Collection[Head]

    @classmethod
    def of(cls, pinned: Pinned, keys: Keys) -> "_Parsed":
        fault = fault_of(pinned, keys)
        try:
            return cls(fault, frozenset() if fault else frozenset(pinned.heads))
        except ValueError:
            return cls("is no anchor's event", frozenset())


def pinned_at(anchors: Sequence[int]) -> list[Pinned]:
    """The anchors at these places, as far as both they and their events are there."""
    with connection.cursor() as cursor:
        cursor.execute(PINNED + "WHERE anchor.seq = ANY(%s) ORDER BY anchor.seq", [list(anchors)])
        return [Pinned(*row) for row in cursor.fetchall()]


def _heads_beside(anchors: Sequence[int]) -> Mapping[int, set[Head]]:
    kept: dict[int, set[Head]] = defaultdict(set)
    rows = AnchoredHead.objects.filter(anchor__in=anchors).values_list("anchor_id", "trail", "seq", "hash")
    for anchor, trail, seq, hash_ in rows:
        kept[anchor].add(Head(trail, seq, hash_))
    return kept
