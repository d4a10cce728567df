"""Writes an export: trails as they were sealed, the texts they name, the anchors that hold them, and a verifier.

Pure: it knows neither a database nor a key. What it is given is read once, in order, and handed on at once, so an
export may be of any size. README.txt beside this file says what each file holds; `verify.py` reads them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from apps.audit.chain import canonical
from apps.audit.exporting.verify import FORMAT
from apps.audit.exporting.zipped import Zipped
from apps.audit.pinned import Pinned

HERE = Path(__file__).parent
TOLD = ("README.txt", "verify.py")  # files that are the same in every export


@dataclass(frozen=True)
class Part:
    """What is exported of a trail: its events from `first` to `last`, which follow the hash `after`."""

    trail: str
    first: int
    last: int
    after: str
    head: str


@dataclass(frozen=True)
class Line:
    """An event exactly as it was hashed."""

    trail: str
    seq: int
    hash: str
    line: str


@dataclass(frozen=True)
class Text:
    """A text that an event names, with its salt; or, without both, that it was erased; or that it is not there."""

    trail: str
    seq: int
    name: str
    digest: str
    salt: str | None = None
    text: str | None = None
    erased_at: datetime | None = None

    def written(self) -> dict[str, str | int | bool]:
        told: dict[str, str | int | bool] = {name: getattr(self, name) for name in ("trail", "seq", "name", "digest")}
        if self.salt is not None and self.text is not None:
            return told | {"salt": self.salt, "text": self.text}
        if self.erased_at is None:
            return told | {"missing": True}
        return told | {"erased_at": self.erased_at.astimezone(UTC).isoformat(timespec="microseconds")}  # as in lines


class Source(Protocol):
    """Where an export is read from. Events come in the order of the parts, and texts in that of the events."""

    def parts(self) -> Iterable[Part]: ...

    def events(self) -> Iterable[Line]: ...

    def texts(self) -> Iterable[Text]: ...

    def anchors(self) -> Iterable[Pinned]: ...


@dataclass(frozen=True)
class About:
    """What an export says of itself. `last_anchor` is the newest there was when it was made, in it or not."""

    export: str
    studio: str
    made_at: datetime
    made_by: str
    scope: Mapping[str, Any]
    texts: bool
    last_anchor: int


def write(source: Source, about: About, *, public_keys: str, sign: Callable[[str], str]) -> Iterator[bytes]:
    """The zip, piece by piece. `sign` makes the signature over the manifest with the first of `public_keys`."""
    zipped = Zipped(at=about.made_at)
    counts: dict[str, int] = {}
    for name in TOLD:
        yield from zipped.add(name, [(HERE / name).read_bytes()])
    yield from zipped.add("public_key.pem", [public_keys.encode()])
    for name, rows in _files(source, about).items():
        yield from zipped.add(f"{name}.jsonl", _counted(name, rows, counts), can_be_huge=True)
    manifest = _manifest(about, zipped, counts)
    yield from zipped.add("manifest.json", [manifest.encode()])
    yield from zipped.add("signature.txt", [f"{sign(manifest)}\n".encode()])
    yield from zipped.end()


def _files(source: Source, about: About) -> dict[str, Iterable[str]]:
    """The lines of each file; nothing is read before it is asked for."""
    files: dict[str, Iterable[str]] = {
        "trails": (canonical(asdict(part)) for part in source.parts()),
        "events": (canonical(asdict(event)) for event in source.events()),
    }
    if about.texts:
        files["payloads"] = (canonical(text.written()) for text in source.texts())
    return files | {"anchors": (anchor.written() for anchor in source.anchors())}


def _counted(name: str, lines: Iterable[str], counts: dict[str, int]) -> Iterator[bytes]:
    counts[name] = 0
    for line in lines:
        counts[name] += 1
        yield f"{line}\n".encode()


def _manifest(about: About, zipped: Zipped, counts: Mapping[str, int]) -> str:
    told = {"format": FORMAT} | asdict(about) | {"made_at": about.made_at.isoformat(), "counts": counts}
    files = {name: asdict(member) for name, member in zipped.members.items()}
    return json.dumps(told | {"files": files}, indent=2, ensure_ascii=False) + "\n"
