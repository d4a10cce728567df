"""What a conductor is asked: the role, the rules, examples, the question and the models (after arXiv 2512.04388).

What stays the same from task to task comes first, which is what a provider's prompt cache can use.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from apps.core.errors import Invalid

from .examples import EXAMPLES, Example
from .prompt_parts import Encoding, PoolEntry, models, question, steps_allowed, worker_labels
from .prompt_rounds import Previous, later_round

ROLE = """\
You lead a group of language models. You are given a question, and you do not answer it yourself: you write a \
workflow, a short sequence of steps in which the models answer it together. Think first about what the question needs \
and how hard it is: an easy question deserves a single step, a hard one may deserve independent attempts that are then \
compared, or a plan that is carried out and checked.

A workflow has at most {steps}. Each step has three elements:
- a model, the one that carries out the step. The same model may be used in several steps.
- a subtask, the instruction for that model, in natural language. Say all that this model has to do and nothing that \
is left to others.
- an access list, the earlier steps whose subtasks and responses this model gets to read.

The model of the first step is sent the question and its subtask. Every later model is sent them too, and the messages \
of the steps that its access list names; of all other steps it sees nothing. The response of the last step is returned \
as the answer to the question, so the last subtask must ask for the complete answer in the form the question wants.
"""

LISTS = """\
Write down your thoughts briefly, then the workflow as three Python lists of equal length, one entry for each step:
- model_id holds the number of each step's model.
- subtasks holds each step's instruction as a string in quotes.
- access_list holds for each step the list of earlier steps it may read: [] for none, ["all"] for every earlier step, \
or their positions counted from 0, as in [0, 2]; a step can never read itself or a later one.
"""

JSON = """\
Write the workflow as one JSON object with two keys. "thinking" is a string with your thoughts, in brief. "steps" is a \
list with an object for each step:
- "worker" is the step's model, called exactly as in the list of models.
- "instruction" is the step's subtask.
- "access" is the list of earlier steps it may read, by their positions counted from 0; [] for none. A step can never \
read itself or a later one.
"""


def conductor_messages(
    task: str,
    pool: Sequence[PoolEntry],
    max_steps: int,
    reveal: bool = False,
    examples: Sequence[Example] = EXAMPLES,
    previous_error: str | None = None,
    encoding: Encoding = "lists",
    previous: Previous | None = None,
) -> list[dict[str, str]]:
    """The one message a conductor is sent.

    `reveal` shows the workers' names and strengths, which are otherwise only "Model 0", "Model 1" and so on.
    `previous` is the round before, where there was one. `previous_error` is what was wrong with its previous reply,
    when it is asked again.
    """
    labels = worker_labels(pool, reveal=reveal and encoding == "json")
    fitting = [example for example in examples if len(example.subtasks) <= max_steps]
    parts = [
        ROLE.format(steps=steps_allowed(max_steps)),
        LISTS if encoding == "lists" else JSON,
        *(_example(number, example, labels, encoding) for number, example in enumerate(fitting, start=1)),
        question(task),
        models(pool, labels, reveal=reveal),
    ]
    if previous:
        parts.append(later_round(previous, _previous(previous, labels, encoding), max_steps, encoding))
    if previous_error:
        parts.append(_again(previous_error))
    lists = "your thoughts and then the three lists model_id, subtasks and access_list"
    parts.append(f"Now write {lists if encoding == 'lists' else 'the JSON object'} for the question above.")
    return [{"role": "user", "content": "\n".join(parts)}]


VERSION: Final = "1"
VERSIONS: Final[Mapping[str, Callable[..., list[dict[str, str]]]]] = MappingProxyType({VERSION: conductor_messages})
"""Every wording that conductors were ever asked in: a run says which one it used, so it must not change any more."""


class UnknownPrompt(Invalid):
    """There is no prompt of this version."""


def prompt_of(version: str) -> Callable[..., list[dict[str, str]]]:
    """The prompt of this version, called as `conductor_messages` is. :raises UnknownPrompt: there is none."""
    if version not in VERSIONS:
        raise UnknownPrompt(
            f"There is no prompt version “{version}”; there are: {', '.join(VERSIONS)}.", field="options"
        )
    return VERSIONS[version]


def _example(number: int, example: Example, labels: Sequence[str], encoding: Encoding) -> str:
    workers = [worker % max(len(labels), 1) for worker in example.workers]  # a small pool has no Model 2
    if encoding == "lists":
        reads: list[list[int] | list[str]] = [["all"] if read == "all" else [*read] for read in example.reads]
        written = f"{example.thinking}\n\n{_as_lists(workers, example.subtasks, reads)}"
    else:
        reads = [[*range(at)] if read == "all" else [*read] for at, read in enumerate(example.reads)]
        written = _as_json(example.thinking, [_label(labels, worker) for worker in workers], example.subtasks, reads)
    return f"<example>\nExample {number}. The question is: {example.question}\n\n{written}</example>\n"


def _previous(previous: Previous, labels: Sequence[str], encoding: Encoding) -> str:
    lists = previous.lists
    if encoding == "lists":
        return _as_lists(lists.model_id, lists.subtasks, lists.access_list)
    return _as_json("", [_label(labels, worker) for worker in lists.model_id], lists.subtasks, lists.access_list)


def _label(labels: Sequence[str], worker: int) -> str:
    return labels[worker] if worker < len(labels) else f"Model {worker}"


def _as_lists(workers: Sequence[int], subtasks: Sequence[str], access: Sequence[Sequence[int | str]]) -> str:
    written = "".join(f"    {json.dumps(subtask, ensure_ascii=False)},\n" for subtask in subtasks)
    return (
        f"model_id = {json.dumps(list(workers))}\n"
        f"subtasks = [\n{written}]\n"
        f"access_list = {json.dumps([list(reads) for reads in access])}\n"
    )


def _as_json(
    thinking: str, workers: Sequence[str], subtasks: Sequence[str], access: Sequence[Sequence[int | str]]
) -> str:
    steps = [
        {"worker": worker, "instruction": subtask, "access": list(reads)}
        for worker, subtask, reads in zip(workers, subtasks, access, strict=True)
    ]
    written = {"thinking": thinking, "steps": steps} if thinking else {"steps": steps}
    return json.dumps(written, ensure_ascii=False) + "\n"


def _again(error: str) -> str:
    return (
        "Your previous reply to this question could not be used. What was wrong with it (“Step 1” is the first step, "
        f"at position 0):\n{error}\nWrite the whole workflow anew, without this fault.\n"
    )


__all__ = [
    "VERSION",
    "VERSIONS",
    "Encoding",
    "PoolEntry",
    "Previous",
    "UnknownPrompt",
    "conductor_messages",
    "prompt_of",
]
