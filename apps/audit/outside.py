"""Places outside that keep anchors: a file that is appended to, and a web hook. An admin has set where they are, so
their addresses are not restricted as models' are.
"""

import asyncio
import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import aiohttp
from django.conf import settings
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from apps.audit.pinned import Pinned

TIMEOUT_S = 10
TRIES = 3


class NotSent(Exception):
    """A place did not take anchors; the message says why, and shows no address."""


class NotNow(NotSent):
    """The same, and trying again at once can help."""


class Place(Protocol):
    """Somewhere outside that keeps anchors."""

    @property
    def kind(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def digest(self) -> str:
        """What it is known by: addresses can hold passwords."""
        ...

    def is_new(self) -> bool:
        """Whether it lost what it once had."""
        ...

    def take(self, anchors: Sequence[Pinned]) -> None:
        """:raises NotSent: it did not."""
        ...


@dataclass(frozen=True)
class File:
    """A file that is only ever appended to, an anchor a line."""

    path: Path
    kind: str = "file"

    @property
    def label(self) -> str:
        return f"the file {self.path}"

    @property
    def digest(self) -> str:
        return _digest(str(self.path.absolute()))

    def is_new(self) -> bool:
        return not os.path.exists(self.path)  # where one may not look, taking will say so

    def take(self, anchors: Sequence[Pinned]) -> None:
        try:
            with self.path.open("a+b") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
                torn = file.read(1) not in (b"", b"\n")  # the last writer was cut off within a line
                file.write((b"\n" if torn else b"") + b"".join(each.written().encode() + b"\n" for each in anchors))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise NotSent(error.strerror or type(error).__name__) from error


@dataclass(frozen=True)
class Webhook:
    """An address to which anchors are POSTed as JSON: `{"studio": …, "anchors": [{"seq", "prev", "line", …}, …]}`."""

    url: str
    kind: str = "webhook"

    @property
    def label(self) -> str:
        return f"the web hook at {urlsplit(self.url).hostname or 'an address without a host'}"

    @property
    def digest(self) -> str:
        return _digest(self.url)

    def is_new(self) -> bool:
        return False

    def take(self, anchors: Sequence[Pinned]) -> None:
        asyncio.run(self._post({"studio": settings.PUBLIC_URL, "anchors": [asdict(each) for each in anchors]}))

    async def _post(self, body: dict[str, Any]) -> None:
        tries = AsyncRetrying(
            stop=stop_after_attempt(TRIES),
            wait=wait_exponential_jitter(multiplier=0.5, max=5),
            retry=retry_if_exception_type(NotNow),
            reraise=True,
        )
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:
            await tries(self._try, session, body)

    async def _try(self, session: aiohttp.ClientSession, body: dict[str, Any]) -> None:
        try:
            async with session.post(self.url, json=body, allow_redirects=False) as answer:
                status = answer.status
        except aiohttp.InvalidURL as error:
            raise NotSent("STUDIO_ANCHOR_WEBHOOK is no address") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NotNow(f"no answer: {type(error).__name__}") from error  # its words would show the address
        if status == 429 or status >= 500:
            raise NotNow(f"it answered {status}")
        if not 200 <= status < 300:
            raise NotSent(f"it answered {status}")


def _digest(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()


def places() -> list[Place]:
    """Where the settings say that anchors are kept."""
    found: list[Place] = []
    if settings.ANCHOR_FILE:
        found.append(File(Path(settings.ANCHOR_FILE)))
    if settings.ANCHOR_WEBHOOK:
        found.append(Webhook(settings.ANCHOR_WEBHOOK))
    return found
