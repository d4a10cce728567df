"""Shapes for tasks that can be solved: one step for the easy, a fan for what has parts, an attempt and a check else."""

from collections.abc import Sequence

from apps.simulator.plans import Choices, Draft, Outline, everything_before
from apps.simulator.solvers import Part, Problem
from apps.simulator.solvers.problem import listed

_CHECKING = ("Check", "Verify", "Double-check", "Go over and check")
_CARE = ("", " Show the working in a line or two.", " Write down every intermediate value.", " Be brief.")
_FORM = ("", " End with the answer in the form the task asks for.", " Return the answer on a line of its own.")


def outline(problem: Problem, limit: int, choices: Choices) -> Outline:
    """A shape for the problem within `limit` steps, as the seed chooses."""
    if problem.is_easy or limit == 1:
        return _one_step(problem, choices)
    if problem.combine:
        return choices.pick((_fan, _fan_and_check))(problem, limit, choices)
    if len(problem.parts) > 1:
        return choices.pick((_attempts, _hint_and_attempts, _three_attempts))(problem, choices)
    return choices.pick((_attempt_and_check, _plan_first, _two_and_check))(problem, choices)


def _one_step(problem: Problem, choices: Choices) -> Outline:
    leads = (
        "This needs no division: one step answers it.",
        "One call is enough here; a second would only repeat it.",
        "A single, well-defined question, so a single step.",
    )
    form = choices.pick(_FORM)
    alone = problem.ask + choices.pick(_CARE) + form
    return Outline(choices.pick(leads), (Draft(alone),), alone)


def part_of_a_whole(asked: str) -> Outline:
    """A shape for a subtask whose sense lies in the task around it: an attempt, and somebody who does it again."""
    check = Draft(f"Check what you were given by doing it again. It was: {asked}", (0,))
    return Outline("This is a part of a larger task: an attempt and a check will do.", (Draft(asked), check), asked)


def checked(problem: Problem, choices: Choices) -> str:
    """The instruction to check the problem's answer, in one of several wordings."""
    return choices.pick(_CHECKING) + problem.check.removeprefix("Check") + choices.pick(_FORM)


def _attempt_and_check(problem: Problem, choices: Choices) -> Outline:
    check = checked(problem, choices)
    drafts = (Draft(problem.ask + choices.pick(_CARE)), Draft(check, (0,)))
    return Outline("A slip is easy here, so one model attempts it and another does it again.", drafts, problem.ask)


def _plan_first(problem: Problem, choices: Choices) -> Outline:
    first = problem.parts[0].instruction if problem.parts else problem.method
    check = checked(problem, choices)
    drafts = (
        Draft(first, needed=False),
        Draft(problem.ask + choices.pick(_CARE), (0,)),
        Draft(check, choices.pick(((1,), (0, 1)))),
    )
    return Outline("I have the ground prepared first, then the sum done on it, and then checked.", drafts, problem.ask)


def _two_and_check(problem: Problem, choices: Choices) -> Outline:
    check = checked(problem, choices)
    other = f"Without looking at anybody else's result: {problem.ask[0].lower()}{problem.ask[1:]}"
    drafts = (Draft(problem.ask + choices.pick(_CARE)), Draft(other, needed=False), Draft(check, (0, 1)))
    return Outline(
        "Two independent attempts show a slip by their difference; a third model settles it.", drafts, problem.ask
    )


def _attempts(problem: Problem, choices: Choices) -> Outline:
    attempts = [Draft(part.instruction) for part in problem.parts]
    check = Draft(checked(problem, choices), everything_before(len(attempts)))
    because = (
        "A search can miss what another way of looking finds: independent attempts, and a checker who evaluates them."
    )
    return Outline(because, (*attempts, check), problem.ask)


def _hint_and_attempts(problem: Problem, choices: Choices) -> Outline:
    attempts = [Draft(part.instruction, (0,), needed=at == 0) for at, part in enumerate(problem.parts)]
    check = Draft(checked(problem, choices), everything_before(len(attempts) + 1)[1:])
    because = "First a list of what comes near, then attempts that start from it, then a check of each."
    return Outline(because, (Draft(problem.method, needed=False), *attempts, check), problem.ask)


def _three_attempts(problem: Problem, choices: Choices) -> Outline:
    attempts = [
        Draft(problem.ask + choices.pick(_CARE)),
        *(Draft(part.instruction, needed=False) for part in problem.parts),
    ]
    check = Draft(checked(problem, choices), everything_before(len(attempts)))
    return Outline(
        "Three models look for it in their own ways; the last evaluates what they found.",
        (*attempts, check),
        problem.ask,
    )


def _fan(problem: Problem, limit: int, choices: Choices) -> Outline:
    fan = [Draft(instruction) for instruction in _grouped(problem.parts, limit - 1)]
    last = Draft(problem.combine + choices.pick(_FORM), everything_before(len(fan)))
    names = listed([part.cue for part in problem.parts])
    because = (
        f"{names} can be computed independently of each other, so they run side by side and the last step compares."
    )
    return Outline(because, (*fan, last), problem.ask)


def _fan_and_check(problem: Problem, limit: int, choices: Choices) -> Outline:
    """The parts, an independent attempt at the whole beside them, and a last step that reads all."""
    if limit < 3:
        return _fan(problem, limit, choices)
    fan = [
        Draft(instruction) for instruction in _grouped(problem.parts, min(limit - 2, max(2, len(problem.parts) // 2)))
    ]
    whole = Draft(problem.ask + choices.pick(_CARE))
    last = Draft(checked(problem, choices), everything_before(len(fan) + 1))
    because = (
        "The parts are computed side by side, and one model attempts the whole: where they differ, something slipped."
    )
    return Outline(because, (*fan, whole, last), problem.ask)


def _grouped(parts: Sequence[Part], groups: int) -> list[str]:
    """The parts' instructions in at most so many groups, in order and of equal size as far as that goes."""
    groups = max(1, min(groups, len(parts)))
    size, more = divmod(len(parts), groups)
    ends = [size * (group + 1) + min(group + 1, more) for group in range(groups)]
    starts = [0, *ends[:-1]]
    return [" ".join(part.instruction for part in parts[start:end]) for start, end in zip(starts, ends, strict=True)]
