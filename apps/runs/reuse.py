"""Not paying twice: which recorded results a fork may take, and what it will therefore do.

An attempt is keyed by the digest of what was sent (worker identity and messages). A step whose request is unchanged
takes the recorded result; anything changed runs. Reuse looks only along the run's own lineage.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from django.db.models import Q

from apps.runs.models import Attempt, Run
from apps.workflows.prompt import Accessed, Rendered, request_digest, worker_messages
from apps.workflows.workflow import Step, Workflow

# (step key, digest of the request) -> the attempt whose result may be taken
Recorded = dict[tuple[str, str], Attempt]


def render(workflow: Workflow, step: Step, *, task: str, results: Mapping[str, str]) -> Rendered:
    """The messages for `step`, from the results it may read. Where a source has none it is left out."""
    accessed = [
        Accessed(
            key=source,
            position=workflow.position(source),
            instruction=workflow.step(source).instruction,
            result=results.get(source, ""),
        )
        for source in step.access
    ]
    return worker_messages(task=task, instruction=step.instruction, accessed=accessed, show_task=workflow.show_task)


def digest_of(frozen_worker: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> str:
    """What makes two requests the same: the worker's identity and parameters, and the exact messages."""
    return request_digest(frozen_worker["identity"], messages)


def recorded(run: Run, *, keys: Collection[str]) -> Recorded:
    """The results that steps of `run` may take: of the runs in its lineage, the latest of each step and request."""
    root = run.lineage_root_id
    lineage = Run.objects.filter(Q(pk=root) | Q(root=root), project=run.project_id).exclude(pk=run.pk)
    found = (
        Attempt.objects.filter(run__in=lineage, status=Attempt.Status.SUCCEEDED, step__key__in=keys)
        .select_related("run", "step")
        .only("digest", "worker", "text", "output_tokens", "cost_usd", "run__code", "step__key")
        .order_by("step__key", "digest", "-pk")
        .distinct("step__key", "digest")
    )
    return {(attempt.step.key, attempt.digest): attempt for attempt in found}


def same_request(
    known: Recorded, key: str, frozen_worker: Mapping[str, Any], messages: Sequence[Mapping[str, str]]
) -> Attempt | None:
    """What is recorded of the very same request of a step: by its worker, else by one that stands in for it."""
    chain = [frozen_worker, *frozen_worker.get("fallbacks", ())]
    return next(filter(None, (known.get((key, digest_of(each, messages))) for each in chain)), None)


@dataclass(frozen=True)
class Forecast:
    """What will become of one step, and why."""

    step: str
    verdict: Literal["run", "reuse"]
    reason: str
    once_usd: Decimal | None = None  # what the recorded call cost


def forecast(
    workflow: Workflow, *, task: str, pool: Mapping[str, Mapping[str, Any]], known: Recorded, fresh: Sequence[str] = ()
) -> list[Forecast]:
    """Say before anything is paid which steps of a fork will run and which are reused, in the workflow's order.

    A step that reads one that runs is said to run; should that one answer the same text again, it is reused after all.
    """
    results: dict[str, str] = {}
    told: list[Forecast] = []
    keys_before = {key for key, _ in known}
    for step in workflow.steps:
        rerun = [source for source in step.access if source not in results]
        worker = pool.get(step.worker)
        if step.key in fresh:
            told.append(Forecast(step.key, "run", "asked to run fresh"))
        elif worker is None:
            told.append(Forecast(step.key, "run", f"{step.worker} is not in the pool"))
        elif rerun:
            numbers = ", ".join(str(workflow.position(source) + 1) for source in rerun)
            told.append(Forecast(step.key, "run", f"its context changes because step {numbers} runs"))
        else:
            rendered = render(workflow, step, task=task, results=results)
            attempt = same_request(known, step.key, worker, rendered.messages)
            if attempt is not None:
                results[step.key] = attempt.text
                told.append(Forecast(step.key, "reuse", f"unchanged since run {attempt.run.code}", attempt.cost_usd))
            elif step.key in keys_before:
                told.append(Forecast(step.key, "run", "its instruction, worker or access list changed"))
            else:
                told.append(Forecast(step.key, "run", "it has no result yet"))
    return told
