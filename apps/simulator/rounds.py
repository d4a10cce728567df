"""A later round of the simulated conductor: it holds the answer against the question, and keeps it or plans again.

It recognises a wrong answer only mostly, and now and then doubts a right one: a conductor knows no better than that.
"""

from random import Random

from apps.simulator.briefs import Brief
from apps.simulator.claims import claimed, is_right, short
from apps.simulator.excuse import is_excuse
from apps.simulator.plans import Choices, Draft, Outline
from apps.simulator.shapes import checked
from apps.simulator.solvers import Problem, solve

BEFORE = -1
"""Stands in a draft's reads for the answer of the round before, which only `"all"` can name."""

NOTICES = 0.8  # that an answer is wrong, or there is none
DOUBTS = 0.1  # a right one
DOUBTS_OPEN = 0.35  # one that nobody here can judge

LOOKS_RIGHT = "The answer so far has what the question asks for, in the form it wants. I keep it."


def reconsider(brief: Brief, question: str, *, seed: int, choices: Choices) -> Outline | None:
    """The workflow of the next round; None where the answer so far is kept."""
    answer = brief.answer_before or ""
    rng = Random(f"{seed} {question} {answer}")
    problem = solve(question)
    if rng.random() >= _doubt(answer, question, problem):
        return None
    return _again(problem, choices) if problem else _revision(question, answer, choices)


def _doubt(answer: str, question: str, problem: Problem | None) -> float:
    """How likely it is that the answer is not left at that."""
    said = claimed(answer)
    if problem:
        return DOUBTS if said is not None and is_right(said, problem, question) else NOTICES
    if not answer.strip():
        return NOTICES
    return DOUBTS_OPEN if is_excuse(answer) or said is None else DOUBTS


def _again(problem: Problem, choices: Choices) -> Outline:
    is_independent = choices.pick((True, False))
    check = checked(problem, choices)
    if not is_independent:
        because = "I do not trust the answer so far: one model goes over it."
        return Outline(because, (Draft(check, (BEFORE,)),), check)
    other = Draft(f"Without looking at anybody else's result: {problem.ask[0].lower()}{problem.ask[1:]}")
    because = "I do not trust the answer so far, so it is done again and compared."
    return Outline(because, (other, Draft(check, (BEFORE, 0))), check)


def _revision(question: str, answer: str, choices: Choices) -> Outline:
    about = short(question)
    revise = f"Revise the answer so far to “{about}”: mend what is missing or wrong, and return the whole of it."
    critic = Draft(f"Name what the answer so far to “{about}” leaves out or gets wrong; no new answer.", (BEFORE,))
    because = "The answer so far could be better." if answer.strip() else "There is no answer yet that I could return."
    return choices.pick(
        (
            Outline(because, (Draft(revise, (BEFORE,)),), revise),
            Outline(because, (critic, Draft(revise, (BEFORE, 0))), revise),
        )
    )
