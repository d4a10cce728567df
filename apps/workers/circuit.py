"""A worker's circuit: what a call's outcome says about the worker, and what callers read while it is not closed.

The state lies in Redis, shared by all drivers (`lua/trouble.lua`); here are the pure parts.
"""

from datetime import UTC, datetime
from typing import Literal

from apps.core.errors import Unavailable
from apps.workers.calls import CallFailed

Verdict = Literal["answered", "down", "busy", "alive"]

# Failures that the next call would most likely meet too. A bad request is the request's fault, a 429 a matter of pace.
DOWN = {"server", "timeout", "refused", "auth", "cut"}
LONGEST_REASON_CHARS = 300


class CircuitOpen(Unavailable):
    """The worker has failed too often in a row; `reason` is its last failure.

    `next_try` is when somebody may try again, on Redis' clock; `wait_s` how long that is from when it was said.
    """

    def __init__(self, slug: str, reason: str, next_try: datetime, wait_s: float) -> None:
        super().__init__(f"{slug} keeps failing ({reason}); it is tried again from {next_try:%H:%M:%S} UTC")
        self.slug = slug
        self.reason = reason
        self.next_try = next_try
        self.wait_s = wait_s

    @property
    def kind(self) -> str:
        """What may be said of it in another run: the rest of `reason` is what a provider said of one call."""
        return self.reason.partition(":")[0]


def verdict_on(failure: CallFailed | None) -> Verdict:
    """What a call has shown about its worker. A 429 that no waiting cures, a spent balance, is no matter of pace."""
    if failure is None:
        return "answered"
    if failure.kind == "rate_limited":
        return "busy" if failure.retryable else "alive"
    return "down" if failure.kind in DOWN else "alive"


def reason_of(failure: CallFailed | None) -> str:
    """The failure in a line, as the circuit keeps and shows it."""
    return "" if failure is None else worded(failure.kind, failure.message)


def worded(kind: str, message: str) -> str:
    """The reason that a failure of this `kind` is kept as, which its provider told of in this `message`."""
    return f"{kind}: {message}"[:LONGEST_REASON_CHARS]


def moment(ms: float) -> datetime:
    """A time as Redis tells it."""
    return datetime.fromtimestamp(ms / 1000, UTC)
