"""An event opened: what changed, what was written, its figures, and the seal by which it can be checked."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from apps.audit import chain
from apps.audit.lines import Line, hash_before
from apps.audit.models import AnchoredHead
from apps.runs.models import Run
from apps.web.audit.rows import Row, rows_of
from apps.web.comparing.differing import MOST_CHARS, NO_TEXT, Differing, Text, differing
from apps.web.words import texts
from apps.web.words.looks import Look, looks_of
from apps.workflows.wording import Effort

BEFORE = "before:"
MOST_FIELDS = 60


@dataclass(frozen=True)
class Change:
    """A field that changed, or a text that did: what it was and is, as one text."""

    name: str
    text: Differing


@dataclass(frozen=True)
class Written:
    """A text that the event names; None where it was erased."""

    name: str
    shown: texts.Shown | None
    digest: str


@dataclass(frozen=True)
class Anchored:
    """The first signed anchor that covers the event."""

    seq: int
    at: datetime


@dataclass(frozen=True)
class Opened:
    """What is shown of an event; `is_whole` shows its texts from end to end, `in_run` it stands in its run's page."""

    line: Line
    is_whole: bool = False
    in_run: bool = False

    @cached_property
    def row(self) -> Row:
        [row] = rows_of([self.line], self._looks)
        return row

    @property
    def _looks(self) -> Mapping[str, Look]:
        """What a run calls its workers; in the list of all events they go by their slugs, as in its filter."""
        _, _, code = self.line.trail.partition(":")
        run = Run.objects.filter(code=code).only("setup").first() if self.in_run else None
        return looks_of(run.pool) if run else {}

    @cached_property
    def changes(self) -> Sequence[Change]:
        """The fields that changed, by their names, as far as a page has room for them."""
        effort, found = Effort(), []
        for name, before, after in list(_pairs(self.line.texts))[:MOST_FIELDS]:
            found.append(Change(name, differing(_text(before), _text(after), effort=effort, whole=self.is_whole)))
        return found

    @cached_property
    def written(self) -> Sequence[Written]:
        """The other texts, in the order of their names."""
        told = {name for name in self.line.texts if _is_of_change(name, self.line.texts)}
        return [
            Written(name, None if text is None else texts.shown(text, whole=self.is_whole, raw=True), digest)
            for name, digest in sorted(self.line.digests.items())
            if name not in told
            for text in [self.line.texts[name]]
        ]

    @property
    def is_cut(self) -> bool:
        """Whether there is more of its texts than is shown."""
        return any(each.shown and each.shown.is_cut for each in self.written) or any(
            change.text.is_cut for change in self.changes
        )

    @property
    def figures(self) -> Sequence[tuple[str, str]]:
        """The ids and numbers that it holds; what is empty stands in the sealed line alone."""
        return [(name, _plain(value)) for name, value in self.line.data.items() if value not in (None, "", [], {})]

    @cached_property
    def before(self) -> str:
        return hash_before(self.line)

    @property
    def is_sealed(self) -> bool:
        """Whether its hash, computed again, is the one it was given."""
        return chain.seal(self.before, self.line.line) == self.line.hash

    @cached_property
    def anchor(self) -> Anchored | None:
        heads = AnchoredHead.objects.filter(trail=self.line.trail, seq__gte=self.line.seq).order_by("seq")
        head = heads.select_related("anchor").first()
        return Anchored(head.anchor.seq, head.anchor.at) if head else None


def _pairs(given: Mapping[str, str | None]) -> Iterator[tuple[str, str | None, str | None]]:
    """What was and what is, of each field: of values that are kept as JSON, or of texts that are kept side by side."""
    before, after = (_values(given.get(name)) for name in ("before", "after"))
    for name in sorted({*before, *after}):
        yield name, _plain_or_none(before, name), _plain_or_none(after, name)
    for name in sorted(given):
        if BEFORE + name in given:
            yield name, given[BEFORE + name], given[name]


def _is_of_change(name: str, given: Mapping[str, str | None]) -> bool:
    if name in ("before", "after"):
        return bool(_values(given[name]))
    return name.startswith(BEFORE) or BEFORE + name in given


def _values(text: str | None) -> Mapping[str, Any]:
    try:
        values = json.loads(text or "")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _plain_or_none(values: Mapping[str, Any], name: str) -> str | None:
    return _plain(values[name]) if name in values else None


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(given: str | None) -> Text:
    if not given:
        return NO_TEXT
    return Text(given[:MOST_CHARS], len(given), hashlib.sha256(given.encode()).hexdigest())
