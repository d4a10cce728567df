#!/usr/bin/env python3
"""Checks an export of a Conductor Studio where it was unpacked: `python3 -I verify.py`. It needs nothing of the studio.

Nothing that the files say of themselves is believed: every hash is computed again, from the first event to the last.
Only signatures need more than Python brings: the package `cryptography`. Without it they are said to be unchecked.

Exit status: 0 everything holds; 1 something does not, and is named; 2 no hash is wrong, but no signature was checked.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

FORMAT = "conductor-studio-export/1"
GENESIS = "0" * 64  # what the first event of every trail follows
MOST_SHOWN = 20
A_MINUTE = timedelta(minutes=1)  # in which an anchor may have been on its way while the export was begun
A_DAY = timedelta(days=1)  # in which the longest export is written, and what it has not reached yet may be erased

# What a row of each file must have.
PART = {"trail": str, "first": int, "last": int, "after": str, "head": str}
EVENT = {"trail": str, "seq": int, "hash": str, "line": str}
TEXT = {"trail": str, "seq": int, "name": str, "digest": str}
ANCHOR = {"seq": int, "prev": str, "line": str, "hash": str, "key": str, "signature": str}

Row = dict[str, Any]


class Broken(Exception):
    """A file that cannot be read any further."""


class Export:
    """An unpacked export, and what was found in it."""

    def __init__(self, folder: Path, *, key: str = "", kept: Path | None = None) -> None:
        self.folder = folder
        self.pinned_key = key  # the fingerprint that the reader expects
        self.kept = kept  # anchors that were kept outside the studio
        self.problems: list[str] = []
        self.are_signatures_checked = True
        self.counts: Counter[str] = Counter()
        self.manifest: Row = {}
        self.keys: dict[str, bytes] = {}  # fingerprint -> the key itself; the first one signs
        self.pins: dict[str, dict[int, tuple[str, str]]] = {}  # trail -> place -> the hash there, and who says so
        self.reached: dict[str, int] = {}  # trail -> how far it went, by anchors that are older than the export
        self.forgotten: list[int] = []  # anchors that were kept outside and that the studio does not know any more
        self.missed: set[str] = set()  # trails that such anchors name, and that must be here
        self.text: Row | None = None  # the next one
        # (trail, subject, when) -> the last text erased then, the place of the event that named it, and its time
        self.erased: dict[tuple[str, str, str], tuple[str, int, str]] = {}
        self.erasures: dict[tuple[str, str], int] = {}  # (trail, when) -> the place of the event that says so
        self.trails: set[str] = set()

    def check(self) -> None:
        for part in (self._check_manifest, self._check_files, self._read_anchors, self._check_trails):
            try:
                part()
            except Broken as broken:
                self.problems.append(str(broken))
            except OSError as error:
                self.problems.append(f"{Path(error.filename or '').name} cannot be read: {error.strerror}")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self.problems.append(f"the files are not those of an export: {error!r}")

    # --- the manifest and its signature ------------------------------------------------------------------------------

    def _check_manifest(self) -> None:
        self.keys = _keys((self.folder / "public_key.pem").read_text("utf-8", "replace"))
        signer = next(iter(self.keys), "none")
        if self.pinned_key and signer != self.pinned_key:
            self.problems.append(f"the export is signed by key {signer}, and not by {self.pinned_key}")
        text = (self.folder / "manifest.json").read_bytes()
        signature = (self.folder / "signature.txt").read_text("utf-8", "replace").strip()
        if not self._is_signed("export", text, signature, signer):
            self.problems.append(
                "manifest.json is not what was signed: it, signature.txt or public_key.pem was changed"
            )
        try:
            manifest = json.loads(text)
            is_known = manifest["format"] == FORMAT and all(type(manifest[part]) is dict for part in ("files", "scope"))
        except (ValueError, KeyError, TypeError, RecursionError):
            is_known = False
        if not is_known:
            raise Broken(f"manifest.json is not one of {FORMAT}")
        self.manifest = manifest

    def _is_signed(self, purpose: str, text: bytes, signature: str, key: str) -> bool:
        """Whether it is signed. Where nobody can tell, it is noted and taken for signed."""
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        except ImportError:
            self.are_signatures_checked = False
            return key in self.keys
        message = f"conductor-studio/{purpose}/v1\n".encode() + text
        try:
            Ed25519PublicKey.from_public_bytes(self.keys[key]).verify(bytes.fromhex(signature), message)
        except (InvalidSignature, ValueError, KeyError):
            return False
        return True

    def _check_files(self) -> None:
        for name, told in self.manifest.get("files", {}).items():
            if not (self.folder / name).is_file():
                self.problems.append(f"{name} is missing")
            elif _sha256(self.folder / name) != told["sha256"]:
                self.problems.append(f"{name} is not the file that was signed")

    # --- anchors: what trails once were ------------------------------------------------------------------------------

    def _read_anchors(self) -> None:
        outside = {}
        for row in _rows(self.kept, ANCHOR) if self.kept else ():  # what they say of trails is believed first
            outside[row["seq"]] = row["hash"]
            self._take(row, f"anchor {row['seq']}, which was kept outside,")
        for row in _rows(self.folder / "anchors.jsonl", ANCHOR):
            if outside.get(row["seq"], row["hash"]) != row["hash"]:
                self.problems.append(f"anchor {row['seq']} is not the one that was kept outside")
            self._take(row, f"anchor {row['seq']}")
            self.counts["anchors"] += 1
        if self.forgotten:
            known = self.manifest["last_anchor"]
            self.problems.append(f"anchors {known + 1} to {max(self.forgotten)} are gone: they were kept outside")

    def _take(self, row: Row, label: str) -> None:
        """Take what an anchor says of trails, if it is one that the studio signed."""
        try:
            content = json.loads(row["line"])
            heads = [(str(trail), int(seq), str(hash_)) for trail, seq, hash_ in content["data"]["heads"]]
            is_sealed = _hash(row["prev"], row["line"]) == row["hash"] and len(row["prev"]) == 64
            is_sealed = is_sealed and (content["trail"], content["seq"]) == ("anchors", row["seq"])
        except (ValueError, KeyError, TypeError, RecursionError):
            is_sealed = False
        if not is_sealed:
            self.problems.append(f"{label} is not what was sealed: its text or its hash was changed")
            return
        if not self._is_signed("anchor", row["hash"].encode(), row["signature"], row["key"]):
            self.problems.append(f"{label} is not signed by a key of the studio")
            return
        scope = self.manifest.get("scope", {})
        is_older = row["seq"] <= self.manifest.get("last_anchor", 0)
        if not is_older and _time(content["at"]) < _time(self.manifest["made_at"]) - A_MINUTE:
            is_older = True  # an anchor that the studio sealed, and that its database has forgotten
            self.forgotten.append(row["seq"])
        for trail, seq, hash_ in heads:
            known, by = self.pins.setdefault(trail, {}).setdefault(seq, (hash_, label))
            if known != hash_:
                self.problems.append(
                    f"trail {trail}: {label} names another event {seq} than {by.rstrip(',')}: it was made anew"
                )
            if is_older and scope.get("kind") != "time":
                self.reached[trail] = max(seq, self.reached.get(trail, 0))
            if is_older and scope.get("kind") == "all" and content.get("project") in scope.get("projects", ()):
                self.missed.add(trail)

    # --- trails, and the texts that their events name ----------------------------------------------------------------

    def _check_trails(self) -> None:
        events = _rows(self.folder / "events.jsonl", EVENT)
        texts = _rows(self.folder / "payloads.jsonl", TEXT) if self.manifest.get("texts", True) else None
        event, self.text = next(events, None), next(texts, None) if texts else None
        for part in _rows(self.folder / "trails.jsonl", PART):
            is_cut = part["first"] != 1 and self.manifest.get("scope", {}).get("kind") != "time"
            walk, found = Walk(part, self.pins.get(part["trail"], {})), "its beginning is cut off" if is_cut else ""
            while event is not None and event["trail"] == part["trail"]:
                found = found or walk.step(event) or (self._wrong_text(event, walk.content, texts) if texts else "")
                if not found and walk.content["verb"].endswith(".erased"):
                    self.erasures[event["trail"], walk.content["at"]] = event["seq"]
                event = next(events, None)
            found = found or walk.end(self.reached.get(part["trail"], 0))
            while texts and self.text and self.text["trail"] == part["trail"]:
                found = found or f"event {self.text['seq']} does not name a text that is said to be its"
                self.text = next(texts, None)
            if found:
                self.problems.append(f"trail {part['trail']}: {found}")
            self.counts.update(trails=1, events=walk.seq - part["first"] + 1, covered=walk.covered)
            self.missed.discard(part["trail"])
            self.trails.add(part["trail"])
        if event is not None:
            self.problems.append(f"events.jsonl goes on with trail {event['trail']}, which is not of the export")
        if self.text is not None:
            self.problems.append(f"payloads.jsonl goes on with a text of trail {self.text['trail']}, out of its place")
        if self.manifest.get("scope", {}).get("kind") != "time":  # else the event may be of another time
            self._check_erasures()
        for trail in sorted(self.missed):
            _, label = self.pins[trail][self.reached[trail]]
            self.problems.append(f"trail {trail} is gone: {label} names its event {self.reached[trail]}")

    def _wrong_text(self, event: Row, content: Row, texts: Iterator[Row]) -> str:
        """What is wrong with the texts that an event names; they come in the order of the events."""
        named = dict(content["texts"])
        while self.text and (self.text["trail"], self.text["seq"]) == (event["trail"], event["seq"]):
            row, self.text = self.text, next(texts, None)
            words = f"the text “{row['name']}” of event {event['seq']}"
            if found := self._wrong(row, named.pop(row["name"], "")):
                return f"{words} {found}"
            if "erased_at" in row:
                key = (row["trail"], content["subject"], row["erased_at"])
                self.erased[key] = (words, event["seq"], content["at"])
        return f"the text “{min(named)}” of event {event['seq']} is not in the export" if named else ""

    def _wrong(self, row: Row, digest: str) -> str:
        salt, text = row.get("salt"), row.get("text")
        if row.get("missing"):
            return "is gone, and was not erased"
        if row["digest"] == digest and row.get("erased_at"):
            self.counts["erased"] += 1
            return ""
        if row["digest"] == digest and type(salt) is type(text) is str and _hash(salt, text) == digest:
            self.counts["texts"] += 1
            return ""
        return "is not the one that was sealed"

    def _check_erasures(self) -> None:
        """Whether an event says of each erased text that it was: a later one of its trail, or of its subject's."""
        made_at = _time(self.manifest["made_at"])
        for (trail, subject, at), (words, seq, happened) in self.erased.items():
            is_told = self.erasures.get((trail, at), 0) > seq
            if subject != trail and (subject, at) in self.erasures:
                is_told = is_told or _time(happened) <= _time(at)
            is_told_elsewhere = subject.startswith("run:") and subject not in self.trails
            is_told_later = made_at < _time(at) < made_at + A_DAY
            if not is_told and not is_told_elsewhere and not is_told_later:
                self.problems.append(f"trail {trail}: {words} was erased, and no event says so")


class Walk:
    """A walk along a trail, which says where it first does not hold."""

    def __init__(self, part: Row, pins: dict[int, tuple[str, str]]) -> None:
        self.part, self.pins = part, pins
        self.seq, self.hash = part["first"] - 1, part["after"]
        self.covered = 0  # events up to the last one that an anchor names
        self.content: Row = {}  # what the last event says

    def step(self, event: Row) -> str:
        """What is wrong with the next event, if anything is."""
        expected = self.seq + 1
        if expected == 1 and self.hash != GENESIS:
            return "its first event is said to follow another"
        if event["seq"] != expected:
            return f"event {expected} is missing: event {event['seq']} follows event {self.seq}"
        if _hash(self.hash, event["line"]) != event["hash"]:
            return f"event {expected} is not what was sealed: its text or its hash was changed"
        content = _content(event)
        if content is None:
            return f"event {expected} is sealed, but its line is no event of this place"
        hash_, label = self.pins.get(expected, (event["hash"], ""))
        if hash_ != event["hash"]:
            return f"event {expected} is not the one that {label} names: the trail was made anew"
        self.seq, self.hash, self.content = expected, event["hash"], content
        if label:
            self.covered = expected - self.part["first"] + 1
        return ""

    def end(self, reached: int) -> str:
        last = max(self.part["last"], reached if self.part["first"] == 1 else 0)
        if self.seq < last:
            return f"the end is cut off: event {self.seq} is the last of {last}"
        if self.seq > last:
            return f"event {last + 1} comes after the end, which is event {last}"
        return "" if self.hash == self.part["head"] else f"event {last} is not the one that the trail's head names"


def _rows(path: Path, fields: dict[str, type]) -> Iterator[Row]:
    """The rows of a file, one a line. Only a line feed ends a line, whatever else a text holds."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                is_sound = all(type(row[name]) is kind for name, kind in fields.items())
            except (ValueError, KeyError, TypeError, RecursionError):
                is_sound = False
            if not is_sound:
                raise Broken(f"line {number} of {path.name} cannot be read")
            yield row


def _content(event: Row) -> Row | None:
    """What an event's line says; None where it is no event, or another one."""
    try:
        content: Row = json.loads(event["line"])
        is_it = (content["trail"], content["seq"]) == (event["trail"], event["seq"]) and type(content["texts"]) is dict
        return content if is_it and all(type(content[name]) is str for name in ("at", "verb", "subject")) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _time(given: str) -> datetime:
    return datetime.fromisoformat(given)


def _hash(before: str, text: str) -> str:
    """SHA-256 in hex over the hash before and a line; or over a salt and a text."""
    return hashlib.sha256((before + text).encode("utf-8", "surrogatepass")).hexdigest()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _keys(pem: str) -> dict[str, bytes]:
    """The Ed25519 keys of a PEM file by fingerprint: SHA-256 over their DER, whose last 32 bytes are the key."""
    keys = {}
    for body in re.findall(r"-----BEGIN PUBLIC KEY-----(.*?)-----END PUBLIC KEY-----", pem, re.S):
        try:
            der = base64.b64decode("".join(body.split()), validate=True)
        except ValueError:
            continue
        if len(der) == 44:
            keys[hashlib.sha256(der).hexdigest()] = der[-32:]
    return keys


def _fingerprint(given: str) -> str:
    """The fingerprint of a key that is given as such, however it is spaced, or as a PEM file."""
    if Path(given).is_file():
        return next(iter(_keys(Path(given).read_text())), "unreadable")
    return re.sub(r"[\s:]", "", given).lower()


def tell(export: Export) -> int:
    """Print what was found; the exit status."""
    manifest, counts, asked = export.manifest, export.counts, " as asked" if export.pinned_key else ""
    print(
        f"Export {manifest.get('export', '?')} of {manifest.get('studio', '?')}, made at {manifest.get('made_at', '?')}"
    )
    print(f"  {counts['trails']} trails, {counts['events']} events, {counts['texts']} texts, {counts['erased']} erased")
    print(f"  {counts['anchors']} anchors, which cover {counts['covered']} of the events")
    print(f"  key {next(iter(export.keys), 'none')}{asked}")
    for words in export.problems[:MOST_SHOWN]:
        print(f"BROKEN: {words}")
    if len(export.problems) > MOST_SHOWN:
        print(f"BROKEN: and {len(export.problems) - MOST_SHOWN} more")
    if not export.are_signatures_checked:
        print("NOT CHECKED: signatures. The Python package “cryptography” is missing: pip install cryptography")
    if export.problems:
        return 1
    if not export.are_signatures_checked:
        print("No hash is wrong, but who signed this was not checked.")
        return 2
    print("OK: everything holds.")
    if not asked:
        print("Whose key it is, the export cannot prove: compare it with the one you were given, or use --key.")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks an export of a Conductor Studio.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent, help="where it is")
    parser.add_argument("--key", default="", help="the studio's key as you know it: its fingerprint, or a PEM file")
    parser.add_argument("--anchors", type=Path, help="a file of anchors that was kept outside the studio")
    given = parser.parse_args()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may not know every sign
    export = Export(given.folder, key=_fingerprint(given.key) if given.key else "", kept=given.anchors)
    export.check()
    return tell(export)


if __name__ == "__main__":
    sys.exit(main())
