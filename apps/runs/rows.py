"""What every call of a model pays for in the tables, each one statement instead of the ORM's two or three.

They are written once a step, inside the studio's own overhead; everything rarer goes through the models.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from apps.runs.models import Attempt, Step
from apps.workers.calls import Completion

START = """
    WITH begun AS (
        UPDATE runs_step SET status = 'running', started_at = coalesce(started_at, %(at)s) WHERE id = %(step)s
    )
    INSERT INTO runs_attempt (
        run_id, step_id, number, worker, status, digest, sent, text, error, error_kind, finish_reason,
        input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, started_at
    )
    VALUES (
        %(run)s, %(step)s, %(number)s, %(worker)s, 'running', %(digest)s, %(sent)s, '', '', '', '',
        0, 0, 0, 0, false, %(at)s
    )
    ON CONFLICT (step_id, number) DO UPDATE SET number = runs_attempt.number
    RETURNING id, (xmax = 0) AS new
"""

# The attempt first: where it was ended before (the database went away between commit and answer) nothing changes.
SUCCEED = """
    WITH ended AS (
        UPDATE runs_attempt SET
            status = 'succeeded', text = %(text)s, finish_reason = %(finish_reason)s,
            input_tokens = %(input)s, cached_tokens = %(cached)s, output_tokens = %(output)s,
            reasoning_tokens = %(reasoning)s, estimated = %(estimated)s, cost_usd = %(cost)s::numeric,
            ttft_ms = %(ttft)s, duration_ms = %(duration)s, finished_at = %(at)s
        WHERE id = %(attempt)s AND status = 'running'
        RETURNING id
    ), done AS (
        UPDATE runs_step SET status = 'succeeded', result = %(text)s, finished_at = %(at)s
        WHERE id = %(step)s AND EXISTS (SELECT FROM ended)
    )
    UPDATE runs_run SET
        input_tokens = input_tokens + %(input)s, output_tokens = output_tokens + %(output)s,
        cost_usd = cost_usd + coalesce(%(cost)s::numeric, 0), cost_unknown = cost_unknown OR %(cost)s::numeric IS NULL
    WHERE id = %(run)s AND EXISTS (SELECT FROM ended)
"""


def lock_run(run_id: int) -> tuple[str, int]:
    """The run's status and claim, its row locked until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT status, claim FROM runs_run WHERE id = %s FOR NO KEY UPDATE", [run_id])
        status, claim = cursor.fetchone()
    return status, claim


def start(
    *, step: Step, number: int, worker: str, digest: str, messages: Sequence[Mapping[str, str]], at: datetime
) -> tuple[Attempt, bool]:
    """A new attempt, and its step running; and whether it is new, or was written before and its answer lost."""
    given: dict[str, Any] = {
        "run": step.run_id,
        "step": step.pk,
        "number": number,
        "worker": worker,
        "digest": digest,
        "sent": json.dumps(messages),
        "at": at,
    }
    with connection.cursor() as cursor:
        cursor.execute(START, given)
        pk, new = cursor.fetchone()
    attempt = Attempt(
        pk=pk, run_id=step.run_id, step=step, number=number, worker=worker, digest=digest, sent=messages, started_at=at
    )
    return attempt, new


def succeed(*, step: Step, attempt: Attempt, completion: Completion, at: datetime) -> bool:
    """The attempt ended, its step done, the run's totals. False where the attempt had ended before."""
    usage = completion.usage
    given: dict[str, Any] = {
        "run": step.run_id,
        "step": step.pk,
        "attempt": attempt.pk,
        "text": completion.text,
        "finish_reason": completion.finish_reason or "",
        "input": usage.input_tokens,
        "cached": usage.cached_tokens,
        "output": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
        "estimated": usage.estimated,
        "cost": completion.cost_usd,
        "ttft": completion.ttft_ms,
        "duration": completion.duration_ms,
        "at": at,
    }
    with connection.cursor() as cursor:
        cursor.execute(SUCCEED, given)
        return bool(cursor.rowcount == 1)
