"""Whether the texts that events name are the ones that were sealed, or were erased, and an event says so.

An erased text leaves nothing to compute again; without a word about it in a trail, nobody erased it: it was taken away.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import connection

from apps.audit import chain
from apps.audit.chain import Break
from apps.audit.models import Event
from apps.audit.rows import Row

AT_ONCE = 500
# A time that nobody erases at, without end or in the year 20000, has no place in Python.
READ = """
    SELECT digest, salt, text, CASE
        WHEN erased_at BETWEEN '0001-01-02' AND '9999-12-30' THEN erased_at WHEN erased_at IS NOT NULL THEN 'epoch'
    END
    FROM audit_payload
    WHERE digest = ANY(%s)
"""

Named = Mapping[str, str]
"""The digests of an event's texts, by name."""


@dataclass
class Texts:
    """What is wrong with the texts of some events."""

    wrong: dict[str, str] = field(default_factory=dict)  # digest: why
    erased: dict[str, datetime] = field(default_factory=dict)  # digest: when
    erasures: dict[tuple[str, datetime], int] = field(default_factory=dict)  # (trail, when) -> the event that says so

    @classmethod
    def of(cls, events: Iterable[tuple[Row, Named]]) -> "Texts":
        """Read the texts of these events, and hash each again."""
        naming = {digest: row for row, named in events for digest in named.values()}
        texts = cls(wrong=dict.fromkeys(naming, "is gone, and was not erased"))
        digests = list(naming)
        for at in range(0, len(digests), AT_ONCE):
            texts._read(digests[at : at + AT_ONCE])
        if texts.erased:
            texts._look_for_erasures([naming[digest] for digest in texts.erased])
        return texts

    def _read(self, digests: Sequence[str]) -> None:
        with connection.cursor() as cursor:  # the ORM would write each digest out as a parameter of its own
            cursor.execute(READ, [list(digests)])
            rows = cursor.fetchall()
        for digest, salt, text, erased_at in rows:
            if erased_at:
                self.erased[digest] = erased_at
            if erased_at or chain.digest(salt or "", text or "") == digest:
                del self.wrong[digest]
            else:
                self.wrong[digest] = "is not the one that was sealed"

    def _look_for_erasures(self, rows: Sequence[Row]) -> None:
        """An erasure is told in the trail of what was erased, which other trails have as their events' subject."""
        trails = {name for row in rows for name in (row.trail, row.subject)}
        told = Event.objects.filter(trail__name__in=trails, verb__endswith=".erased", at__in=set(self.erased.values()))
        rows_told = told.order_by("seq").values_list("trail__name", "at", "seq")
        self.erasures = {(name, at): seq for name, at, seq in rows_told}

    def break_of(self, row: Row, named: Named) -> Break | None:
        """The first of an event's texts with which something is wrong."""
        for name, digest in named.items():
            if fault := self._fault(row, digest):
                return Break(row.seq, f"the text “{name}” of event {row.seq} {fault}")
        return None

    def _fault(self, row: Row, digest: str) -> str:
        erased_at = self.erased.get(digest)
        if erased_at and not self._is_told(row, erased_at):
            return "was erased, and no event says so"
        return self.wrong.get(digest, "")

    def _is_told(self, row: Row, erased_at: datetime) -> bool:
        """Whether a later event of its trail says so, or its subject's: nobody erases what is not there yet."""
        if self.erasures.get((row.trail, erased_at), 0) > row.seq:
            return True
        is_of_subject = row.subject != row.trail and (row.subject, erased_at) in self.erasures
        return is_of_subject and row.at <= erased_at.astimezone(UTC).isoformat(timespec="microseconds")
