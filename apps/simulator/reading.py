"""Finding one's way in a prompt: the texts between its tags, and what a worker is asked and given to read.

Nothing here knows the exact words of a prompt. Texts are found by their tags first and by headings next, so that a
prompt may be reworded without the simulator having to follow.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

Texts = tuple[tuple[str, str], ...]  # role and text of every message

_OPENING = re.compile(r"<(?P<tag>[A-Za-z][\w-]{0,60})(?P<attributes>\s[^<>]{0,200})?>")
_MARK = re.compile(r"-[0-9a-f]{8}$|[-_]?\d+$")  # what makes a tag unlike any in the text between
_MARKED = re.compile(r"^[\w-]+-[0-9a-f]{8} ")
_STEP_NUMBER = re.compile(r"\bstep\W{0,2}(\d+)\b", re.I)

TASKS = {"task", "overall-task", "overall_task", "question", "user-question", "problem", "user-task", "query"}
SUBTASKS = {"subtask", "instruction", "step-subtask", "step-instruction"}
_ASSIGNED = {"assigned-subtask", "assigned_subtask", "your-subtask", "your_subtask", "assigned-task", "assignment"}
RESULTS = {"response", "result", "answer", "output", "step-response", "step-result"}


@dataclass(frozen=True)
class Element:
    """A text between tags, the words since the element before it, and where in the prompt it stands."""

    name: str
    text: str
    before: str
    attributes: str
    start: int
    end: int


@dataclass(frozen=True)
class Read:
    """An earlier step as the worker was shown it; `label` is how the prompt calls it."""

    label: str
    instruction: str
    response: str


@dataclass(frozen=True)
class Assignment:
    """A worker's prompt. `task` is empty where the overall task was not shown."""

    task: str
    instruction: str
    reads: tuple[Read, ...] = ()


def elements(text: str) -> Iterator[Element]:
    """The outermost elements of the text, in order. A tag that is never closed is plain text."""
    at = end_of_last = 0
    while opening := _OPENING.search(text, at):
        tag = opening["tag"]
        end = text.find(f"</{tag}>", opening.end())
        if end < 0:
            at = opening.end()
            continue
        at = end + len(tag) + 3
        yield Element(
            name=_MARK.sub("", tag).lower(),
            text=text[opening.end() : end].removeprefix("\n").removesuffix("\n"),
            before=text[end_of_last : opening.start()],
            attributes=f"{tag} {opening['attributes'] or ''}",
            start=opening.start(),
            end=at,
        )
        end_of_last = at


def user_text(texts: Texts) -> str:
    return next((text for role, text in reversed(texts) if role == "user"), texts[-1][1] if texts else "")


@lru_cache(maxsize=2048)
def read_assignment(texts: Texts) -> Assignment:
    """What a worker is to do. A prompt without any structure is an instruction as a whole."""
    text = user_text(texts)
    found = list(elements(text))
    task = next((element.text for element in found if element.name in TASKS), "")
    assigned = next((element.text for element in reversed(found) if element.name in _ASSIGNED), None)
    reads = tuple(_reads(found))
    if assigned is None:
        assigned = _assigned_by_heading(text, found, has_reads=bool(reads))
    return Assignment(task=_outermost(task.strip()), instruction=assigned.strip(), reads=reads)


def nested_in(task: str) -> Assignment | None:
    """The step of an outer workflow that became this task, where it is one: its subtask, and behind it in marked tags
    what a worker would have been shown."""
    found = list(elements(task))
    if not found or not _MARKED.search(found[0].attributes) or found[0].name not in TASKS | SUBTASKS | _ASSIGNED:
        return None
    if any(element.name in _ASSIGNED for element in found):
        return read_assignment((("user", task),))
    outer = next((element.text for element in found if element.name in TASKS), "")
    instruction = found[0].before.strip().rpartition("\n")[0]
    return Assignment(task=_outermost(outer.strip()), instruction=instruction.strip(), reads=tuple(_reads(found)))


def _outermost(task: str) -> str:
    """The task that all is about: of a nested one the task around it, or its own subtask where that is not shown."""
    nested = nested_in(task)
    return task if nested is None else nested.task or nested.instruction


def _assigned_by_heading(text: str, found: Sequence[Element], *, has_reads: bool) -> str:
    heading = re.search(r"^\W*(?:your |the )?(?:assigned )?(?:subtask|instruction)[^\n:]{0,40}:\s*", text, re.I | re.M)
    if heading and not has_reads:
        return text[heading.end() :]
    last = found[-1] if found else None
    if last and last.name in SUBTASKS | TASKS:
        return last.text
    if has_reads and last:
        return text[text.rfind(f"</{last.name}") :].partition(">")[2]
    return text


def _reads(found: Sequence[Element]) -> Iterator[Read]:
    """Pairs of a subtask and its response, side by side or together inside a step's element."""
    instruction = label = ""
    number = 0
    for element in found:
        if element.name in SUBTASKS:
            instruction, label = element.text, _label(element, number)
        elif element.name in RESULTS:
            number += 1
            yield Read(label or _label(element, number - 1), instruction, element.text)
            instruction = label = ""
        elif element.name.startswith(("step", "context", "previous", "earlier", "results")):
            for read in _reads(list(elements(element.text))):
                number += 1
                yield Read(_label(element, number - 1), read.instruction, read.response)


def _label(element: Element, position: int) -> str:
    match = _STEP_NUMBER.search(element.before) or re.search(r"\bstep\D{0,12}(\d+)\b", element.attributes[:60], re.I)
    return f"Step {match[1]}" if match and len(match[1]) < 4 else f"Step {position + 1}"
