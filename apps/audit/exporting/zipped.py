"""A zip that is handed on while it is written: nothing of it is kept but its list of members.

Pure: pieces of bytes go in, pieces of bytes come out, whatever the size.
"""

import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

PIECE = 64 * 1024  # bytes that are handed on together


@dataclass(frozen=True)
class Member:
    """A file as it went into the zip."""

    bytes: int
    sha256: str


class Zipped:
    """Files that become a zip, one after the other. What each method yields is the zip, in order."""

    def __init__(self, *, at: datetime) -> None:
        self.members: dict[str, Member] = {}
        self._outlet = _Outlet()
        self._zip = zipfile.ZipFile(self._outlet, "w", zipfile.ZIP_DEFLATED)
        self._at = at

    def add(self, name: str, pieces: Iterable[bytes], *, can_be_huge: bool = False) -> Iterator[bytes]:
        """Write a file. One that `can_be_huge` may have more than 2 GiB, which not every old unpacker understands."""
        info = zipfile.ZipInfo(name, self._at.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=can_be_huge) as file:
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                file.write(piece)
                yield from self._outlet.drained(at_least=PIECE)
        self.members[name] = Member(size, digest.hexdigest())
        yield from self._outlet.drained()

    def end(self) -> Iterator[bytes]:
        """Write the list of members, with which a zip ends."""
        self._zip.close()
        yield from self._outlet.drained()


class _Outlet:
    """What zipfile takes for a file that it cannot go back in."""

    def __init__(self) -> None:
        self._held = bytearray()

    def write(self, piece: bytes, /) -> int:
        self._held += piece
        return len(piece)

    def flush(self) -> None:
        """There is nothing to flush: what was written is handed on as soon as it is worth it."""

    def close(self) -> None:
        """The zip is over; what is held is handed on all the same."""

    def drained(self, *, at_least: int = 1) -> Iterator[bytes]:
        """What was written since, if it is worth handing on."""
        if len(self._held) >= at_least:
            piece = bytes(self._held)
            self._held.clear()
            yield piece
