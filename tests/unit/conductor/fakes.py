"""A conductor that says what it was told to say, whoever looks on, and briefs to plan for."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from apps.conductor.parse import DraftStep
from apps.conductor.planners import Brief, Proposal
from apps.conductor.prompt import PoolEntry
from apps.conductor.proposal import Progress
from apps.workers.calls import CallFailed, Completion, Usage
from apps.workflows.workflow import Step, Workflow

POOL = (PoolEntry("atlas", "Atlas", "strong"), PoolEntry("birch", "Birch", "good"))
USAGE = Usage(input_tokens=700, output_tokens=90)


class FakeConductor:
    """Says its replies one after the other, in pieces; a reply that is a failure is raised half-way."""

    def __init__(self, *replies: str | CallFailed, finish_reason: str = "stop") -> None:
        self.replies = list(replies)
        self.finish_reason = finish_reason
        self.prompts: list[str] = []
        self.temperatures: list[float | None] = []
        self.extras: list[Mapping[str, Any]] = []

    async def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
        on_delta: Callable[[str], None],
    ) -> Completion:
        self.prompts.append(messages[-1]["content"])
        self.temperatures.append(temperature)
        self.extras.append(extra or {})
        reply = self.replies.pop(0)
        if isinstance(reply, CallFailed):
            on_delta("First a draft.\nmodel_id = [1, 0]\nsubtasks = [")
            raise reply
        for at in range(0, len(reply), 5):
            on_delta(reply[at : at + 5])
        return Completion(reply, USAGE, Decimal("0.002"), 80.0, 900.0, self.finish_reason, "fake")


class FakeWatch:
    """Notes what it is told, and for a draft how many replies had been read by then."""

    def __init__(self) -> None:
        self.drafts: list[tuple[int, DraftStep]] = []
        self.proposals: list[Proposal] = []

    def drafted(self, step: DraftStep) -> None:
        self.drafts.append((len(self.proposals), step))

    async def attempted(self, proposal: Proposal) -> None:
        self.proposals.append(proposal)


def brief(*, seed: int = 7, pool: tuple[PoolEntry, ...] = POOL, rounds: int = 1, **options: Any) -> Brief:
    return Brief(task="Write a limerick.", pool=pool, max_steps=5, seed=seed, options=options, rounds=rounds)


def lists(model_id: list[int], subtasks: list[str], access_list: Sequence[Sequence[int | str]]) -> str:
    return f"model_id = {model_id}\nsubtasks = {subtasks}\naccess_list = {access_list}"


def steps_of(proposal: Proposal | None) -> tuple[Step, ...]:
    assert proposal is not None
    assert proposal.workflow is not None, proposal.error
    return proposal.workflow.steps


def progress(workflow: Workflow | None, *said: str, asked: int = 1) -> Progress:
    """What came of a workflow whose steps said so, in their order; the last of it is the answer."""
    assert workflow is not None
    results = dict(zip(workflow.keys, said, strict=True))
    return Progress(workflow=workflow, results=results, answer=said[-1] if said else "", asked=asked)
