"""An export made of nothing but values: trails, texts and anchors in memory, and a key of its own."""

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from apps.audit import chain
from apps.audit.chain import GENESIS
from apps.audit.exporting.writer import About, Line, Part, Text, write
from apps.audit.pinned import Pinned
from apps.audit.signing import fingerprint, message

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
ADA = {"kind": "person", "id": "1", "label": "Ada"}


def pem(key: Ed25519PrivateKey = KEY) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def fingerprint_of(key: Ed25519PrivateKey = KEY) -> str:
    return fingerprint(key.public_key())


def sealed(
    trail: str, seq: int, *, before: str, data: Any, texts: dict[str, str], project: str = "p", verb: str = "x"
) -> Line:
    line = chain.unplaced(
        trail=trail,
        at=NOON,
        verb=verb,
        actor=ADA,
        subject=trail,
        project=project,
        data=data,
        texts=texts,
    ).at(seq)
    return Line(trail, seq, chain.seal(before, line), line)


@dataclass
class Kept:
    """A source that was read into memory, to be tampered with before it is exported."""

    lines: list[Line] = field(default_factory=list)
    said: list[Text] = field(default_factory=list)
    pins: list[Pinned] = field(default_factory=list)
    bounds: list[Part] = field(default_factory=list)

    def parts(self) -> list[Part]:
        return self.bounds

    def events(self) -> list[Line]:
        return self.lines

    def texts(self) -> list[Text]:
        return self.said

    def anchors(self) -> list[Pinned]:
        return self.pins

    def add(self, trail: str, *texts: str, first: int = 1, after: str = GENESIS, project: str = "p") -> None:
        """A trail with an event for each text."""
        before = after
        for seq, text in enumerate(texts, start=first):
            salt = chain.digest(trail, str(seq))[:32]
            digest = chain.digest(salt, text)
            event = sealed(trail, seq, before=before, data={}, texts={"said": digest}, project=project)
            before = event.hash
            self.lines.append(event)
            self.said.append(Text(trail, seq, "said", digest, salt, text))
        self.bounds.append(Part(trail, first, first + len(texts) - 1, after, before))

    def erase(self, *which: int, told_in: str) -> None:
        """Erase texts; the trail `told_in` says so."""
        for at in which:
            self.said[at] = replace(self.said[at], salt=None, text=None, erased_at=NOON)
        part = next(part for part in self.bounds if part.trail == told_in)
        place = next(at for at, line in enumerate(self.lines) if line.hash == part.head) + 1
        event = sealed(told_in, part.last + 1, before=part.head, data={}, texts={}, verb="run.erased")
        self.lines.insert(place, event)
        self.bounds[self.bounds.index(part)] = replace(part, last=event.seq, head=event.hash)

    def anchor(self, *heads: tuple[str, int], key: Ed25519PrivateKey = KEY, project: str = "p") -> Pinned:
        """Anchor events of trails as they are now."""
        hashes = {(line.trail, line.seq): line.hash for line in self.lines}
        named = [[trail, seq, hashes[trail, seq]] for trail, seq in heads]
        before = self.pins[-1].hash if self.pins else GENESIS
        data = {"key": fingerprint_of(key), "heads": named}
        event = sealed("anchors", len(self.pins) + 1, before=before, data=data, texts={}, project=project)
        signature = key.sign(message("anchor", event.hash)).hex()
        self.pins.append(Pinned(event.seq, before, event.line, event.hash, fingerprint_of(key), signature))
        return self.pins[-1]

    def zip(
        self,
        *,
        kind: str = "all",
        texts: bool = True,
        key: Ed25519PrivateKey = KEY,
        last_anchor: int = 99,
        made_at: datetime = NOON,
    ) -> bytes:
        scope = {"kind": kind, "projects": ["p"], "label": "project p"}
        about = About("e1", "http://studio.example", made_at, "Ada", scope, texts, last_anchor)

        def sign(text: str) -> str:
            return key.sign(message("export", text)).hex()

        return b"".join(write(self, about, public_keys=pem(key), sign=sign))


def small() -> Kept:
    """Two trails with anchors over all of them."""
    kept = Kept()
    kept.add("run:a", "Compare A and B.", "B\u2028\u2029, naturally\n\x85.", "")
    kept.add("run:b", "☃")
    kept.anchor(("run:a", 2))
    kept.anchor(("run:a", 3), ("run:b", 1))
    return kept


def unpack(zipped: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(zipped)) as file:
        file.extractall(folder)
    return folder


def verify(folder: Path, *arguments: str, isolated: str = "-I") -> tuple[int, str]:
    """What an outsider's Python says, which finds nothing but the folder; its exit status, too."""
    command = [sys.executable, *isolated.split(), "verify.py", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, env={})
    assert done.stderr == ""
    return done.returncode, done.stdout


def rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    with (folder / name).open("rb") as file:
        yield from (json.loads(line) for line in file)
