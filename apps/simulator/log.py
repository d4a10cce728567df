"""What was asked of the simulator and what it answered: the log that tests read.

A row gets its number `n` when its request ends, so a reader who asks for the rows after `n` misses none.
"""

import json
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any, TextIO

KEPT = 20_000  # rows in memory; the file has all of them


@dataclass
class Row:
    """One request, from its arrival to its end."""

    started: float
    model: str = ""
    base: str = ""
    messages: Any = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    stream: bool = False
    outcome: str = "running"
    sent: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    first_token: float | None = None
    in_flight: int = 0
    n: int | None = None
    finished: float | None = None
    pieces: list[tuple[int, float]] | None = None  # characters sent and the time, after each write; only with `trace`
    input: Any = None  # the texts whose vectors were asked for, in the place of messages

    def as_json(self) -> dict[str, Any]:
        row = {
            "n": self.n,
            "at": datetime.fromtimestamp(self.started, UTC).isoformat(),
            "model": self.model,
            "messages": self.messages,
            "params": self.params,
            "stream": self.stream,
            "outcome": self.outcome,
            "text": "".join(self.sent),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "started": self.started,
            "first_token": self.first_token,
            "finished": self.finished,
            "in_flight": self.in_flight,
        }
        more = {"pieces": self.pieces, "input": self.input}
        return row | {name: value for name, value in more.items() if value is not None}


class RequestLog:
    """Rows of finished requests, those still running, and how many ran at once."""

    def __init__(self, path: Path | None = None) -> None:
        self._file: TextIO | None = path.open("a", encoding="utf-8", buffering=1) if path else None
        self._rows: deque[Row] = deque(maxlen=KEPT)
        self._running: dict[int, Row] = {}
        self._count = 0
        self._now: Counter[str] = Counter()
        self._peak: Counter[str] = Counter()
        self._peak_all = 0

    def open(self) -> Row:
        row = Row(started=time())
        self._running[id(row)] = row
        row.in_flight = len(self._running)
        self._peak_all = max(self._peak_all, row.in_flight)
        return row

    def name(self, row: Row, *, base: str) -> None:
        """Count the row as a request for the model `base`, once that is known."""
        row.base = base
        self._now[base] += 1
        self._peak[base] = max(self._peak[base], self._now[base])

    def close(self, row: Row) -> None:
        del self._running[id(row)]
        if row.base:
            self._now[row.base] -= 1
        self._count += 1
        row.n, row.finished = self._count, time()
        self._rows.append(row)
        if self._file:
            self._file.write(json.dumps(row.as_json()) + "\n")

    def after(self, n: int) -> list[dict[str, Any]]:
        return [row.as_json() for row in self._rows if (row.n or 0) > n]

    def running(self) -> dict[str, Any]:
        """The requests in flight, and for every model how many there are and the most there have been."""
        return {
            "running": [row.as_json() for row in self._running.values()],
            "in_flight": {base: count for base, count in self._now.items() if count},
            "peak": dict(self._peak),
            "in_flight_all": len(self._running),
            "peak_all": self._peak_all,
        }

    def clear(self) -> None:
        """Forget the finished rows and the peaks; numbers go on, so that no cursor points into the past."""
        self._rows.clear()
        self._peak = Counter({base: count for base, count in self._now.items() if count})
        self._peak_all = len(self._running)

    def shut(self) -> None:
        if self._file:
            self._file.close()
