"""When a text was how long while a model wrote it: by that it can be seen to come again, with no model called."""

import time
from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

MOST = 200  # marks of one text, however long it was written
FINEST_MS = 20.0  # nobody sees steps that are smaller

Marks = list[list[int]]


class Heard:
    """A text as it comes in: its pieces, and a track of it as [milliseconds since `since`, code points there by then].

    Of a text that is written for long the marks stand further apart, so that there are never more than `MOST`.
    """

    def __init__(
        self, *, since: datetime, now: datetime | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._zero = clock() - ((now or timezone.now()) - since).total_seconds()
        self._pieces: list[str] = []
        self._chars = 0
        self._last_ms = 0.0
        self._next_ms = 0.0
        self._gap_ms = FINEST_MS
        self._marks: Marks = []

    def hear(self, piece: str) -> None:
        self._pieces.append(piece)
        self._chars += len(piece)
        self._last_ms = (self._clock() - self._zero) * 1000
        if self._last_ms >= self._next_ms:
            self._mark()

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def track(self) -> Marks:
        """The marks, the first and the last piece always among them."""
        last = [round(self._last_ms), self._chars]
        if not self._pieces or self._marks[-1] == last:
            return list(self._marks)
        return [*self._marks, last]

    def _mark(self) -> None:
        self._marks.append([round(self._last_ms), self._chars])
        if len(self._marks) == MOST:
            self._marks = self._marks[::2]
            self._gap_ms *= 2
        self._next_ms = self._last_ms + self._gap_ms
