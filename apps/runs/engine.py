"""Carrying a workflow out: pure, and impossible to misuse.

`call` is handed only the results on the step's access list, so the list is enforced by what the function can see.
Nothing here knows of databases, networks or Django: production, evaluation and training share it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.workflows.workflow import Step, Workflow

Call = Callable[[Step, Mapping[str, str]], Awaitable[str]]
Skip = Callable[[Step, tuple[str, ...]], Awaitable[None]]


class StepFailed(Exception):
    """A step failed for good: its retries are spent. Data for the outcome, never a crash of the run."""

    def __init__(self, message: str, *, kind: str = "failed") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind


class StepHeld(Exception):
    """A step may not be called now, and may be later: its readers wait with it, all others go on.

    `about` says what stands in the way, as plain data.
    """

    def __init__(self, reason: str, about: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.about = dict(about or {})


@dataclass
class Outcome:
    """What came of a workflow. A step that failed has a result only where the workflow says `on_failure: empty`.

    `held` are the steps that may not be called now, and why; who reads them, however far, has come to nothing yet.
    """

    results: dict[str, str] = field(default_factory=dict)
    failed: dict[str, StepFailed] = field(default_factory=dict)
    skipped: dict[str, tuple[str, ...]] = field(default_factory=dict)
    held: dict[str, StepHeld] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        return not self.failed and not self.skipped and not self.held


async def execute(
    workflow: Workflow,
    *,
    call: Call,
    skip: Skip,
    done: Mapping[str, str] | None = None,
    failed: Mapping[str, StepFailed] | None = None,
) -> Outcome:
    """Run every step of a checked workflow as soon as what it may read is there; independent steps run in parallel.

    `done` holds the results of steps that finished before, and `failed` what failed for good before (a run that was
    taken over): they are not called again.
    When a step fails for good, steps that do not read it go on, and those that do are skipped, unless the workflow
    says `on_failure: empty` (the paper's behaviour): then its result is empty and its readers go on. When `call` raises
    `StepHeld`, the step and all that read it are left as they are, to be carried out another time.
    """
    outcome = Outcome(results=dict(done or {}))
    settled = {step.key: asyncio.Event() for step in workflow.steps}
    waiting: set[str] = set()  # what is held, and what reads that

    async def carry(step: Step) -> None:
        try:
            if step.key in outcome.results:
                return
            if failed and step.key in failed:
                raise failed[step.key]
            for source in step.access:
                await settled[source].wait()
            missing = tuple(source for source in step.access if source not in outcome.results)
            if any(source in waiting for source in missing):
                waiting.add(step.key)
            elif missing:
                outcome.skipped[step.key] = missing
                await skip(step, missing)
            else:
                outcome.results[step.key] = await call(step, {key: outcome.results[key] for key in step.access})
        except StepHeld as held:
            outcome.held[step.key] = held
            waiting.add(step.key)
        except StepFailed as failure:
            outcome.failed[step.key] = failure
            if workflow.on_failure == "empty":
                outcome.results[step.key] = ""
        finally:
            settled[step.key].set()  # never leave a reader waiting

    async with asyncio.TaskGroup() as group:
        for step in workflow.steps:
            group.create_task(carry(step), name=f"step {step.key}")
    return outcome
