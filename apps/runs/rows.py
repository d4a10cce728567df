"""What every call of a model pays for in the tables, each one statement instead of the ORM's two or three.

They are written once a step, inside the studio's own overhead; everything rarer goes through the models.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.backends.utils import CursorWrapper

from apps.audit.statements import Statement
from apps.runs.models import Attempt, Run, Step
from apps.workers.calls import Completion
from apps.workflows.sinks import Answer

# Only where money was set aside under `ref`, if it had to be: nobody is called on credit.
START = """
    WITH paid AS (
        SELECT
        WHERE %(ref)s::text IS NULL OR EXISTS (SELECT FROM spend_line WHERE ref = %(ref)s AND state <> 'released')
    ), begun AS (
        UPDATE runs_step SET status = 'running', note = '', started_at = coalesce(started_at, %(at)s)
        WHERE id = %(step)s AND EXISTS (SELECT FROM paid)
    )
    INSERT INTO runs_attempt (
        run_id, step_id, number, worker, status, digest, sent, text, error, error_kind, finish_reason,
        input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, started_at
    )
    SELECT
        %(run)s, %(step)s, %(number)s, %(worker)s, 'running', %(digest)s, %(sent)s, '', '', '', '',
        0, 0, 0, 0, false, %(at)s
    FROM paid
    ON CONFLICT (step_id, number) DO UPDATE SET number = runs_attempt.number
    RETURNING id, (xmax = 0) AS new
"""

# The attempt first: where it was ended before (the database went away between commit and answer) nothing changes.
SUCCEED = """
    WITH ended AS (
        UPDATE runs_attempt SET
            status = 'succeeded', text = %(text)s, track = %(track)s::jsonb, finish_reason = %(finish_reason)s,
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


TAKE_RUN = """
    UPDATE runs_run SET
        driver = %(driver)s, claim = claim + 1, status = %(status)s, hold = '',
        heart_at = %(heart_at)s, started_at = %(started_at)s
    WHERE id = %(run)s AND claim = %(claim)s AND status = %(was)s AND heart_at IS NOT DISTINCT FROM %(last_heard)s
"""

SUCCEED_RUN = """
    UPDATE runs_run SET
        status = 'succeeded', answer = %(text)s, answer_step = %(step)s, answer_rule = %(rule)s,
        answer_detail = %(detail)s, finished_at = %(at)s
    WHERE id = %(run)s AND status = 'running'
    RETURNING input_tokens + output_tokens, CASE WHEN cost_unknown THEN NULL ELSE cost_usd END
"""


def lock_run(run_id: int) -> Statement[tuple[str, int]]:
    """The run's status and claim, its row locked until the transaction ends."""
    sql = "SELECT status, claim FROM runs_run WHERE id = %(run)s FOR NO KEY UPDATE"
    return Statement(sql, {"run": run_id}, lambda cursor: cursor.fetchone())


def take_run(run: Run, *, was: str, last_heard: datetime | None) -> Statement[bool]:
    """Makes the run its driver's, as `run` has it; False where somebody has changed it since `run` was read."""
    given = {
        "run": run.pk,
        "claim": run.claim,
        "was": was,
        "last_heard": last_heard,
        "driver": run.driver,
        "heart_at": run.heart_at,
        "started_at": run.started_at,
        "status": run.status,
    }
    return Statement(TAKE_RUN, given, lambda cursor: bool(cursor.rowcount == 1))


def start(
    *,
    step: Step,
    number: int,
    worker: str,
    digest: str,
    messages: Sequence[Mapping[str, str]],
    at: datetime,
    ref: str | None = None,
) -> Statement[tuple[Attempt, bool] | None]:
    """A new attempt, and its step running; and whether it is new, or was written before and its answer lost.

    None where the money for it, under `ref` in the ledger, was refused.
    """
    given: dict[str, Any] = {
        "run": step.run_id,
        "step": step.pk,
        "number": number,
        "worker": worker,
        "digest": digest,
        "sent": json.dumps(messages),
        "at": at,
        "ref": ref,
    }

    def read(cursor: CursorWrapper) -> tuple[Attempt, bool] | None:
        found = cursor.fetchone()
        if found is None:
            return None
        pk, new = found
        about = {"number": number, "worker": worker, "digest": digest, "sent": messages, "started_at": at}
        return Attempt(pk=pk, run_id=step.run_id, step=step, **about), new

    return Statement(START, given, read)


def succeed(*, step: Step, attempt: Attempt, completion: Completion, at: datetime) -> Statement[bool]:
    """The attempt ended, its step done, the run's totals. False where the attempt had ended before."""
    usage = completion.usage
    given: dict[str, Any] = {
        "run": step.run_id,
        "step": step.pk,
        "attempt": attempt.pk,
        "text": completion.text,
        "track": None if attempt.track is None else json.dumps(attempt.track),
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
    return Statement(SUCCEED, given, lambda cursor: bool(cursor.rowcount == 1))


def succeed_run(*, run: Run, answer: Answer, at: datetime) -> Statement[tuple[int, Decimal | None] | None]:
    """The run's answer and its end: its tokens and its cost (None: unknown). None where it may not succeed any more."""
    given: dict[str, Any] = {
        "run": run.pk,
        "text": answer.text,
        "step": answer.step,
        "rule": answer.rule,
        "detail": json.dumps(answer.detail),
        "at": at,
    }
    return Statement(SUCCEED_RUN, given, lambda cursor: cursor.fetchone())
