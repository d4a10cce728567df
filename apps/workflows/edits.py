"""Changing a workflow, one small operation at a time, so that what a step may read always stays sound.

An operation either gives a workflow in which every read is of an earlier step, or is refused with the step or edge at
fault. Texts, workers and the number of steps are not judged here: people pass through such states while they edit,
and `graph.check` says what is missing.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Literal, assert_never

from pydantic import Field

from apps.core.errors import Invalid

from .graph import Problem, duplicate_keys, in_order, places, quoted, read_fault, reference_problems, sink_problems
from .workflow import Last, Select, Sink, Step, Value, Workflow

NUMBERED = re.compile(r"s([1-9][0-9]{0,8})")


class AddStep(Value):
    """A new step behind `after`, or in front of all where that is None."""

    op: Literal["add"] = "add"
    after: str | None
    instruction: str = ""
    worker: str
    access: tuple[str, ...] = ()


class RemoveStep(Value):
    """Take the step away, and with it every read of it."""

    op: Literal["remove"] = "remove"
    key: str


class MoveStep(Value):
    """Put the step at position `to`, counted from 0 in the order that results."""

    op: Literal["move"] = "move"
    key: str
    to: int


class SetInstruction(Value):
    op: Literal["instruction"] = "instruction"
    key: str
    instruction: str


class SetWorker(Value):
    op: Literal["worker"] = "worker"
    key: str
    worker: str


class Allow(Value):
    """Let `reader` read `source`: draw an edge."""

    op: Literal["allow"] = "allow"
    reader: str
    source: str


class Deny(Value):
    """Keep `reader` from reading `source`: delete an edge."""

    op: Literal["deny"] = "deny"
    reader: str
    source: str


class SetAccess(Value):
    """Let the step read exactly these."""

    op: Literal["access"] = "access"
    key: str
    access: tuple[str, ...]


class Duplicate(Value):
    """A copy right behind the step: same instruction, worker and reads, and read by nobody yet."""

    op: Literal["duplicate"] = "duplicate"
    key: str


class SetSink(Value):
    """Take the answer another way."""

    op: Literal["sink"] = "sink"
    sink: Sink


Edit = Annotated[
    AddStep | RemoveStep | MoveStep | SetInstruction | SetWorker | Allow | Deny | SetAccess | Duplicate | SetSink,
    Field(discriminator="op"),
]


@dataclass(frozen=True)
class Edited:
    """The workflow after an edit, and what else the edit changed, in sentences."""

    workflow: Workflow
    notes: tuple[str, ...] = ()


class EditRefused(Invalid):
    """The edit would make the workflow unsound, or names what is not there."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def apply(workflow: Workflow, edit: Edit, *, used: Collection[str] = ()) -> Edited:
    """The workflow with `edit` made.

    `used` are keys a new step must not take though the workflow no longer has them: a fork passes those of the run it
    was made from, so that no new step passes for an old one. Unsound reads that were there before and that the edit
    does not mend are dropped, with a note.

    :raises EditRefused: a read would not be of an earlier step, a step named is not there, the only step would go.
    """
    for problem in duplicate_keys(workflow):
        raise EditRefused(problem)  # no telling which of the steps is meant

    match edit:
        case AddStep():
            edited = _add(workflow, edit, used)
        case RemoveStep():
            edited = _remove(workflow, edit)
        case MoveStep():
            edited = _move(workflow, edit)
        case SetInstruction():
            edited = _change(workflow, edit.key, instruction=edit.instruction)
        case SetWorker():
            edited = _change(workflow, edit.key, worker=edit.worker)
        case Allow():
            edited = _allow(workflow, edit)
        case Deny():
            edited = _deny(workflow, edit)
        case SetAccess():
            edited = _set_access(workflow, edit)
        case Duplicate():
            edited = _duplicate(workflow, edit, used)
        case SetSink():
            edited = _set_sink(workflow, edit)
        case _:
            assert_never(edit)
    settled = _sound(edited)
    return Edited(settled.workflow, (*settled.notes, *_moved_answer(workflow, settled.workflow)))


def fresh_key(taken: Collection[str]) -> str:
    """The next of "s1", "s2", … after the highest taken: a gap may be a step that was removed and is not reopened."""
    numbers = [int(match[1]) for key in taken if (match := NUMBERED.fullmatch(key))]
    return next(key for number in count(max(numbers, default=0) + 1) if (key := f"s{number}") not in taken)


def _new_key(workflow: Workflow, used: Collection[str]) -> str:
    dangling = (source for step in workflow.steps for source in step.access)
    return fresh_key({*workflow.keys, *dangling, *used})


def _add(workflow: Workflow, edit: AddStep, used: Collection[str]) -> Edited:
    at = 0 if edit.after is None else _position(workflow, edit.after) + 1
    for source in edit.access:
        _check_new_step_reads(workflow, source, at)
    key = _new_key(workflow, used)
    turn = workflow.steps[at - 1].round if at else 1
    step = Step(key=key, instruction=edit.instruction, worker=edit.worker, access=edit.access, round=turn)
    return Edited(_with(workflow, [*workflow.steps[:at], step, *workflow.steps[at:]]))


def _remove(workflow: Workflow, edit: RemoveStep) -> Edited:
    gone = _position(workflow, edit.key)
    if len(workflow.steps) == 1:
        message = f"Step {gone + 1} is the only step; a workflow needs at least one."
        raise EditRefused(Problem("only-step", message, edit.key))

    left = [step for step in workflow.steps if step.key != edit.key]
    notes = []
    for now, step in enumerate(left, start=1):
        if edit.key in step.access:
            before = workflow.position(step.key) + 1
            name = f"Step {before}" if before == now else f"Step {before} (now step {now})"
            notes.append(f"{name} no longer reads step {gone + 1}.")
    sink, lost = _sink_without(workflow.sink, edit.key, gone)
    kept = _with(workflow, [_without(step, edit.key) for step in left])
    return Edited(kept.model_copy(update={"sink": sink}), (*notes, *lost))


def _sink_without(sink: Sink, key: str, position: int) -> tuple[Sink, list[str]]:
    """The sink when the step is gone: it counts one less, and with none left the last step answers again."""
    if isinstance(sink, Last) or key not in sink.over:
        return sink, []
    over = tuple(source for source in sink.over if source != key)
    if not over:
        return Last(), [f"Step {position + 1} was the last that was counted: the last step answers now."]
    changes: dict[str, object] = {"over": over}
    if isinstance(sink, Select) and sink.weights is not None:
        changes["weights"] = tuple(w for source, w in zip(sink.over, sink.weights, strict=False) if source != key)
    return sink.model_copy(update=changes), [f"The {sink.kind} no longer counts step {position + 1}."]


def _move(workflow: Workflow, edit: MoveStep) -> Edited:
    at = _position(workflow, edit.key)
    if not 0 <= edit.to < len(workflow.steps):
        message = f"There is no place {edit.to + 1}: the last is place {len(workflow.steps)}."
        raise EditRefused(Problem("no-such-place", message, edit.key))

    steps = list(workflow.steps)
    steps.insert(edit.to, steps.pop(at))
    moved = _with(workflow, steps)
    already = set(_forward(workflow))
    for edge in _forward(moved):
        if edge not in already:
            raise EditRefused(_barrier(workflow, edge, edit))
    return Edited(moved)


def _forward(workflow: Workflow) -> list[tuple[str, str]]:
    return [
        problem.edge
        for problem in reference_problems(workflow)
        if problem.edge is not None and problem.code == "forward-reference"
    ]


def _barrier(workflow: Workflow, edge: tuple[str, str], edit: MoveStep) -> Problem:
    """The read that keeps a step from moving, told in the numbers the steps have before the move."""
    source, reader = edge
    name = f"Step {workflow.position(edit.key) + 1} cannot move to place {edit.to + 1}"
    if edit.key == reader:
        why = f"it reads step {workflow.position(source) + 1}, which must stay before it"
    else:
        why = f"step {workflow.position(reader) + 1} reads it and must stay after it"
    return Problem("forward-reference", f"{name}: {why}.", edit.key, edge)


def _allow(workflow: Workflow, edit: Allow) -> Edited:
    reader = workflow.steps[_position(workflow, edit.reader)]
    _check_reads(workflow, edit.reader, edit.source)
    if edit.source in reader.access:
        return Edited(
            workflow, (f"{_name(workflow, edit.reader)} already reads {_name(workflow, edit.source, 'step')}.",)
        )
    return _change(workflow, edit.reader, access=(*reader.access, edit.source))


def _deny(workflow: Workflow, edit: Deny) -> Edited:
    reader = workflow.steps[_position(workflow, edit.reader)]
    if edit.source in reader.access:  # also where there is no such step: it is how a dangling read is mended
        return _change(workflow, edit.reader, access=_without(reader, edit.source).access)
    _position(workflow, edit.source)
    return Edited(workflow, (f"{_name(workflow, edit.reader)} does not read {_name(workflow, edit.source, 'step')}.",))


def _set_access(workflow: Workflow, edit: SetAccess) -> Edited:
    _position(workflow, edit.key)
    for source in edit.access:
        _check_reads(workflow, edit.key, source)
    return _change(workflow, edit.key, access=edit.access)


def _duplicate(workflow: Workflow, edit: Duplicate, used: Collection[str]) -> Edited:
    at = _position(workflow, edit.key)
    original = workflow.steps[at]
    copy = original.model_copy(update={"key": _new_key(workflow, used)})
    return Edited(_with(workflow, [*workflow.steps[: at + 1], copy, *workflow.steps[at + 1 :]]))


def _set_sink(workflow: Workflow, edit: SetSink) -> Edited:
    changed = workflow.model_copy(update={"sink": edit.sink})
    for problem in sink_problems(changed):
        raise EditRefused(problem)
    return Edited(changed)


def _change(workflow: Workflow, key: str, **changes: str | tuple[str, ...]) -> Edited:
    at = _position(workflow, key)
    steps = list(workflow.steps)
    steps[at] = steps[at].model_copy(update=changes)
    return Edited(_with(workflow, steps))


def _sound(edited: Edited) -> Edited:
    """Access lists in order and without doubles; reads that are still unsound dropped, with a note each."""
    place = places(edited.workflow)
    steps, notes = [], list(edited.notes)
    for position, step in enumerate(edited.workflow.steps):
        kept = []
        for source in in_order(step.access, place):
            if fault := read_fault(step.key, source, place):
                notes.append(f"Step {position + 1} no longer reads {fault[1]}.")
            else:
                kept.append(source)
        steps.append(step if step.access == tuple(kept) else step.model_copy(update={"access": tuple(kept)}))
    return Edited(_with(edited.workflow, steps), tuple(notes))


def _moved_answer(before: Workflow, after: Workflow) -> Iterator[str]:
    if before.steps and isinstance(after.sink, Last) and before.answered_by != after.answered_by:
        yield f"The answer is now the result of step {len(after.steps)}."


def _check_reads(workflow: Workflow, reader: str, source: str) -> None:
    place = places(workflow)
    if fault := read_fault(reader, source, place):
        code, why = fault
        raise EditRefused(Problem(code, f"Step {place[reader] + 1} cannot read {why}.", reader, (source, reader)))


def _check_new_step_reads(workflow: Workflow, source: str, at: int) -> None:
    place = {key: position if position < at else position + 1 for key, position in places(workflow).items()}
    if source not in place:
        message = f"The new step cannot read {quoted(source)}, which is not a step of this workflow."
        raise EditRefused(Problem("unknown-reference", message))
    if place[source] > at:
        message = f"The new step cannot read step {place[source]}, which it stands before."
        raise EditRefused(Problem("forward-reference", message, source))


def _position(workflow: Workflow, key: str) -> int:
    try:
        return workflow.position(key)
    except KeyError:
        message = f"There is no step {quoted(key)} in this workflow."
        raise EditRefused(Problem("unknown-step", message, key)) from None


def _with(workflow: Workflow, steps: Iterable[Step]) -> Workflow:
    return workflow.model_copy(update={"steps": tuple(steps)})


def _without(step: Step, source: str) -> Step:
    return step.model_copy(update={"access": tuple(key for key in step.access if key != source)})


def _name(workflow: Workflow, key: str, word: str = "Step") -> str:
    return f"{word} {workflow.position(key) + 1}"
