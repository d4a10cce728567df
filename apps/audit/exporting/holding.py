"""The anchors that hold what is exported, found by their lines: what is kept beside a line can be taken away.

What is kept there finds those whose line was changed. An anchor without its signature is exported without one, and one
that is gone but for its signature without its line: the verifier says what is wrong with it.
"""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from apps.audit import chain
from apps.audit.exporting.reading import rows_of
from apps.audit.models import Anchor, Event, Trail
from apps.audit.pinned import TRAIL, Head, Pinned

AT_ONCE = 20  # a line of 500 heads has some 50 kB

# A line tells its project in so many letters; where it was changed, the column beside it may still tell it.
OF_PROJECTS = """
    FROM audit_trail AS trail
    JOIN audit_event AS event ON event.trail_id = trail.id
    WHERE trail.name = 'anchors' AND event.seq > %(after)s AND event.seq <= %(last)s
        AND (event.project = ANY(%(projects)s::text[])
            OR EXISTS (SELECT FROM unnest(%(told)s::text[]) AS told WHERE strpos(event.line, told) > 0))
"""
SEQS = "SELECT event.seq" + OF_PROJECTS
NAMING = """
        AND (%(heads)s::text[] IS NULL
            OR EXISTS (SELECT FROM unnest(%(heads)s::text[]) AS head WHERE strpos(event.line, head) > 0))
        AND (%(since)s::text IS NULL
            OR coalesce(substring(event.line from '"at":"([^"]+)"') COLLATE "C" >= %(since)s, true))
    ORDER BY event.seq
    LIMIT %(limit)s
"""
LINES = "SELECT event.seq, event.line" + OF_PROJECTS + NAMING

Bounds = tuple["array[int]", "array[int]", "array[int]"]
"""Trails by their ids, which are in order, and the first and last event of each."""


def newest() -> int:
    """The place of the last anchor: of the last signature or the last event, whichever comes later."""
    signed = Anchor.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
    sealed = Trail.objects.filter(name=TRAIL).values_list("head_seq", flat=True).first() or 0
    return max(signed, sealed)


def anchors_of_projects(projects: Sequence[str], *, last: int) -> set[int]:
    """The places of every anchor of these projects, up to one."""
    kept = Anchor.objects.filter(project__in=projects, seq__lte=last).values_list("seq", flat=True)
    return {*kept, *(seq for (seq,) in rows_of(SEQS, _given(projects, last=last)))}


def anchors_naming(
    bounds: Bounds,
    *,
    projects: Sequence[str],
    last: int,
    names: Collection[str] | None,
    since: datetime | None,
    beyond: bool,
) -> set[int]:
    """The places of those whose lines name an event of the trails, or with `beyond` one that should follow.

    With the `names` of the trails, where they are few, no other line is parsed; nor is one, where it is given, whose
    anchor was sealed before `since`.
    """
    found: set[int] = set()
    given = _given(projects, last=last) | {"limit": AT_ONCE}
    given["heads"] = None if names is None else [chain.canonical([name])[:-1] + "," for name in names]
    given["since"] = since and since.astimezone(UTC).isoformat(timespec="microseconds")  # as lines tell it
    while rows := rows_of(LINES, given):
        heads = {seq: _heads(seq, line) for seq, line in rows}
        ids = _ids({head.trail for each in heads.values() for head in each or ()})
        found.update(seq for seq, each in heads.items() if each is None or _holds(each, ids, bounds, beyond=beyond))
        given["after"] = rows[-1][0]
    return found


def pinned(seqs: Sequence[int]) -> Iterator[Pinned]:
    """The anchors at these places, as they are there."""
    rows = Event.objects.filter(trail__name=TRAIL, seq__in=[*seqs, *(seq - 1 for seq in seqs)])
    hashes = dict(rows.values_list("seq", "hash"))
    lines = dict(rows.filter(seq__in=seqs).values_list("seq", "line"))
    signed = Anchor.objects.defer("at").in_bulk(list(seqs))
    for seq in seqs:
        hash_, key, signature = hashes.get(seq, ""), "", ""
        if anchor := signed.get(seq):
            hash_, key, signature = anchor.hash, anchor.key_id, anchor.signature
        yield Pinned(seq, hashes.get(seq - 1, chain.GENESIS), lines.get(seq, ""), hash_, key, signature)


def _given(projects: Sequence[str], *, last: int) -> dict[str, Any]:
    told = [chain.canonical({"project": project})[1:-1] + ',"seq":' for project in projects]
    return {"projects": list(projects), "told": told, "after": 0, "last": last}


def _heads(seq: int, line: str) -> Sequence[Head] | None:
    """The heads a line names; None where it is no anchor's any more, and so may have named any."""
    try:
        return Pinned(seq, "", line, "", "", "").heads
    except ValueError:
        return None


def _ids(names: Collection[str]) -> dict[str, int]:
    sayable = [name for name in names if chain.is_sayable(name)]
    return dict(rows_of("SELECT name, id FROM audit_trail WHERE name = ANY(%(names)s)", {"names": sayable}))


def _holds(heads: Sequence[Head], ids: dict[str, int], bounds: Bounds, *, beyond: bool) -> bool:
    trails, firsts, lasts = bounds
    for head in heads:
        id_ = ids.get(head.trail)
        at = len(trails) if id_ is None else bisect_left(trails, id_)
        is_there = at < len(trails) and trails[at] == id_
        if is_there and head.seq >= firsts[at] - 1 and (beyond or head.seq <= lasts[at]):
            return True
    return False
