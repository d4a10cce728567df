"""Roles that a subtask can give a worker beside answering: to think ahead, to pass a verdict, to go over its own work.

They are told by what the subtask demands, not by its exact words.
"""

import re
from collections.abc import Sequence
from random import Random

from apps.simulator.claims import claimed, is_right, short
from apps.simulator.excuse import excuse
from apps.simulator.models import Model
from apps.simulator.reading import Assignment, Read
from apps.simulator.reply import Reply
from apps.simulator.solvers import Problem

NOTICES = 0.3
"""How much of its skill a simulated model has left for a mistake of its own: models rarely find them unaided."""
KEEPS = 0.95
"""The chance that it leaves a right answer of its own as it is."""

_THINKS = re.compile(
    r"\byou are (?:the |a |an )?(?:thinker|planner|strategist)\b|\bdo not (?:yet )?(?:answer|solve)\b", re.I
)
_NEXT_ROLE = re.compile(r"\bnext role\b", re.I)
_VERDICT = re.compile(r"\bACCEPT\b.*\bREJECT\b|\bREJECT\b.*\bACCEPT\b", re.S)
_WORK = r"(?:answers?|solutions?|repl(?:y|ies)|work|reasoning|attempts?)\b"
_OWN_WORK = re.compile(
    rf"\byour (?:own )?(?:\w+ )?{_WORK}[^.]{{0,80}}\b(?:improve|mistakes?|reflect|again|reconsider|revise)|"
    r"\b(?:improve|reflect (?:up)?on|reconsider|revise|go over|mistakes? in) (?:[\w ]{0,20} )?"
    rf"your (?:own |last |earlier |previous |first )?{_WORK}",
    re.I,
)
_UNJUDGED = "\n\nI cannot judge the answer, so I do not object to it.\n\nACCEPT"


def is_thinking(instruction: str) -> bool:
    """Whether it asks how to go on rather than for an answer."""
    return bool(_THINKS.search(instruction))


def names_the_next(instruction: str) -> bool:
    return bool(_NEXT_ROLE.search(instruction))


def wants_a_verdict(instruction: str) -> bool:
    return bool(_VERDICT.search(instruction))


def own_answer(assignment: Assignment) -> str | None:
    """The last result of the model's own, where it is asked to go over its own work and has stated one."""
    return _last_claim(assignment.reads) if _OWN_WORK.search(assignment.instruction) else None


def is_left_as_it_is(model: Model, problem: Problem, own: str, task: str, rng: Random) -> bool:
    """Whether the model finds nothing to mend in its own answer."""
    if is_right(own, problem, task):
        return rng.random() < KEEPS
    return rng.random() >= NOTICES * model.skill_in(problem.family)


def verify(model: Model, assignment: Assignment, problem: Problem | None, rng: Random) -> Reply:
    """A verdict on the last result that was read. A weak model believes a wrong one, or objects to a right one."""
    if problem is None:
        honest = excuse(model, assignment, rng)
        return Reply(body=honest.text, closing=_UNJUDGED)
    said = _last_claim(assignment.reads)
    lines = ["I did it again from the start:", "", *(f"- {line}" for line in problem.working)]
    if said is None:
        return Reply(body="\n".join(lines), closing="\n\nREJECT: there is no answer that I could check.")
    judges_well = rng.random() < model.skill_in(problem.family)
    if is_right(said, problem, assignment.task) == judges_well:
        lines = lines if judges_well else ["I read it line by line, and it looks right to me."]
        return Reply(body="\n".join(lines), closing=f"\n\nThe answer was {short(said)}.\n\nACCEPT")
    expected = problem.answer if judges_well else _another(problem, rng)
    return Reply(body="\n".join(lines if judges_well else lines[:1]), closing=f"\n\nREJECT: I get {short(expected)}.")


def _another(problem: Problem, rng: Random) -> str:
    return problem.wrong[rng.randrange(len(problem.wrong))] if problem.wrong else "something else"


def _last_claim(reads: Sequence[Read]) -> str | None:
    return next((said for read in reversed(reads) if (said := claimed(read.response))), None)
