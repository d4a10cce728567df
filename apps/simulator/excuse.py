"""The honest reply to what cannot be solved here: that it is simulated, and what it was given to read.

It has the shape and the length of a real reply, so that a page has headings, lists, tables and code to show.
"""

import re
from collections.abc import Iterator
from random import Random

from apps.simulator.models import Model
from apps.simulator.reading import Assignment
from apps.simulator.reply import Reply

QUOTED = 200  # characters of every text that was read


def excuse(model: Model, assignment: Assignment, rng: Random) -> Reply:
    lines = [
        f"## {_title(assignment.instruction)}",
        "",
        f"I am **{model.name}**, a simulated model. I can do sums, dates, units, tables "
        f"and puzzles, but not this; {_MANNERS[rng.randrange(len(_MANNERS))]}",
        "",
        "### The subtask",
        "",
        *_quoted(assignment.instruction, 400),
        *_given(assignment),
        *_steps(assignment),
        *_code(assignment),
    ]
    return Reply(body="\n".join(lines), closing="\n\n_A simulated reply: nothing above is a result._")


_MANNERS = (
    "what follows shows what I read and how a reply would be built, and claims nothing.",
    "here is what I was shown, and the outline that a real model would fill.",
    "so this is an outline with quotations, and not a result.",
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


def _given(assignment: Assignment) -> Iterator[str]:
    if assignment.task and assignment.task != assignment.instruction:
        yield from ("", "### The overall task", "", *_quoted(assignment.task, QUOTED))
    if not assignment.reads:
        yield from ("", "I was given no earlier step to read.")
        return
    yield from ("", "### What I was given to read", "")
    yield from ("| Step | Its subtask | Characters |", "|---|---|---:|")
    for read in assignment.reads:
        subtask = " ".join(read.instruction.split())[:60].replace("|", "\\|")
        yield f"| {read.label} | {subtask} | {len(read.response):,} |"
    for read in assignment.reads:
        yield from ("", f"{read.label} begins:", "", *_quoted(read.response, QUOTED))


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
