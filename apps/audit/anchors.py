"""Anchors: the heads of trails, sealed into a trail of their own and signed, so that the past can be pinned elsewhere.

An anchor is an event of the trail `anchors` whose data names heads (trail, seq, hash) that moved since they were last
anchored. Its hash covers all anchors before it, and the studio's key signs that hash. Whoever rewrites a trail, or cuts
its end off, contradicts an anchor; whoever rewrites the anchors too cannot sign them, and contradicts those that were
sent on (`sending.py`). docs/adr/0017 says why it is made like this.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.db import connection, transaction

from apps.audit import chain, log, signing
from apps.audit.anchored import PINNED
from apps.audit.models import Anchor, Event, Trail
from apps.audit.pinned import TRAIL, Head, Pinned
from apps.audit.signing import public_key_id, public_key_pem
from apps.audit.statements import together
from apps.core.errors import Unavailable

__all__ = [
    "TRAIL",
    "VERB",
    "Pinned",
    "SealedOtherwise",
    "anchors_of",
    "newest",
    "public_key_id",
    "public_key_pem",
    "seal_anchor",
]

VERB = "anchor.sealed"
HEADS_IN_ONE = 500  # a line of some 50 kB
ANCHORS_AT_ONCE = 20  # events that are written, or read, together

# Heads beyond the last one that was anchored of their trail. Only trails written to since `horizon` can have one, and
# they are looked up first: told in an OR, PostgreSQL looked for each trail among all events.
MOVED = """
    WITH written AS MATERIALIZED (SELECT DISTINCT trail_id FROM audit_event WHERE tx >= %(horizon)s)
    SELECT trail.project, trail.name, trail.head_seq, trail.head_hash,
           pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    FROM written JOIN audit_trail AS trail ON trail.id = written.trail_id
    WHERE trail.name <> %(own)s
        AND trail.head_seq > coalesce((SELECT max(seq) FROM audit_anchoredhead WHERE trail = trail.name), 0)
    ORDER BY trail.project, trail.name
"""

KEEP = """
    INSERT INTO audit_anchoredhead (anchor_id, trail, seq, hash)
    SELECT * FROM unnest(%(anchors)s::bigint[], %(trails)s::text[], %(seqs)s::bigint[], %(hashes)s::text[])
"""


# The anchors that name a head of some trails, a few at a time.
OF_TRAILS = """
    WHERE anchor.seq > %(after)s AND (
        %(trails)s::text[] IS NULL
        OR anchor.seq IN (SELECT anchor_id FROM audit_anchoredhead WHERE trail = ANY(%(trails)s::text[]))
    )
    ORDER BY anchor.seq
    LIMIT %(limit)s
"""


@dataclass(frozen=True)
class Moved(Head):
    """A head that has not been anchored yet, and the project of its trail."""

    project: str


class SealedOtherwise(Unavailable):
    """The database gave an anchor another hash than its line has: its owner would have had something else signed."""

    def __init__(self) -> None:
        super().__init__(
            "The database sealed an anchor otherwise than it was asked to, so nothing was signed. Somebody changed its "
            "functions or its rows: have manage.py verify_trails say which, and see who owns its tables."
        )


def seal_anchor(*, now: datetime) -> list[Anchor]:
    """Seal every head that moved since the last anchor; nothing where none did.

    One event for each 500 trails of a project, so that what a project's auditor is shown names no other project's.

    :raises apps.audit.signing.NoSigningKey: there is no key to sign with.
    :raises SealedOtherwise: the database computes other hashes than we do.
    """
    key_id = public_key_id()
    if not _moved()[0]:  # most minutes of most nights: nothing is locked then, and nothing written
        return []
    with transaction.atomic():
        together([log.take_head(TRAIL, project="")])  # of two that seal, one comes after the other
        moved, horizon = _moved()
        anchors = []
        for project, heads in groupby(moved, key=lambda head: head.project):
            anchors += _seal(project, list(heads), horizon=horizon, key_id=key_id, now=now)
    return anchors


def _moved() -> tuple[list[Moved], int]:
    """The heads to anchor, by project, and the oldest transaction that was unfinished when they were read."""
    last = Anchor.objects.order_by("-seq").values_list("horizon", flat=True).first()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        [reached] = cursor.fetchone()
        # One that is not reached yet comes from another database, before a restore, and says nothing.
        horizon = last if last and last <= reached else 0
        cursor.execute(MOVED, {"own": TRAIL, "horizon": horizon})
        rows = cursor.fetchall()
    return [Moved(trail, seq, hash_, project) for project, trail, seq, hash_, _ in rows], rows[0][4] if rows else 0


def _seal(project: str, heads: Sequence[Head], *, horizon: int, key_id: str, now: datetime) -> list[Anchor]:
    chunks = [heads[at : at + HEADS_IN_ONE] for at in range(0, len(heads), HEADS_IN_ONE)]
    anchors = []
    for at in range(0, len(chunks), ANCHORS_AT_ONCE):
        together_ = chunks[at : at + ANCHORS_AT_ONCE]
        entries = [_entry(chunk, key_id) for chunk in together_]
        before = Trail.objects.values_list("head_seq", "head_hash").get(name=TRAIL)
        events = log.append(TRAIL, entries, by=log.STUDIO, at=now, subject=TRAIL, project=project)
        _check_sealed(events, *before)
        signed = [_signed(event, horizon=horizon, key_id=key_id) for event in events]
        anchors += Anchor.objects.bulk_create(signed)
        _keep(signed, together_)
    return anchors


def _entry(heads: Sequence[Head], key_id: str) -> log.Entry:
    return log.Entry(VERB, {"key": key_id, "heads": [[head.trail, head.seq, head.hash] for head in heads]})


def _check_sealed(events: Sequence[Event], seq: int, hash_: str) -> None:
    """Whether the hashes that are about to be signed are those of our lines, behind what the trail ended in.

    The head is ours to hold until the end of the transaction. Who says that it was another one has it contradicted by
    the signature that it bears.

    :raises SealedOtherwise: they are not.
    """
    for event in events:
        seq += 1
        if len(hash_) != len(chain.GENESIS) or event.seq != seq or chain.seal(hash_, event.line) != event.hash:
            raise SealedOtherwise
        hash_ = event.hash


def _signed(event: Event, *, horizon: int, key_id: str) -> Anchor:
    return Anchor(
        seq=event.seq,
        hash=event.hash,
        key_id=key_id,
        signature=signing.sign(signing.ANCHOR, event.hash),
        at=event.at,
        project=event.project,
        horizon=horizon,
    )


def _keep(anchors: Sequence[Anchor], chunks: Sequence[Sequence[Head]]) -> None:
    rows = [(anchor.seq, head) for anchor, heads in zip(anchors, chunks, strict=True) for head in heads]
    with connection.cursor() as cursor:
        cursor.execute(
            KEEP,
            {
                "anchors": [seq for seq, _ in rows],
                "trails": [head.trail for _, head in rows],
                "seqs": [head.seq for _, head in rows],
                "hashes": [head.hash for _, head in rows],
            },
        )


def newest() -> Anchor | None:
    """The last anchor; its hash covers every anchor before it."""
    return Anchor.objects.order_by("-seq").first()


def anchors_of(trails: Collection[str] | None = None, *, after: int = 0) -> Iterator[Pinned]:
    """The anchors that name a head of one of `trails`, in order; every anchor where none are given.

    Read a few at a time, whatever their number; `after` leaves out those up to a place.
    """
    given = {"trails": None if trails is None else list(trails), "limit": ANCHORS_AT_ONCE}
    while True:
        with connection.cursor() as cursor:
            cursor.execute(PINNED + OF_TRAILS, given | {"after": after})
            rows = cursor.fetchall()
        if not rows:
            return
        yield from (Pinned(*row) for row in rows)
        after = rows[-1][0]
