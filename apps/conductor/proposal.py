"""What a planner is given and what it gives back, whichever planner it is."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from apps.workers.calls import Completion, Usage
from apps.workflows import graph
from apps.workflows.graph import Problem
from apps.workflows.lists import ListsInvalid, ThreeLists, from_lists
from apps.workflows.workflow import Workflow

from .parse import DraftStep, Parsed
from .prompt import PoolEntry


@dataclass(frozen=True)
class Brief:
    """What is to be planned: the task, the pool in its order, the limit, and the planner's own options."""

    task: str
    pool: tuple[PoolEntry, ...]
    max_steps: int
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 1
    """How many times a conductor may plan: after the first it sees its workflow and the answer, and may change it."""
    learnt: Mapping[str, Any] | None = None
    """What a planner that learns has learnt, as it was kept."""
    embedding: tuple[float, ...] | None = None
    """The task's vector, where what was learnt was learnt on an embedding worker's vectors."""

    @property
    def workers(self) -> tuple[str, ...]:
        return tuple(entry.slug for entry in self.pool)


@dataclass(frozen=True)
class Proposal:
    """What came of planning: the workflow, or the problems that forbid it.

    With a workflow `problems` holds warnings at most. Cost, usage and times are those of the one call it came from.
    `verdict` is that of a later round: the workflow before it is "kept" (then there is none here) or "changed".
    """

    raw: str = ""
    thinking: str = ""
    repairs: tuple[str, ...] = ()
    problems: tuple[Problem | str, ...] = ()
    workflow: Workflow | None = None
    usage: Usage | None = None
    cost_usd: Decimal | None = None
    duration_ms: float | None = None
    ttft_ms: float | None = None
    verdict: Literal["", "kept", "changed"] = ""

    @property
    def is_valid(self) -> bool:
        return self.workflow is not None or self.verdict == "kept"

    @property
    def error(self) -> str:
        """All that is wrong, in words; empty where nothing is."""
        if self.is_valid:
            return ""
        return "\n".join(problem if isinstance(problem, str) else problem.message for problem in self.problems)


class Ask(Protocol):
    """One call of the conductor, recorded by whoever provides it.

    :raises apps.workers.calls.CallFailed: no whole reply came.
    """

    def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
        on_delta: Callable[[str], None],
    ) -> Awaitable[Completion]: ...


class Watch(Protocol):
    """Who looks on while a planner works."""

    def drafted(self, step: DraftStep) -> None:
        """More is known of a step whose text is still being written."""

    async def attempted(self, proposal: Proposal) -> None:
        """A reply has been read, valid or not."""


class Planner(Protocol):
    """Anything that writes a workflow: a conductor, a baseline, a person.

    `asks_conductor` where it needs a conductor to ask, `learns` where it gets better by what was recorded.
    """

    asks_conductor: ClassVar[bool]
    learns: ClassVar[bool]

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """A proposal for `brief`; without a workflow when none came of it."""


@dataclass(frozen=True)
class Progress:
    """What has come of a workflow that was carried out: for a planner that goes on from there.

    `results` are those of the steps that answered, by key. `answer` is what the workflow's sink took; empty where
    nothing was said. `asked` counts the planner's calls of a conductor so far, over all drivers of the run.
    """

    workflow: Workflow
    results: Mapping[str, str]
    answer: str
    asked: int = 0


@runtime_checkable
class Extending(Protocol):
    """A planner that looks at what came of its workflow, and may go on: by rounds, or turn by turn."""

    async def extend(self, brief: Brief, progress: Progress, *, ask: Ask, watch: Watch) -> Proposal | None:
        """The workflow with further steps behind those it has, which stay as they are.

        None where there is nothing to add and nobody had to be asked; a proposal with the verdict "kept" where a model
        was asked and wants nothing more. Everything it goes by is in `progress`: another driver may have begun the run.
        """


def propose(workflow: Workflow, brief: Brief) -> Proposal:
    """The workflow as a proposal, judged by the rules of `brief`."""
    problems = tuple(graph.check(workflow, workers=brief.workers, max_steps=brief.max_steps))
    return Proposal(problems=problems, workflow=None if graph.errors(problems) else workflow)


def judge(parsed: Parsed, brief: Brief) -> Proposal:
    """The reply of a conductor as a proposal: what it was understood to say, judged by the rules of `brief`."""
    judged = _of_lists(parsed.lists, brief) if parsed.lists else Proposal(problems=parsed.problems)
    return Proposal(
        thinking=parsed.thinking, repairs=parsed.repairs, problems=judged.problems, workflow=judged.workflow
    )


def _of_lists(lists: ThreeLists, brief: Brief) -> Proposal:
    try:
        workflow = from_lists(lists.model_id, lists.subtasks, lists.access_list, pool=brief.workers)
    except ListsInvalid as invalid:
        return Proposal(problems=invalid.problems)
    return propose(workflow, brief)
