"""A step given to the conductor itself: a run within a run (arXiv 2512.04388, recursion by the conductor as a worker).

The nested run has the step's instruction as its task, with what the step may read as its context, and its answer is the
step's result. Whoever drives the outer run drives it, in a thread of its own: no slot waits for another slot. It is
stopped, and taken over, with the outer one.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apps.audit.log import Actor, Entry
from apps.runs.calls import close_over, usage_of
from apps.runs.claim import has_no_heart
from apps.runs.log import append, move
from apps.runs.models import Attempt, Run, Step
from apps.workers.calls import CallFailed, Completion
from apps.workflows.prompt import Rendered

TITLE_CHARS = 120


def is_nested(frozen: Mapping[str, Any]) -> bool:
    """Whether a step given to this entry of the pool becomes a run of its own."""
    return bool(frozen.get("conducts"))


def nested_task(instruction: str, rendered: Rendered) -> str:
    """The step's instruction, and behind it what it may read, in the tags in which a worker would have got it."""
    context = "".join(section.text for section in rendered.sections if section.kind in ("task", "context"))
    return f"{instruction.strip()}\n\n{context.strip()}".strip()


def nested_setup(setup: Mapping[str, Any], frozen: Mapping[str, Any], tags: Sequence[str] = ()) -> dict[str, Any]:
    """The outer run's setup, one level deeper: planned by the conductor the step was given to.

    What the step reads carries `tags`, and is now the task; an attachment of the outer task is a part of that.
    """
    depth = setup["nesting"] - 1
    pool = [worker for worker in setup["pool"] if depth > 0 or not worker.get("conducts")]
    conductor = {name: value for name, value in frozen.items() if name not in ("conducts", "strengths")}
    return dict(setup) | {
        "planner": "conductor",
        "conductor": conductor,
        "pool": pool,
        "nesting": depth,
        "rounds": 1,
        "review": False,
        "learnt": None,
        "embedder": None,
        "tags": list(tags),
        "attachments": [],
    }


def open_nested(
    outer: Run,
    *,
    attempt: Attempt,
    instruction: str,
    task: str,
    frozen: Mapping[str, Any],
    tags: Sequence[str] = (),
    by: Actor,
    at: datetime,
) -> Run:
    """The run nested in `attempt`, which waits for the outer run's driver; made where it was not made before."""
    title = " ".join(instruction.split())
    setup = nested_setup(outer.setup, frozen, tags)
    given = {
        "project_id": outer.project_id,
        "owner_id": outer.owner_id,
        "task": task,
        "title": title if len(title) <= TITLE_CHARS else title[: TITLE_CHARS - 1].rstrip() + "…",
        "profile": outer.profile,
        "setup": setup,
        "created_at": at,
    }
    nested, new = Run.objects.get_or_create(nested_in=attempt, defaults=given)
    if new:
        data = {
            "profile": nested.profile,
            "planner": setup["planner"],
            "pool": [worker["slug"] for worker in setup["pool"]],
            "max_steps": setup["max_steps"],
            "rounds": setup["rounds"],
            "nesting": setup["nesting"],
            "tags": setup["tags"],
            "nested_in": {"run": outer.code, "step": attempt.step.key, "attempt": attempt.pk},
        }
        append(nested, [Entry("run.submitted", data, {"task": task})], by=by, at=at)
    return nested


def end_nested(outer: Run, *, by: Actor, at: datetime) -> None:
    """Stop the runs nested in `outer` that are still going, and those nested in them: in the caller's transaction.

    Their own driver cuts their calls and says so, as for any run that is stopped; where it is not heard, nobody else
    would close them.
    """
    if not outer.setup.get("nesting"):
        return
    going = Run.objects.filter(nested_in__run=outer, finished_at=None).select_for_update(of=("self",))
    for nested in going.order_by("pk"):
        end_nested(nested, by=by, at=at)
        unfinished = nested.steps.filter(status__in=[Step.Status.RUNNING, Step.Status.WAITING])
        cutting = list(unfinished.filter(status=Step.Status.RUNNING).values_list("key", flat=True))
        unfinished.update(status=Step.Status.CANCELLED, finished_at=at)
        move(nested, Run.Status.CANCELLED, finished_at=at)
        lost = close_over(nested, at=at) if has_no_heart(nested, at) else []
        append(nested, [Entry("run.stopped", {"cutting": cutting, "with": outer.code}), *lost], by=by, at=at)


def reply_of(nested: Run) -> Completion:
    """The answer of a nested run that ended, as the reply of the step it was given.

    :raises CallFailed: it ended without one; nothing is gained by trying again.
    """
    if nested.status != Run.Status.SUCCEEDED:
        stopped = nested.status == Run.Status.CANCELLED
        message = "it was stopped" if stopped else nested.error or "it ended without an answer"
        why = f"The run nested in this step failed: {message}"
        raise CallFailed("nested", why, retryable=False, usage=usage_of(nested))
    started, finished = nested.started_at or nested.created_at, nested.finished_at
    assert finished is not None, "a run that succeeded has ended"
    return Completion(
        text=nested.answer,
        usage=usage_of(nested),
        cost_usd=None if nested.cost_unknown else nested.cost_usd,
        ttft_ms=None,
        duration_ms=(finished - started).total_seconds() * 1000,
        finish_reason="nested",
        model=nested.setup["conductor"]["slug"],
    )
