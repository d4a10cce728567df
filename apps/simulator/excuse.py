"""The honest reply to what cannot be solved here: that it is simulated, and what it was given to read.

It has the shape and the length of a real reply, so that a page has headings, lists, tables and code to show. Whatever
it states about the texts was counted in them; it judges nothing and gives no result.
"""

import re
from collections.abc import Iterator, Sequence
from random import Random

from apps.simulator.models import Model
from apps.simulator.reading import Assignment
from apps.simulator.reply import Reply, tokens

QUOTED = 200  # characters of every text that was read
LEAST_S = 3.2  # a reply that its model would write sooner is filled up, since nobody could watch it

_CLOSING = "\n\n_A simulated reply: nothing above is a result._"
_INTRODUCED = re.compile(r"I am \*\*[^*\n]+\*\*, a simulated model\b")


def is_excuse(response: str) -> bool:
    """Whether a reply is one of these, which answer nothing whatever they look like."""
    return bool(_INTRODUCED.search(response)) or response.endswith(_CLOSING)


def excuse(model: Model, assignment: Assignment, rng: Random) -> Reply:
    manner = _MANNERS[rng.randrange(len(_MANNERS))]
    lines = [
        f"## {_title(assignment.instruction)}",
        "",
        f"I am **{model.name}**, a simulated model. I cannot do this: {manner}",
        *(_gathered(assignment) if assignment.reads else _alone(assignment)),
    ]
    spare = (_code, _steps) if assignment.reads else (_steps, _measured)
    for more in spare:
        if len(tokens("\n".join(lines))) < model.rate * (LEAST_S - model.ttft_ms / 1000):
            lines += more(assignment)
    return Reply(body="\n".join(lines), closing=_CLOSING)


_MANNERS = (
    "what follows shows what I read, and claims nothing.",
    "here is what I was shown, for a real model to work on.",
    "this is an outline with quotations, and no result.",
)


def _title(instruction: str) -> str:
    """The first clause of the subtask as a heading."""
    clause = re.split(r"(?<=\w)[.:;?!](?:\s|$)|\n", instruction.strip(), maxsplit=1)[0].strip()
    if len(clause) <= 70:
        return clause or "An empty subtask"
    return clause[:70].rsplit(" ", 1)[0] + " …"


def _quoted(text: str, limit: int) -> list[str]:
    short = text.strip() if len(text.strip()) <= limit else text.strip()[:limit].rstrip() + " …"
    return [f"> {line}".rstrip() for line in short.splitlines() or [""]]


def _alone(assignment: Assignment) -> Iterator[str]:
    """The subtask and the task, where nothing else was shown."""
    yield from ("", "### The subtask", "", *_quoted(assignment.instruction, 400))
    if assignment.task and assignment.task != assignment.instruction:
        yield from ("", "### The overall task", "", *_quoted(assignment.task, QUOTED))
    yield from ("", "I was given no earlier step to read.")
    yield from _code(assignment)


def _gathered(assignment: Assignment) -> Iterator[str]:
    """The beginning of each piece that was read, and the pieces side by side."""
    yield from ("", "### What I was given to read")
    for read in assignment.reads:
        yield from ("", f"{read.label} begins:", "", *_quoted(read.response, QUOTED))
    yield from ("", "### Side by side", "")
    yield from _table([(read.label, read.response) for read in assignment.reads], _points(assignment))
    yield from ("", "Words are counted, not weighed: I have no verdict.")


def _measured(assignment: Assignment) -> Iterator[str]:
    """How often the subtask and the task name each point."""
    texts = [("In the subtask", assignment.instruction), ("In the task", assignment.task)]
    yield from ("", "### The points by their words", "")
    yield from _table([(name, text) for name, text in texts if text], _points(assignment))


def _table(columns: Sequence[tuple[str, str]], points: Sequence[str]) -> Iterator[str]:
    """Texts side by side: how long each one is, and how often it names each point."""
    yield f"| | {' | '.join(name for name, _ in columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    yield f"| Characters | {' | '.join(f'{len(text):,}' for _, text in columns)} |"
    for point in points:
        counts = (text.lower().count(point.lower()) for _, text in columns)
        yield f"| “{point}” | {' | '.join(f'{count}×' if count else '–' for count in counts)} |"


_COMMON = re.compile(
    r"about|after|again|before|being|below|between|could|draft|every|first|following|given|gives|might|other|please|"
    r"question|reply|result|should|since|their|there|these|those|through|under|using|where|whether|which|while|without|"
    r"would|write"
)


def _points(assignment: Assignment) -> list[str]:
    """What the task wants spoken of, at most four: its list after a colon, else its own words."""
    text = assignment.task or assignment.instruction
    for match in re.finditer(r":[ ]+([^.:\n]{5,200})", text):
        listed = [point.strip(" '\"") for point in re.split(r",\s*(?:and\s+)?", match[1])]
        if len(listed) >= 2 and all(0 < len(point) <= 40 and "|" not in point for point in listed):
            return listed[:4]
    words = dict.fromkeys(word.lower() for word in re.findall(r"[^\W\d_]{5,30}", text))
    return [word for word in words if not _COMMON.fullmatch(word)][:4]


def _steps(assignment: Assignment) -> Iterator[str]:
    """The demands in the instruction, one by one: what a reply would have to meet."""
    clauses = re.split(r"[;:.?]\s+|\s*,?\s+(?:and|then)\s+(?=[a-z]+\b)|\n+", assignment.instruction)
    wanted = [clause.strip(" .,;:'\"") for clause in clauses if len(clause.strip()) > 8][:6]
    if not wanted:
        return
    yield from ("", "### What a reply would have to contain", "")
    for number, clause in enumerate(wanted, 1):
        yield f"{number}. {clause[0].upper()}{clause[1:160]}"


def _code(assignment: Assignment) -> Iterator[str]:
    """The code in question, or the bare signature of the function that was asked for."""
    text = f"{assignment.instruction}\n{assignment.task}"
    if block := re.search(r"^(?:def|class|SELECT|function) .*(?:\n(?:[ \t]+.*|$))*", text, re.M):
        yield from ("", "The code I was shown, unchanged:", "", "```python", block[0].rstrip(), "```")
    elif signature := re.search(r"`(\w+\([\w, =*]*\))`", text):
        yield from ("", "The signature, without an implementation:", "")
        yield from ("```python", f"def {signature[1]}:", "    raise NotImplementedError", "```")
