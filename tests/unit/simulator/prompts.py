"""Prompts as the studio writes them: these tests fail when a prompt is reworded past the simulator's understanding."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from apps.conductor.prompt import PoolEntry, Previous, conductor_messages
from apps.conductor.prompt_turns import ROLES, Taken, turn_messages
from apps.simulator.models import MODELS, Model
from apps.simulator.reading import Texts
from apps.simulator.speak import speak
from apps.workers.calls import Completion, Usage
from apps.workflows.lists import ThreeLists
from apps.workflows.prompt import Accessed, worker_messages
from apps.workflows.workflow import Step, Workflow

POOL = (
    PoolEntry("sim-atlas", "Atlas", "strong at everything"),
    PoolEntry("sim-birch", "Birch", "good at numbers"),
    PoolEntry("sim-cedar", "Cedar", "fast"),
    PoolEntry("sim-delta", "Delta", "cheap"),
)
WITH_ITSELF = (*POOL, PoolEntry("sim-conductor", "Simulated conductor", is_conductor=True))
ONE_STEP = ThreeLists(model_id=[0], subtasks=["Answer it."], access_list=[[]])


def asked_to_conduct(task: str, *, pool: Sequence[PoolEntry] = POOL, max_steps: int = 5, **options: Any) -> Texts:
    return _texts(conductor_messages(task, pool, max_steps, **options))


def asked_again(task: str, answer: str, *, lists: ThreeLists = ONE_STEP, **options: Any) -> Texts:
    """The prompt of a second round: the workflow of the first was `lists`, and `answer` came of it."""
    return asked_to_conduct(task, previous=Previous(lists=lists, answer=answer, round=1), **options)


def asked_for_a_turn(task: str, *taken: tuple[int, str, str], roles: Sequence[str] = ROLES, **options: Any) -> Texts:
    """The prompt of a coordinator after the turns `taken`: model, role and response."""
    turns = [Taken(*each) for each in taken]
    return _texts(turn_messages(task, POOL, turns, turns=options.pop("turns", 5), roles=roles, **options))


def asked_to_work(
    task: str, instruction: str, accessed: Sequence[tuple[str, str]] = (), *, show_task: bool = True
) -> Texts:
    steps = [Accessed(f"s{at + 1}", at, subtask, result) for at, (subtask, result) in enumerate(accessed)]
    return _texts(worker_messages(task=task, instruction=instruction, accessed=steps, show_task=show_task).messages)


class SimulatedConductor:
    """The planners' `ask`, answered by a simulated model without a server between."""

    def __init__(self, model: Model = MODELS["sim-conductor"]) -> None:
        self.model = model
        self.replies: list[str] = []

    async def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
        on_delta: Callable[[str], None],
    ) -> Completion:
        texts = tuple((message["role"], message["content"]) for message in messages)
        text = speak(self.model, texts, seed=(extra or {}).get("seed", 0)).text
        self.replies.append(text)
        on_delta(text)
        return Completion(text, Usage(1, 0, 1), Decimal(0), 1.0, 1.0, "stop", self.model.id)


def carry_out(workflow: Workflow, task: str, results: dict[str, str]) -> None:
    """Add the results of the steps that have none yet, each by its simulated worker."""
    for step in workflow.steps:
        if step.key not in results:
            results[step.key] = speak(MODELS[step.worker], _asked(workflow, step, task, results)).text


def _asked(workflow: Workflow, step: Step, task: str, results: Mapping[str, str]) -> Texts:
    accessed = [
        Accessed(key, workflow.position(key), workflow.step(key).instruction, results[key]) for key in step.access
    ]
    return _texts(worker_messages(task=task, instruction=step.instruction, accessed=accessed).messages)


def _texts(messages: list[dict[str, str]]) -> Texts:
    return tuple((message["role"], message["content"]) for message in messages)
