"""What an export is made of, read from the database: which trails, from where to where, with which texts and anchors.

Where each trail begins and ends is laid down first, in 24 bytes a trail; all else is read a page at a time while it is
handed on. Events do not change, so no transaction is held over a long download, and no connection between two pages: a
reader with a slow line costs the studio nothing. docs/adr/0018 says why.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal

from django.db.models import Q

from apps.audit import chain
from apps.audit.exporting import holding
from apps.audit.exporting.reading import give_back, rows_of
from apps.audit.exporting.writer import Line, Part, Text
from apps.audit.models import Trail
from apps.audit.pinned import TRAIL as ANCHORS
from apps.audit.pinned import Pinned

TRAILS_AT_ONCE = 500
EVENTS_AT_ONCE = 500
TEXTS_AT_ONCE = 32  # a text can have megabytes

# A part's ends: the hash that its first event follows, and its last one's. The trail's own head is believed over the
# event that should be it, so that one that was sealed anew is found.
ENDS = """
    SELECT trail.name, part.first, part.last, coalesce(before.hash, repeat('0', 64)),
        CASE WHEN trail.head_seq = part.last THEN trail.head_hash ELSE coalesce(final.hash, '') END
    FROM unnest(%(ids)s::bigint[], %(firsts)s::bigint[], %(lasts)s::bigint[]) WITH ORDINALITY
        AS part(trail, first, last, place)
    JOIN audit_trail AS trail ON trail.id = part.trail
    LEFT JOIN audit_event AS before ON before.trail_id = part.trail AND before.seq = part.first - 1
    LEFT JOIN audit_event AS final ON final.trail_id = part.trail AND final.seq = part.last
    ORDER BY part.place
"""

# A subquery with an order of its own is not taken apart: so each slice is one walk along the index.
EVENTS = """
    SELECT trail.name, event.seq, event.hash, event.line
    FROM unnest(%(ids)s::bigint[], %(firsts)s::bigint[], %(lasts)s::bigint[]) WITH ORDINALITY
        AS part(trail, first, last, place)
    JOIN audit_trail AS trail ON trail.id = part.trail
    CROSS JOIN LATERAL (
        SELECT seq, hash, line FROM audit_event
        WHERE trail_id = part.trail AND seq BETWEEN part.first AND part.last
        ORDER BY seq
    ) AS event
    ORDER BY part.place, event.seq
"""

# Where the events of a time begin and end in each trail: what stands between them is in the export, too.
BETWEEN = """
    SELECT trail_id, min(seq), max(seq) FROM audit_event
    WHERE trail_id = ANY(%(ids)s::bigint[]) AND seq > 0
        AND at >= coalesce(%(since)s, '-infinity'::timestamptz) AND at < %(until)s
    GROUP BY trail_id ORDER BY trail_id
"""

# Trails that anchors name as one of these projects, and that are kept as another's.
STRAYED = """
    SELECT DISTINCT trail.id
    FROM audit_anchor AS anchor
    JOIN audit_anchoredhead AS head ON head.anchor_id = anchor.seq
    JOIN audit_trail AS trail ON trail.name = head.trail
    WHERE anchor.project = ANY(%(projects)s::text[]) AND trail.project <> ALL(%(projects)s::text[])
"""

NAMING = """
    SELECT DISTINCT head.anchor_id
    FROM unnest(%(ids)s::bigint[], %(firsts)s::bigint[], %(lasts)s::bigint[]) AS part(trail, first, last)
    JOIN audit_trail AS trail ON trail.id = part.trail
    JOIN audit_anchoredhead AS head ON head.trail = trail.name
    WHERE head.seq >= part.first - 1 AND (head.seq <= part.last OR %(beyond)s)
"""


# A time that nobody erases at, and that has no place in Python, is another one that no event tells of.
TEXTS = """
    SELECT digest, salt, text, CASE
        WHEN erased_at BETWEEN '0001-01-02' AND '9999-12-30' THEN erased_at WHEN erased_at IS NOT NULL THEN 'epoch'
    END
    FROM audit_payload WHERE digest = ANY(%(digests)s::text[])
"""


@dataclass(frozen=True)
class Scope:
    """What is asked for: some trails by name, what happened in a time, or everything; of these projects.

    A project is named by its slug, what belongs to none by an empty one. `label` says in words what it is.
    """

    kind: Literal["run", "time", "all"]
    projects: Sequence[str]
    label: str
    trails: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None

    def told(self) -> dict[str, Any]:
        """The scope as the manifest tells it."""
        told: dict[str, Any] = {"kind": self.kind, "projects": list(self.projects), "label": self.label}
        for name, at in (("since", self.since), ("until", self.until)):
            if at is not None:
                told[name] = at.isoformat()
        return told


@dataclass(frozen=True)
class Slice:
    """Events of one trail, from a place to a place."""

    trail: int
    first: int
    last: int


class Selection:
    """The trails of a scope as they are now. What is written to them later is not in it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        # Anchors first: of what they name, nothing can then be missing.
        self.last_anchor = holding.newest()
        self._bounds = (array("q"), array("q"), array("q"))
        for row in _laid_down(scope):
            for column, value in zip(self._bounds, row, strict=True):
                column.append(value)
        self._anchors = array("q", sorted(self._naming()))

    @property
    def trails(self) -> int:
        """How many trails there are."""
        return len(self._bounds[0])

    @property
    def length(self) -> int:
        """How many events there are."""
        _, firsts, lasts = self._bounds
        return sum(lasts) - sum(firsts) + len(firsts)

    # --- what is written ---------------------------------------------------------------------------------------------

    def parts(self) -> Iterator[Part]:
        for slices in _chunks(self._whole(), TRAILS_AT_ONCE):
            yield from (Part(*row) for row in rows_of(ENDS, _columns(slices)))

    def events(self) -> Iterator[Line]:
        for slices in sliced(self._whole(), EVENTS_AT_ONCE):
            yield from (Line(*row) for row in rows_of(EVENTS, _columns(slices)))

    def texts(self) -> Iterator[Text]:
        named = ((event, name, digest) for event in self.events() for name, digest in _named(event.line))
        for chunk in _chunks(named, TEXTS_AT_ONCE):
            rows = rows_of(TEXTS, {"digests": [digest for _, _, digest in chunk]})
            found = {digest: kept for digest, *kept in rows}
            yield from (Text(e.trail, e.seq, name, digest, *found.get(digest, ())) for e, name, digest in chunk)

    def anchors(self) -> Iterator[Pinned]:
        for seqs in _chunks(iter(self._anchors), holding.AT_ONCE):
            anchors = list(holding.pinned(seqs))
            give_back()
            yield from anchors

    def _whole(self) -> Iterator[Slice]:
        return map(Slice, *self._bounds)

    def _naming(self) -> set[int]:
        """The anchors that hold what is exported; of everything, also those that name a trail that is gone."""
        projects, last = self.scope.projects, self.last_anchor
        if self.scope.kind == "all":
            return holding.anchors_of_projects(projects, last=last)
        names, since, beyond = self.scope.trails or None, self.scope.since, self.scope.kind == "run"
        found = holding.anchors_naming(
            self._bounds, projects=projects, last=last, names=names, since=since, beyond=beyond
        )
        for slices in _chunks(self._whole(), TRAILS_AT_ONCE):
            rows = rows_of(NAMING, _columns(slices) | {"beyond": beyond})
            found.update(seq for (seq,) in rows if seq <= last)
        return found


def sliced(parts: Iterator[Slice], size: int) -> Iterator[list[Slice]]:
    """The events of `parts`, in order, in groups of `size`: long trails are cut, short ones are read together."""
    group: list[Slice] = []
    room = size
    for part in parts:
        first = part.first
        while first <= part.last:
            last = min(part.last, first + room - 1)
            group.append(Slice(part.trail, first, last))
            room -= last - first + 1
            first = last + 1
            if not room:
                yield group
                group, room = [], size
    if group:
        yield group


# --- reading -------------------------------------------------------------------------------------------------------


def _laid_down(scope: Scope) -> Iterator[tuple[int, int, int]]:
    """Each trail of the scope, by its id, and its first and last event; in the order of the ids."""
    rows = Trail.objects.filter(head_seq__gt=0).exclude(name=ANCHORS).order_by("id").filter(_in_scope(scope))
    beyond = Q()  # whatever the first one's id
    while page := list(rows.filter(beyond).values_list("id", "head_seq")[:TRAILS_AT_ONCE]):
        beyond = Q(id__gt=page[-1][0])
        if scope.kind == "time":
            given = {"ids": [id_ for id_, _ in page], "since": scope.since, "until": scope.until}
            yield from rows_of(BETWEEN, given)
        else:
            yield from ((id_, 1, head) for id_, head in page)


def _in_scope(scope: Scope) -> Q:
    """Of all, the verifier misses what is not kept as a project's any more; of a time, nobody would."""
    if scope.kind == "run":
        return Q(name__in=scope.trails)
    strayed = rows_of(STRAYED, {"projects": list(scope.projects)}) if scope.kind == "time" else []
    return Q(project__in=scope.projects) | Q(id__in=[id_ for (id_,) in strayed])


def _named(line: str) -> list[tuple[str, str]]:
    """The texts an event names, in order; none where its line is no event, which the verifier will say."""
    try:
        return sorted(chain.texts_in(chain.parsed(line)).items())
    except ValueError:
        return []


def _columns(slices: Sequence[Slice]) -> dict[str, Any]:
    return {
        "ids": [part.trail for part in slices],
        "firsts": [part.first for part in slices],
        "lasts": [part.last for part in slices],
    }


def _chunks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while chunk := list(islice(rows, size)):
        yield chunk
