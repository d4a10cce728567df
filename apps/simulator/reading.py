"""Finding one's way in a prompt: what is asked, what was given to read, and where the examples end.

Nothing here knows the exact words of a prompt. Texts are found by their tags first and by headings next, so that a
prompt may be reworded without the simulator having to follow.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from apps.simulator.solvers.problem import number_of

Texts = tuple[tuple[str, str], ...]  # role and text of every message

DEFAULT_STEPS = 5

_OPENING = re.compile(r"<(?P<tag>[A-Za-z][\w-]{0,60})(?P<attributes>\s[^<>]{0,200})?>")
_MARK = re.compile(r"-[0-9a-f]{8}$|[-_]?\d+$")  # what makes a tag unlike any in the text between
_STEP_NUMBER = re.compile(r"\bstep\W{0,2}(\d+)\b", re.I)

_TASKS = {"task", "overall-task", "overall_task", "question", "user-question", "problem", "user-task", "query"}
_SUBTASKS = {"subtask", "instruction", "step-subtask", "step-instruction"}
_ASSIGNED = {"assigned-subtask", "assigned_subtask", "your-subtask", "your_subtask", "assigned-task", "assignment"}
_RESULTS = {"response", "result", "answer", "output", "step-response", "step-result"}
_POOLS = {"models", "workers", "pool"}
_EXAMPLES = {"example", "examples", "worked-example", "worked-examples", "worked_examples"}


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


@dataclass(frozen=True)
class Brief:
    """A conductor's prompt. `models` are the words after "Model 0:" and so on, empty where nothing was revealed."""

    question: str
    max_steps: int
    models: tuple[str, ...]


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
    task = next((element.text for element in found if element.name in _TASKS), "")
    assigned = next((element.text for element in reversed(found) if element.name in _ASSIGNED), None)
    reads = tuple(_reads(found))
    if assigned is None:
        assigned = _assigned_by_heading(text, found, has_reads=bool(reads))
    return Assignment(task=task.strip(), instruction=assigned.strip(), reads=reads)


def _assigned_by_heading(text: str, found: Sequence[Element], *, has_reads: bool) -> str:
    heading = re.search(r"^\W*(?:your |the )?(?:assigned )?(?:subtask|instruction)[^\n:]{0,40}:\s*", text, re.I | re.M)
    if heading and not has_reads:
        return text[heading.end() :]
    last = found[-1] if found else None
    if last and last.name in _SUBTASKS | _TASKS:
        return last.text
    if has_reads and last:
        return text[text.rfind(f"</{last.name}") :].partition(">")[2]
    return text


def _reads(found: Sequence[Element]) -> Iterator[Read]:
    """Pairs of a subtask and its response, side by side or together inside a step's element."""
    instruction = label = ""
    number = 0
    for element in found:
        if element.name in _SUBTASKS:
            instruction, label = element.text, _label(element, number)
        elif element.name in _RESULTS:
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


def is_for_a_conductor(texts: Texts, response_format: str = "") -> bool:
    text = "\n".join(text for _, text in texts) + response_format
    return bool(re.search(r"access[_ ]list|model_id", text, re.I)) and bool(
        re.search(r"model[_ ]?\d|subtasks?", text, re.I)
    )


@lru_cache(maxsize=512)
def read_brief(texts: Texts) -> Brief:
    """The question, the step limit and the models that a conductor is given; the worked examples are left aside."""
    text = "\n\n".join(text for role, text in texts if role in ("user", "system", "developer"))
    found = list(elements(text))
    pool = next((element for element in reversed(found) if element.name in _POOLS), None)
    asked = [element for element in found if element.name in _TASKS]
    before_pool = [element for element in asked if pool and element.start < pool.start]
    ours = (before_pool or asked)[-1:]  # an earlier one could be an example's, a later one quoted from an old reply
    examples = [element for element in found if element.name in _EXAMPLES]
    rules = _without(text, [*examples, *ours])
    question = ours[0].text if ours else _question_by_heading(rules)
    models = _models(pool.text if pool else rules, rules)
    return Brief(question=question.strip(), max_steps=_max_steps(rules), models=models)


def _without(text: str, parts: Sequence[Element]) -> str:
    for element in sorted(parts, key=lambda element: element.start, reverse=True):
        text = f"{text[: element.start]}\n{text[element.end :]}"
    return text


def _question_by_heading(text: str) -> str:
    """The text under the first heading "Question" or "Task" that follows the last worked plan."""
    plans = list(re.finditer(r"^\W*access[_ ]list\W.*$", text, re.I | re.M))
    heading = r"^[#*\s]*(?:the |user )*(?:question|task|problem|user question)\b[^\n:]{0,30}:?[*\s]*(?::|\n)[*\s]*"
    starts = [match.end() for match in re.finditer(heading, text, re.I | re.M)]
    after = [start for start in starts if not plans or start > plans[-1].end()] or starts[-1:]
    if not after:
        return text.strip().rpartition("\n\n")[2]
    rest = text[after[0] :]
    end = re.search(
        r"^[#*\s]*(?:available |the )*(?:models?|workers?|pool)\b[^\n]{0,60}:?[*\s]*$|^\W*Model 0\b", rest, re.I | re.M
    )
    return rest[: end.start()] if end else rest


def _max_steps(rules: str) -> int:
    amount = r"(\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)"
    most = r"(?:at most|up to|no more than|maximum(?: of)?|limit(?: of)?)"
    for pattern in (
        rf"{most}\s+{amount}\s+(?:\w+\s+)?steps?",
        rf"{amount}\s+steps?\s+(?:at most|or fewer|maximum)",
        rf"steps?\b[^.\n\d]{{0,40}}(?:at most|limit|maximum|up to)[^.\n\d]{{0,20}}?{amount}\b",
        rf"(?:maximum|max|limit)[^.\n\d]{{0,40}}steps?[^.\n\d]{{0,10}}{amount}\b",
        rf"(?:maximum|max|between)[^.\n]{{0,20}}\b1 (?:and|to) {amount} steps?",
    ):
        match = re.search(pattern, rules, re.I)
        value = number_of(match[1]) if match else None
        if value:
            return max(1, int(value))
    return DEFAULT_STEPS


def _models(listed: str, rules: str) -> tuple[str, ...]:
    lines = dict(re.findall(r"^\W{0,6}Model (\d{1,3})\b[*`]*[:.)\s—–-]*(.*)$", listed, re.M))
    numbers = {int(number) for number in re.findall(r"\bModel (\d{1,3})\b", listed)}
    count = max(numbers) + 1 if numbers else _counted(rules)
    return tuple(lines.get(str(number), "").strip() for number in range(count))


def _counted(rules: str) -> int:
    match = re.search(
        r"\b(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)\s+(?:\w+\s+)?models\b", rules, re.I
    )
    value = number_of(match[1]) if match else None
    return max(1, int(value)) if value else 1
