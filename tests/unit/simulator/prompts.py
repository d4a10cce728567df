"""Prompts as the studio writes them: these tests fail when a prompt is reworded past the simulator's understanding."""

from collections.abc import Sequence
from typing import Any

from apps.conductor.prompt import PoolEntry, conductor_messages
from apps.simulator.reading import Texts
from apps.workflows.prompt import Accessed, worker_messages

POOL = (
    PoolEntry("sim-atlas", "Atlas", "strong at everything"),
    PoolEntry("sim-birch", "Birch", "good at numbers"),
    PoolEntry("sim-cedar", "Cedar", "fast"),
    PoolEntry("sim-delta", "Delta", "cheap"),
)


def asked_to_conduct(task: str, *, pool: Sequence[PoolEntry] = POOL, max_steps: int = 5, **options: Any) -> Texts:
    return _texts(conductor_messages(task, pool, max_steps, **options))


def asked_to_work(
    task: str, instruction: str, accessed: Sequence[tuple[str, str]] = (), *, show_task: bool = True
) -> Texts:
    steps = [Accessed(f"s{at + 1}", at, subtask, result) for at, (subtask, result) in enumerate(accessed)]
    return _texts(worker_messages(task=task, instruction=instruction, accessed=steps, show_task=show_task).messages)


def _texts(messages: list[dict[str, str]]) -> Texts:
    return tuple((message["role"], message["content"]) for message in messages)
