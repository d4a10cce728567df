"""The three lists a conductor writes (arXiv 2512.04388): model_id, subtasks and access_list, read and written.

A conductor counts workers and steps from 0, a person counts steps from 1; messages name both, because the conductor is
told what was wrong with its plan and a person reads it too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.core.errors import Invalid

from .graph import Problem, instruction_fault, places, quoted, read_fault
from .workflow import Step, Workflow

MAX_LISTED = 1_000
"""More steps than any planner allows; "all" written for each of more would grow beyond all use."""

INTEGER = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")


@dataclass(frozen=True)
class ThreeLists:
    """A workflow as a conductor writes it: `access_list` holds lists of positions from 0, or ["all"]."""

    model_id: list[int]
    subtasks: list[str]
    access_list: list[list[int] | list[str]]


class ListsInvalid(Invalid):
    """The lists are not a workflow; `problems` says why, each with the step or edge at fault."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        shown = " ".join(problem.message for problem in problems[:3])
        super().__init__(f"{shown} (and {len(problems) - 3} more)" if len(problems) > 3 else shown)
        self.problems = tuple(problems)


def from_lists(
    model_id: Sequence[object], subtasks: Sequence[object], access_list: Sequence[object], *, pool: Sequence[str]
) -> Workflow:
    """The workflow three lists describe, for the workers of `pool` in their order. Its keys are "s1", "s2", ….

    An entry of `access_list` is "all" in any case and however deeply nested (every earlier step; at the first step
    that is none), or positions, as numbers or numeric strings. Numeric strings do for `model_id` too.

    :raises ListsInvalid: carrying everything that is wrong.
    """
    if problem := _misshapen(model_id, subtasks, access_list):
        raise ListsInvalid([problem])

    problems: list[Problem] = []
    steps = []
    for position, (model, subtask, access) in enumerate(zip(model_id, subtasks, access_list, strict=True)):
        worker = _worker(model, pool, position)
        instruction = _instruction(subtask, position)
        sources = [_source(entry, position, len(subtasks)) for entry in _entries(access, position)]
        problems += [found for found in (worker, instruction, *sources) if isinstance(found, Problem)]
        if isinstance(worker, str) and isinstance(instruction, str):
            earlier = sorted({source for source in sources if isinstance(source, int)})
            keys = tuple(_key(source) for source in earlier)
            steps.append(Step(key=_key(position), instruction=instruction, worker=worker, access=keys))
    if problems:
        raise ListsInvalid(list(dict.fromkeys(problems)))
    return Workflow(steps=tuple(steps))


def to_lists(workflow: Workflow, *, pool: Sequence[str]) -> ThreeLists:
    """The workflow as three lists: ["all"] where a step reads every earlier one and there is one, else positions.

    :raises ListsInvalid: a worker is not in `pool`, or a read is not of an earlier step.
    """
    number = {worker: index for index, worker in reversed(list(enumerate(pool)))}
    place = places(workflow)
    if problems := list(_unwritable(workflow, number, place)):
        raise ListsInvalid(problems)
    return ThreeLists(
        model_id=[number[step.worker] for step in workflow.steps],
        subtasks=[step.instruction for step in workflow.steps],
        access_list=[_written(step, position, place) for position, step in enumerate(workflow.steps)],
    )


def _misshapen(model_id: Sequence[object], subtasks: Sequence[object], access_list: Sequence[object]) -> Problem | None:
    lengths = [len(model_id), len(subtasks), len(access_list)]
    if len(set(lengths)) > 1:
        counted = "model_id has {}, subtasks has {} and access_list has {}".format(*lengths)
        return Problem("lengths-differ", f"The three lists must be equally long: {counted} entries.")
    if not subtasks:
        return Problem("empty", "The workflow has no steps: all three lists are empty.")
    if len(subtasks) > MAX_LISTED:
        return Problem("too-many-steps", f"The lists have {len(subtasks):,} entries; at most {MAX_LISTED:,} are read.")
    return None


def _worker(model: object, pool: Sequence[str], position: int) -> str | Problem:
    number = _integer(model)
    if number is not None and 0 <= number < len(pool):
        return pool[number]
    known = f"the workers are numbered from 0 to {len(pool) - 1}" if pool else "there are no workers"
    message = f"{_name(position, 'model_id')} names worker {_shown(model)}; {known}."
    return Problem("unknown-worker", message, _key(position))


def _instruction(subtask: object, position: int) -> str | Problem:
    if not isinstance(subtask, str):
        message = f"{_name(position, 'subtasks')} is not a text but {_shown(subtask)}."
        return Problem("empty-instruction", message, _key(position))
    text = storable(subtask)
    if fault := instruction_fault(text):
        code, why = fault
        return Problem(code, f"{_name(position, 'subtasks')} {why}.", _key(position))
    return text


def _entries(access: object, position: int) -> list[object]:
    """What one entry of `access_list` names, flat; "all" anywhere in it is every earlier step."""
    entries: list[object] = []
    stack = [access]
    while stack:  # a loop: a model may nest deeper than Python recurses
        entry = stack.pop()
        if isinstance(entry, list | tuple | set | frozenset):
            stack.extend(reversed(list(entry)))
        elif isinstance(entry, str) and entry.strip().casefold() == "all":
            return list(range(position))
        elif entry is not None:
            entries.append(entry)
    return entries


def _source(entry: object, position: int, steps: int) -> int | Problem:
    source = _integer(entry)
    if source is not None and 0 <= source < position:
        return source
    name = _name(position, "access_list")
    allowed = f"it may read {_positions(position)}"
    key = _key(position)
    if source is None or not 0 <= source < steps:
        return Problem("unknown-reference", f"{name} reads {_shown(entry)}, which is no position; {allowed}.", key)
    edge = (_key(source), key)
    if source == position:
        return Problem("self-reference", f"{name} reads position {source}, which is itself; {allowed}.", key, edge)
    return Problem("forward-reference", f"{name} reads position {source}, which comes later; {allowed}.", key, edge)


def _positions(position: int) -> str:
    if position == 0:
        return "nothing, as no step is earlier"
    return "position 0 only" if position == 1 else f"positions 0 to {position - 1} only"


def _integer(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and INTEGER.fullmatch(value):
        return int(value)
    return None


def _shown(value: object) -> str:
    """A value a model wrote, short enough for a message."""
    if isinstance(value, str):
        return quoted(storable(value))
    if isinstance(value, int) and abs(value) >= 10**9:
        return "a number far too large"  # writing it out can fail: Python limits the digits
    if isinstance(value, int | float | None):
        return str(value)
    return f"a {type(value).__name__}"


def storable(text: str) -> str:
    """The text as PostgreSQL can keep it: surrogate pairs joined, lone halves replaced, NUL left out."""
    return text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unwritable(workflow: Workflow, number: dict[str, int], place: dict[str, int]) -> Iterator[Problem]:
    for position, step in enumerate(workflow.steps):
        if step.worker not in number:
            message = f"Step {position + 1} is given to {quoted(step.worker)}, which is not a worker of this pool."
            yield Problem("unknown-worker", message, step.key)
        for source in step.access:
            if fault := read_fault(step.key, source, place):
                code, why = fault
                yield Problem(code, f"Step {position + 1} reads {why}.", step.key, (source, step.key))


def _written(step: Step, position: int, place: dict[str, int]) -> list[int] | list[str]:
    sources = sorted({place[source] for source in step.access})
    return ["all"] if sources and len(sources) == position else list(sources)


def _name(position: int, where: str) -> str:
    return f"Step {position + 1} ({where}[{position}])"


def _key(position: int) -> str:
    return f"s{position + 1}"
