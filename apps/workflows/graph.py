"""What a workflow means as a graph, and what is wrong with it, said step by step and edge by edge.

Steps are the nodes; an edge runs from the step that is read to the step that reads it. Only reads that obey the rules
become edges, so the graph of any workflow, however broken, is acyclic and every question below has an answer.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import networkx as nx

from .workflow import Last, Select, Vote, Workflow

MAX_INSTRUCTION = 20_000
"""Characters one instruction may have."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or (a warning) that is allowed and probably not meant.

    `code` is for programs, `message` for the reader. `step` is the key of the step at fault; `edge` is
    (source, reader) where a read is at fault.
    """

    code: str
    message: str
    step: str | None = None
    edge: tuple[str, str] | None = None
    severity: Literal["error", "warning"] = "error"


def check(workflow: Workflow, *, workers: Collection[str], max_steps: int) -> list[Problem]:
    """Everything that is wrong with `workflow` for a pool of `workers`: first the whole, then step by step.

    Time is linear in the steps, their reads and their text.
    """
    return [
        *_of_the_whole(workflow, max_steps),
        *_of_instructions(workflow),
        *_of_workers(workflow, frozenset(workers)),
        *reference_problems(workflow),
        *sink_problems(workflow),
        *_of_dead_steps(workflow),
    ]


def errors(problems: Collection[Problem]) -> list[Problem]:
    """Those that keep a workflow from being carried out."""
    return [problem for problem in problems if problem.severity == "error"]


def as_digraph(workflow: Workflow) -> "nx.DiGraph[str]":
    """The workflow as a graph, nodes in the order of the steps, edges from the step read to its reader."""
    place = places(workflow)
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(place)
    for step in workflow.steps:
        graph.add_edges_from(
            (source, step.key) for source in step.access if source in place and place[source] < place[step.key]
        )
    return graph


def waves(workflow: Workflow) -> list[list[str]]:
    """Steps that can run side by side: each stands in the first wave after everything it reads."""
    place = places(workflow)
    return [sorted(wave, key=place.__getitem__) for wave in nx.topological_generations(as_digraph(workflow))]


def critical_path(workflow: Workflow, weight: Mapping[str, float] | None = None) -> list[str]:
    """The chain of reads with the greatest total weight: what the run has to wait for.

    `weight` is the cost of each step (seconds, tokens); without it every step weighs 1, in it a missing step weighs 0.
    Of chains that weigh the same the one with more steps wins, then the one that stands first.
    """
    graph = as_digraph(workflow)
    best: dict[str, tuple[float, int]] = {}
    came_from: dict[str, str | None] = {}
    for key in graph:  # the order of the steps is a topological order
        source = max(graph.predecessors(key), key=best.__getitem__, default=None)
        total, length = (0.0, 0) if source is None else best[source]
        best[key] = (total + (1.0 if weight is None else weight.get(key, 0.0)), length + 1)
        came_from[key] = source

    path: list[str] = []
    at = max(best, key=best.__getitem__, default=None)
    while at is not None:
        path.append(at)
        at = came_from[at]
    return path[::-1]


def dead_steps(workflow: Workflow) -> list[str]:
    """Steps the answer does not depend on: read by nobody, or only by steps that are dead themselves.

    The last step of every round counts as read: whoever planned the next round was shown its result.
    """
    graph = as_digraph(workflow)
    ends = {step.round: step.key for step in workflow.steps}  # of several steps of a round the last stays
    roots = {*ends.values(), *workflow.answered_by} if workflow.rounds > 1 else {*workflow.answered_by}
    alive = {key for root in roots & set(graph) for key in (root, *nx.ancestors(graph, root))}
    return [key for key in graph if key not in alive]


def ancestors(workflow: Workflow, key: str) -> set[str]:
    """Every step whose result can have shaped that of `key`. :raises KeyError: there is no such step."""
    workflow.position(key)
    return nx.ancestors(as_digraph(workflow), key)


def descendants(workflow: Workflow, key: str) -> set[str]:
    """Every step that the result of `key` can shape. :raises KeyError: there is no such step."""
    workflow.position(key)
    return nx.descendants(as_digraph(workflow), key)


def lost_by_removing(workflow: Workflow, key: str) -> list[str]:
    """What would be lost with `key`, a sentence for each loss. Steps are called by the numbers they have now.

    :raises KeyError: there is no such step.
    """
    workflow.position(key)
    place = places(workflow)
    without = [step for step in workflow.steps if step.key != key]
    still_read = {source for step in without for source in step.access} | {step.key for step in without[-1:]}
    sources = as_digraph(workflow).predecessors(key)
    return [
        *(
            f"Step {place[step.key] + 1} will no longer read step {place[key] + 1}."
            for step in without
            if key in step.access
        ),
        *(f"Step {place[source] + 1} will be read by no step." for source in sources if source not in still_read),
        *(
            f"The answer will be the result of step {place[step.key] + 1}."
            for step in without[-1:]
            if workflow.steps[-1].key == key
        ),
    ]


def places(workflow: Workflow) -> dict[str, int]:
    """Each key's position from 0, in order; where a key is doubled, its first."""
    place: dict[str, int] = {}
    for position, step in enumerate(workflow.steps):
        place.setdefault(step.key, position)
    return place


def reference_problems(workflow: Workflow) -> Iterator[Problem]:
    """Every read that is not of an earlier step, or is named twice."""
    place = places(workflow)
    for position, step in enumerate(workflow.steps):
        for source, times in Counter(step.access).items():
            if fault := read_fault(step.key, source, place):
                code, why = fault
                yield Problem(code, f"Step {position + 1} reads {why}.", step.key, (source, step.key))
            elif times > 1:
                message = f"Step {position + 1} lists step {place[source] + 1} more than once; once is enough."
                yield Problem("doubled-reference", message, step.key, (source, step.key))


def read_fault(reader: str, source: str, place: Mapping[str, int]) -> tuple[str, str] | None:
    """Why `reader` may not read `source`: the code, and words that go on after "reads" or "cannot read"."""
    if source not in place:
        return "unknown-reference", f"{quoted(source)}, which is not a step of this workflow"
    if source == reader:
        return "self-reference", "itself; a step may read only earlier steps"
    if place[source] > place[reader]:
        return "forward-reference", f"step {place[source] + 1}, which comes later; a step may read only earlier steps"
    return None


def quoted(name: str) -> str:
    """A name that may have come from anywhere, short enough for a message."""
    return f"“{name if len(name) <= 60 else name[:59] + '…'}”"


def listed(items: Collection[int | str]) -> str:
    """`1, 2 and 3`"""
    *rest, last = [str(item) for item in items]
    return f"{', '.join(rest)} and {last}" if rest else last


def unstorable(text: str) -> bool:
    """Whether PostgreSQL would refuse the text: it knows neither NUL nor half of a surrogate pair."""
    try:
        return b"\x00" in text.encode()
    except UnicodeEncodeError:
        return True


def _of_the_whole(workflow: Workflow, max_steps: int) -> Iterator[Problem]:
    count = len(workflow.steps)
    if not count:
        yield Problem("empty", "The workflow has no steps; it needs at least one.")
    if count > max_steps:
        allowed = "1 is" if max_steps == 1 else f"{max_steps} are"
        yield Problem("too-many-steps", f"The workflow has {count} steps; at most {allowed} allowed.")
    yield from duplicate_keys(workflow)


def duplicate_keys(workflow: Workflow) -> Iterator[Problem]:
    """One problem for each key that several steps share."""
    positions: dict[str, list[int]] = {}
    for number, step in enumerate(workflow.steps, start=1):
        positions.setdefault(step.key, []).append(number)
    for key, numbers in positions.items():
        if len(numbers) > 1:
            message = f"Steps {listed(numbers)} share the key {quoted(key)}; every step needs its own."
            yield Problem("duplicate-key", message, key)


def _of_instructions(workflow: Workflow) -> Iterator[Problem]:
    for number, step in enumerate(workflow.steps, start=1):
        if fault := instruction_fault(step.instruction):
            code, why = fault
            yield Problem(code, f"Step {number} {why}.", step.key)


def instruction_fault(instruction: str) -> tuple[str, str] | None:
    """What is wrong with an instruction: the code, and words that go on after "Step 3"."""
    if not instruction.strip():
        return "empty-instruction", "has no instruction"
    if len(instruction) > MAX_INSTRUCTION:
        length = f"{len(instruction):,} characters; at most {MAX_INSTRUCTION:,} are allowed"
        return "long-instruction", f"has an instruction of {length}"
    if unstorable(instruction):
        return "unstorable-instruction", "has a character in its instruction that cannot be stored (NUL or half a pair)"
    return None


def _of_workers(workflow: Workflow, workers: frozenset[str]) -> Iterator[Problem]:
    for number, step in enumerate(workflow.steps, start=1):
        if not step.worker:
            yield Problem("unknown-worker", f"Step {number} has no worker.", step.key)
        elif step.worker not in workers:
            message = f"Step {number} is given to {quoted(step.worker)}, which is not a worker of this pool."
            yield Problem("unknown-worker", message, step.key)


def sink_problems(workflow: Workflow) -> Iterator[Problem]:
    """Whatever keeps the answer from being taken as the sink says."""
    if isinstance(workflow.sink, Last):
        return
    what = "vote" if isinstance(workflow.sink, Vote) else "selection"
    for key in workflow.sink.over:
        if key not in workflow.keys:
            message = f"The {what} counts {quoted(key)}, which is not a step of this workflow."
            yield Problem("unknown-reference", message)
    if len(set(workflow.sink.over)) < len(workflow.sink.over):
        yield Problem("doubled-reference", f"The {what} counts a step more than once; once is enough.")
    if not workflow.sink.over:
        yield Problem("empty-sink", f"The {what} has no steps to choose from; name at least one.")
    weights = workflow.sink.weights if isinstance(workflow.sink, Select) else None
    if weights is not None and len(weights) != len(workflow.sink.over):
        yield Problem("weights-differ", "The selection needs one weight for each of its steps.")


def _of_dead_steps(workflow: Workflow) -> Iterator[Problem]:
    dead = dead_steps(workflow)
    graph, place = as_digraph(workflow), places(workflow)
    for key in dead:
        readers = sorted(place[reader] + 1 for reader in graph.successors(key))
        who = f"only by {_steps(readers)}, which the answer does not depend on" if readers else "by no later step"
        message = f"Step {place[key] + 1} is read {who}: its result is not part of the answer."
        yield Problem("dead-step", message, key, severity="warning")


def _steps(numbers: Collection[int]) -> str:
    return f"step{'s' if len(numbers) > 1 else ''} {listed(numbers)}"


def in_order(access: Collection[str], place: Mapping[str, int]) -> tuple[str, ...]:
    """An access list as the workflow keeps it: each key once, in the order of the steps, unknown ones at the end."""
    return tuple(sorted(dict.fromkeys(access), key=lambda source: place.get(source, len(place))))
