"""The anchors of a file that was kept outside of the studio, each checked before it is believed."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from apps.audit.anchored import Expected, Keys, Named, Span, fault_of
from apps.audit.pinned import TRAIL, Head, read


@dataclass
class Pins:
    """The anchors of the file; what cannot be used of it is in `faults`, by line."""

    path: Path
    heads: dict[str, dict[int, tuple[bytes, int]]] = field(default_factory=lambda: defaultdict(dict))
    projects: dict[str, str] = field(default_factory=dict)
    faults: list[tuple[int, str]] = field(default_factory=list)
    anchors: int = 0

    @classmethod
    def of(cls, path: Path, keys: Keys) -> "Pins":
        """:raises OSError: the file cannot be read."""
        pins = cls(path)
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    pins._take(number, line, keys)
        return pins

    def _take(self, number: int, line: str, keys: Keys) -> None:
        try:
            pinned = read(line)
            if fault := fault_of(pinned, keys):
                self.faults.append((number, f"names anchor {pinned.seq}, which {fault}"))
                return
            heads = [*pinned.heads, Head(TRAIL, pinned.seq, pinned.hash)]
            named = [(head, bytes.fromhex(head.hash)) for head in heads]
            project = pinned.project
        except ValueError:
            self.faults.append((number, "is no anchor, or only a part of one"))
            return
        self.anchors += 1
        for head, hash_ in named:
            self.heads[head.trail].setdefault(head.seq, (hash_, pinned.seq))
            self.projects.setdefault(head.trail, "" if head.trail == TRAIL else project)

    def expected(self, spans: Sequence[Span]) -> Expected:
        return {span.trail: list(self._named(span)) for span in spans if span.trail in self.heads}

    def _named(self, span: Span) -> Iterator[Named]:
        for seq, (hash_, anchor) in sorted(self.heads[span.trail].items()):
            if span.first <= seq <= span.last:
                yield Named(seq, hash_.hex(), f"anchor {anchor} of {self.path.name}")
