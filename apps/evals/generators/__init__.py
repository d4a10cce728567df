"""Generated tasks: kinds with one right answer each, worded as people word them, and made from a seed.

They are what the simulated workers can really work out, so that planners can be compared without a paid model; a real
model gets nothing that a person could not answer with pencil and paper. Answers are computed here, from the numbers a
task was made of, never by reading the task back.
"""

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import Final

from apps.core.errors import Invalid

from . import arithmetic, comparison, countdown, dates, lists, logic, reading, stages, strings, tables, units
from .task import Generator, Task

KINDS: Final[Mapping[str, Generator]] = MappingProxyType(
    {
        "arithmetic": arithmetic.make,
        "countdown": countdown.make,
        "units": units.make,
        "dates": dates.make,
        "strings": strings.make,
        "lists": lists.make,
        "tables": tables.make,
        "reading": reading.make,
        "logic": logic.make,
        "comparison": comparison.make,
        "stages": stages.make,
    }
)
MIXED: Final = "mixed"
SETS: Final = (MIXED, *KINDS)

SEEDS: Final = 2**31
MOST_TASKS: Final = 5_000
TRIES: Final = 1_000


class UnknownSet(Invalid):
    """There is no set of tasks of this name."""


class TooManyTasks(Invalid):
    """More tasks than there are different ones."""


def make_task(kind: str, seed: int) -> Task:
    """The task of a kind that a seed stands for. :raises UnknownSet: there is no such kind."""
    if kind not in KINDS:
        raise UnknownSet(f"There is no kind “{kind[:63]}”; there are: {', '.join(KINDS)}.", field="set")
    made = KINDS[kind](Random(f"{kind} {seed}"))
    return Task(kind=kind, text=made.text, answer=made.answer, seed=seed, grader=made.grader)


def generate(set_name: str, n: int, seed: int) -> list[Task]:
    """`n` different tasks of a set; of "mixed" equally many of each kind, one fewer of some where n does not divide.

    The first tasks of a longer list are those of a shorter one.

    :raises UnknownSet: :raises TooManyTasks:
    """
    if set_name not in SETS:
        raise UnknownSet(f"There is no set “{set_name[:63]}”; there are: {', '.join(SETS)}.", field="set")
    if not 1 <= n <= MOST_TASKS:
        raise TooManyTasks(f"From 1 to {MOST_TASKS:,} tasks can be made at a time, not {n:,}.", field="n")
    rng = Random(f"{set_name} {seed}")
    kinds = list(KINDS) if set_name == MIXED else [set_name]
    tasks: list[Task] = []
    seen: set[str] = set()
    while len(tasks) < n:
        if len(tasks) % len(kinds) == 0:
            rng.shuffle(kinds)
        tasks.append(_another(kinds[len(tasks) % len(kinds)], rng, seen))
        seen.add(tasks[-1].text)
    return tasks


def _another(kind: str, rng: Random, seen: set[str]) -> Task:
    for _ in range(TRIES):
        task = make_task(kind, rng.randrange(SEEDS))
        if task.text not in seen:
            return task
    raise TooManyTasks(f"There are not that many different tasks of the kind “{kind}”.", field="n")


__all__ = ["KINDS", "MIXED", "SETS", "Task", "TooManyTasks", "UnknownSet", "generate", "make_task"]
