"""How workers do, in figures: from the latest calls of each that ended by themselves, read in one statement for all."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from apps.web.words.figures import plural, seconds, spaced

MOST_CALLS = 1_000  # of each worker, the latest
PERIODS = {"hour": ("Last hour", timedelta(hours=1)), "day": ("Last day", timedelta(days=1))}

# Calls that a stop cut or a driver lost say nothing of a worker, and a step that was a run of its own is nobody's call.
# The conditions are those of the index `attempt_of_worker`.
READ = """
    WITH asked AS (SELECT unnest(%(slugs)s::text[]) AS slug)
    SELECT asked.slug, doing.*, latest.*
    FROM asked
    CROSS JOIN LATERAL (
        SELECT
            count(*),
            count(*) FILTER (WHERE status = 'failed'),
            percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY duration_ms) FILTER (WHERE status <> 'failed'),
            percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ttft_ms) FILTER (WHERE status <> 'failed')
        FROM (
            SELECT status, duration_ms, ttft_ms FROM runs_attempt
            WHERE worker = asked.slug AND status IN ('succeeded', 'failed', 'late')
                AND finished_at >= %(since)s AND finish_reason <> 'nested' AND error_kind <> 'nested'
            ORDER BY finished_at DESC
            LIMIT %(most)s
        ) AS recent
    ) AS doing
    LEFT JOIN LATERAL (
        SELECT finished_at, status, error_kind, error_status, error, duration_ms, run_id FROM runs_attempt
        WHERE worker = asked.slug AND status IN ('succeeded', 'failed', 'late')
            AND finish_reason <> 'nested' AND error_kind <> 'nested'
        ORDER BY finished_at DESC
        LIMIT 1
    ) AS latest ON true
"""


@dataclass(frozen=True)
class LastCall:
    """The last call of a worker that ended by itself. Its `error` may hold what somebody sent: see who may read it."""

    at: datetime
    is_ok: bool
    kind: str
    status: int | None
    error: str
    duration_ms: float | None
    run_id: int

    @property
    def told(self) -> str:
        """`answered in 2.3 s`, `failed: rate limited, HTTP 429`"""
        if self.is_ok:
            return "answered" if self.duration_ms is None else f"answered in {seconds(self.duration_ms)}"
        return "failed: " + ", ".join(filter(None, [spaced(self.kind), f"HTTP {self.status}" if self.status else ""]))


@dataclass(frozen=True)
class Doing:
    """The calls of one worker in a period; times in milliseconds, of those that were answered."""

    calls: int = 0
    failed: int = 0
    durations_ms: Sequence[float] = ()  # the median and the 95th of a hundred
    first_tokens_ms: Sequence[float] = ()
    last: LastCall | None = None

    @property
    def error_rate(self) -> float:
        return self.failed / self.calls if self.calls else 0.0

    @property
    def figures(self) -> list[tuple[str, str, str]]:
        """Name, figure, and what is to be said beside it."""
        failed = f"{self.failed:,} of {plural(self.calls, 'call')}" if self.calls else "no calls"
        return [
            ("Whole reply, p50", *_middle_and_worst(self.durations_ms)),
            ("First token, p50", *_middle_and_worst(self.first_tokens_ms)),
            ("Failed", f"{self.error_rate:.0%}" if self.calls else "–", failed),
        ]

    @property
    def is_bounded(self) -> bool:
        return self.calls == MOST_CALLS


def _middle_and_worst(ms: Sequence[float]) -> tuple[str, str]:
    if not ms:
        return "–", "no answer yet"
    return seconds(ms[0]), f"p95 {seconds(ms[1])}"


def doing(slugs: Collection[str], *, since: datetime) -> dict[str, Doing]:
    """How each worker's calls since then went, and its last one whenever that was. Bounded by the workers asked for."""
    with connection.cursor() as cursor:
        cursor.execute(READ, {"slugs": list(slugs), "since": since, "most": MOST_CALLS})
        return {slug: _doing(*row) for slug, *row in cursor.fetchall()}


def _doing(calls: int, failed: int, durations: Any, first_tokens: Any, *last: Any) -> Doing:
    at, status, kind, http, error, duration_ms, run_id = last
    latest = None if at is None else LastCall(at, status != "failed", kind, http, error, duration_ms, run_id)
    return Doing(calls, failed, _known(durations), _known(first_tokens), latest)


def _known(values: Any) -> Sequence[float]:
    """A percentile of nothing is an array of nulls, or none."""
    return [] if values is None or None in values else list(values)
