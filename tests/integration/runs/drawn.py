"""Workflows, edits and answers as hypothesis draws them, for properties that must hold of every run."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from apps.workers.calls import CallFailed, Completion, Endpoint, Usage
from apps.workflows import graph
from apps.workflows.edits import (
    AddStep,
    Allow,
    Deny,
    Duplicate,
    Edit,
    EditRefused,
    MoveStep,
    RemoveStep,
    SetAccess,
    SetInstruction,
    SetSink,
    SetWorker,
    apply,
)
from apps.workflows.workflow import Last, Select, Sink, Step, Vote, Workflow

WORKERS = ("sim-atlas", "sim-birch", "sim-cedar")  # few, so that hypothesis comes upon the same one again
SUBTASK = re.compile(r"<assigned-subtask-\w+>\n(.*?)\n</assigned-subtask-\w+>\s*\Z", re.S)


# --- workflows and edits -------------------------------------------------------------------------------------------


@st.composite
def workflows(draw: st.DrawFn, instructions: st.SearchStrategy[str], max_steps: int = 5) -> Workflow:
    """Sound workflows of up to `max_steps` steps, whichever way their answer is taken."""
    steps: list[Step] = []
    for position in range(draw(st.integers(1, max_steps))):
        earlier = [step.key for step in steps]
        reads = draw(st.sets(st.sampled_from(earlier))) if earlier else set()
        access = tuple(key for key in earlier if key in reads)
        worker = draw(st.sampled_from(WORKERS))
        steps.append(Step(key=f"s{position + 1}", instruction=draw(instructions), worker=worker, access=access))
    keys = [step.key for step in steps]
    return Workflow(
        steps=tuple(steps),
        sink=draw(sinks(keys)),
        show_task=draw(st.booleans()),
        on_failure=draw(st.sampled_from(["skip", "empty"])),
    )


def sinks(keys: Sequence[str]) -> st.SearchStrategy[Sink]:
    """Each way to take the answer from the results of some of `keys`."""
    over = st.lists(st.sampled_from(keys), min_size=1, max_size=len(keys), unique=True).map(tuple)
    weighed = over.map(lambda few: Select(over=few, weights=tuple(float(at % 3) for at in range(len(few)))))
    return st.one_of(st.just(Last()), over.map(lambda few: Vote(over=few)), weighed)


def edits(workflow: Workflow, instructions: st.SearchStrategy[str]) -> st.SearchStrategy[Edit]:
    """Every operation there is, on steps of `workflow`; some of them will be refused."""
    keys = workflow.keys
    key, worker = st.sampled_from(keys), st.sampled_from(WORKERS)
    few = st.lists(key, max_size=3, unique=True).map(tuple)
    edges = [(source, step.key) for step in workflow.steps for source in step.access]
    gaps = [pair for pair in combinations(keys, 2) if pair not in edges]
    return st.one_of(
        st.builds(SetInstruction, key=key, instruction=instructions),
        st.builds(SetWorker, key=key, worker=worker),
        *([st.sampled_from(edges).map(lambda edge: Deny(source=edge[0], reader=edge[1]))] if edges else []),
        *([st.sampled_from(gaps).map(lambda gap: Allow(source=gap[0], reader=gap[1]))] if gaps else []),
        st.builds(SetAccess, key=key, access=few),
        st.builds(MoveStep, key=key, to=st.integers(0, len(keys) - 1)),
        st.builds(RemoveStep, key=key),
        st.builds(Duplicate, key=key),
        st.builds(AddStep, after=key, instruction=instructions, worker=worker, access=few),
        st.builds(SetSink, sink=sinks(keys)),
    )


def edited(draw: Callable[[st.SearchStrategy[Any]], Any], workflow: Workflow, instructions: Any) -> Workflow:
    """`workflow` after a few drawn edits; those that are refused, or leave what cannot be run, are left out."""
    for _ in range(draw(st.integers(0, 3))):
        with suppress(EditRefused):
            changed = apply(workflow, draw(edits(workflow, instructions)), used=workflow.keys).workflow
            if not graph.errors(graph.check(changed, workers=WORKERS, max_steps=12)):
                workflow = changed
    return workflow


# --- answers -------------------------------------------------------------------------------------------------------


def answer(model: str, content: str) -> str | None:
    """What a model says to a prompt: always the same to the same. None: it refuses.

    The first word of the subtask says how much of the prompt the answer shows: all of it, one bit, nothing; or whether
    the model refuses some prompts, those without any context, or as the model that it is.
    """
    found = SUBTASK.search(content)
    assert found, "every prompt ends with its subtask"
    manner = found[1].split()[0]
    drawn = int(sha256(f"{model}\n{content}".encode()).hexdigest(), 16)
    refuses = {
        "picky": drawn % 3 == 0,
        "needy": "its subtask and its response:" not in content,
        "absent": model.startswith("sim-birch"),
    }
    if refuses.get(manner):
        return None
    if manner == "constant":
        return "Noted."
    return ("left" if drawn % 2 else "right") if manner == "coarse" else f"{manner} {drawn % 10**12}"


INSTRUCTIONS = st.sampled_from([f"{manner} {n}" for manner in ("plain", "coarse", "constant") for n in (1, 2)]) | (
    st.sampled_from(["picky 1", "absent 1"])
)


@dataclass
class Answering:
    """A gateway whose models answer as `answer` says, in one mood or another, and all that they were asked."""

    mood: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def stream(
        self,
        endpoint: Endpoint,
        messages: Sequence[Mapping[str, str]],
        *,
        on_delta: Callable[[str], None],
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        content = messages[0]["content"]
        self.asked.append((endpoint.model, content))
        text = answer(f"{endpoint.model}{self.mood}", content)
        if text is None:
            raise CallFailed("bad_request", "I would rather not.", retryable=False)
        on_delta(text)
        usage = Usage(len(content) // 4, output_tokens=len(text) // 4)
        return Completion(text, usage, endpoint.price.cost_usd(usage) or Decimal(0), 1.0, 2.0, "stop", endpoint.model)

    async def close(self) -> None:
        """There is nothing to close."""
