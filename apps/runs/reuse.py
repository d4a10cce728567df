"""Not paying twice: which recorded results a fork may take, and what it will therefore do.

An attempt is keyed by the digest of what was sent (worker identity and messages). A step whose request is unchanged
takes the recorded result; anything changed runs. Reuse looks only along the run's own lineage, and what was erased is
not there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from django.db.models import Q

from apps.runs.models import Attempt, Run
from apps.workflows.graph import listed
from apps.workflows.prompt import Accessed, Rendered, request_digest, worker_messages
from apps.workflows.workflow import Step, Workflow

# (step key, digest of the request; where another worker answered it, with that one's behind it) -> the attempt whose
# result may be taken
Recorded = dict[tuple[str, str], Attempt]


def render(workflow: Workflow, step: Step, *, task: str, results: Mapping[str, str]) -> Rendered:
    """The messages for `step`, from the results it may read. Where a source has none it is left out."""
    places = {each.key: (at, each.instruction) for at, each in enumerate(workflow.steps)}
    accessed = [
        Accessed(key=source, position=places[source][0], instruction=places[source][1], result=results.get(source, ""))
        for source in step.access
    ]
    return worker_messages(task=task, instruction=step.instruction, accessed=accessed, show_task=workflow.show_task)


def digest_of(frozen_worker: Mapping[str, Any], messages: Sequence[Mapping[str, str]]) -> str:
    """What makes two requests the same: the worker's identity and parameters, and the exact messages."""
    return request_digest(frozen_worker["identity"], messages)


def recorded(run: Run, *, keys: Collection[str]) -> Recorded:
    """The results that steps of `run` may take: of each step and request what its parent took, else the latest.

    What somebody answered in another worker's stead stands under the request that this one was made first.
    """
    root = run.lineage_root_id
    lineage = Run.objects.filter(Q(pk=root) | Q(root=root), project=run.project_id).exclude(pk=run.pk)
    answered = (
        Attempt.objects.filter(status=Attempt.Status.SUCCEEDED, step__key__in=keys, run__erased_at=None)
        .select_related("run", "step")
        .only("digest", "worker", "text", "output_tokens", "cost_usd", "run__code", "step__key", "step__worker")
    )
    each_latest = ("step__key", "digest", "step__worker")
    found = sorted(
        answered.filter(run__in=lineage).order_by(*each_latest, "-pk").distinct(*each_latest), key=lambda one: one.pk
    )
    if run.parent_id is not None:
        # A run elsewhere in the lineage may have asked the same anew: this one goes on from what its parent has.
        taken = Attempt.objects.filter(run=run.parent_id, status=Attempt.Status.REUSED).values("source")
        found += answered.filter(Q(run=run.parent_id) | Q(pk__in=taken))
    known = {(attempt.step.key, attempt.digest): attempt for attempt in found}
    return _stood_in(found) | known


def _stood_in(found: Sequence[Attempt]) -> Recorded:
    """Answers of those who stood in for a step's own worker, by what that one was to be sent, and they were."""
    instead = [attempt for attempt in found if attempt.worker != attempt.step.worker]
    setups = dict(Run.objects.filter(pk__in={attempt.run_id for attempt in instead}).values_list("pk", "setup"))
    sent = dict(Attempt.objects.filter(pk__in=[attempt.pk for attempt in instead]).values_list("pk", "sent"))
    known: Recorded = {}
    for attempt in instead:
        own = next(worker for worker in setups[attempt.run_id]["pool"] if worker["slug"] == attempt.step.worker)
        known[attempt.step.key, _instead(digest_of(own, sent[attempt.pk]), attempt.digest)] = attempt
    return known


def _instead(asked: str, answered: str) -> str:
    """The name of a request that was made `asked` first, and `answered` by somebody else."""
    return f"{asked} {answered}"


def same_request(
    known: Recorded, key: str, frozen_worker: Mapping[str, Any], messages: Sequence[Mapping[str, str]]
) -> Attempt | None:
    """What is recorded of the very same request to a step's worker: by that one, or by one that still stands in for it.

    What somebody else was asked in the first place is another request, whoever answers it.
    """
    asked = digest_of(frozen_worker, messages)
    instead = (_instead(asked, digest_of(each, messages)) for each in frozen_worker.get("fallbacks", ()))
    return next(filter(None, (known.get((key, name)) for name in (asked, *instead))), None)


@dataclass(frozen=True)
class Forecast:
    """What will become of one step, and why."""

    step: str
    verdict: Literal["run", "reuse"]
    reason: str
    once_usd: Decimal | None = None  # what the recorded call cost
    source: Attempt | None = None  # whose result is reused
    may_reuse: bool = False  # it runs only because what it reads does: should that say the same again, it is reused


def forecast(
    workflow: Workflow, *, task: str, pool: Mapping[str, Mapping[str, Any]], known: Recorded, fresh: Sequence[str] = ()
) -> list[Forecast]:
    """Say before anything is paid which steps of a fork will run and which are reused, in the workflow's order.

    A step that reads one that runs is said to run; should that one answer the same text again, it is reused after all.
    """
    results: dict[str, str] = {}
    before = _latest_texts(known)
    told: list[Forecast] = []
    numbers = {key: number for number, key in enumerate(workflow.keys, start=1)}
    for step in workflow.steps:
        rerun = [source for source in step.access if source not in results]
        worker = pool.get(step.worker)
        if step.key in fresh:
            told.append(Forecast(step.key, "run", "asked to run fresh"))
        elif worker is None:
            told.append(Forecast(step.key, "run", f"{step.worker} is not in the pool"))
        elif rerun:
            same = before | results
            may_reuse = all(source in same for source in step.access) and bool(
                _taken(workflow, step, task=task, worker=worker, results=same, known=known)
            )
            reason = f"its context changes because {_run(sorted(numbers[source] for source in rerun))}"
            told.append(Forecast(step.key, "run", reason, may_reuse=may_reuse))
        elif attempt := _taken(workflow, step, task=task, worker=worker, results=results, known=known):
            results[step.key] = attempt.text
            told.append(
                Forecast(step.key, "reuse", f"unchanged since run {attempt.run.code}", attempt.cost_usd, attempt)
            )
        elif step.key in before:
            told.append(Forecast(step.key, "run", "its instruction, worker or access list changed"))
        else:
            told.append(Forecast(step.key, "run", "it has no result yet"))
    return told


def _run(numbers: Sequence[int]) -> str:
    """`step 2 runs`, `steps 2 and 4 run`"""
    return f"step {numbers[0]} runs" if len(numbers) == 1 else f"steps {listed(numbers)} run"


def _taken(
    workflow: Workflow,
    step: Step,
    *,
    task: str,
    worker: Mapping[str, Any],
    results: Mapping[str, str],
    known: Recorded,
) -> Attempt | None:
    """What is recorded of `step` if what it reads has said `results`."""
    return same_request(known, step.key, worker, render(workflow, step, task=task, results=results).messages)


def _latest_texts(known: Recorded) -> dict[str, str]:
    """What each step answered last."""
    latest: dict[str, Attempt] = {}
    for (key, _), attempt in known.items():
        if key not in latest or attempt.pk > latest[key].pk:
            latest[key] = attempt
    return {key: attempt.text for key, attempt in latest.items()}
