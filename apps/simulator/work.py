"""What a worker replies: it acts on its assigned subtask in the light of the task and of what it was given to read."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from apps.simulator import roles
from apps.simulator.claims import claimed, is_right, same, short, stated
from apps.simulator.excuse import excuse
from apps.simulator.models import Model
from apps.simulator.reading import Assignment
from apps.simulator.reply import Reply
from apps.simulator.solvers import Part, Problem, countdown, solve

_CHECKS = re.compile(
    r"\b(?:re-?check|double-?check|check|verify|verif\w+|validate|confirm|review|proof-?read|re-?compute|test|"
    r"compare|aggregat\w+|combine|merge|reconcile|synthesi\w+|collect|judge|pick|decide|settle|final|referee|critici[sz]e|"
    r"critique|debate|refute|majority|vote|improve|revise|reconsider|reflect|correct)\b",
    re.I,
)
_WHOLE = re.compile(r"\b(?:final|overall|aggregate|combine|compare|reconcile|synthesi\w+|decide|settle)\b", re.I)
_SHORT_ANSWER = re.compile(
    r"\b(?:who|whom|whose|which|when|where|how (?:many|much|long|far|old|often|tall|big)|"
    r"what(?:'s| is| are| was| were)|answer with|yes or no|true or false|"
    r"compute|calculate|convert|solve|count|evaluate)\b",
    re.I,
)
_LONG_ANSWER = re.compile(
    r"\b(?:compare|contrast|weigh|recommend\w*|explain|explanations?|describe|discuss|argue|analy[sz]e|assess|advise|"
    r"write|rewrite|rephrase|draft|translate|summari[sz]e|edit|review|implement|design|plan|organi[sz]e|outline|propose|"
    r"list|essay|report|pros and cons|strategy|options|why)\b",
    re.I,
)
_PLANS = re.compile(r"^\W*(?:plan|outline|list the steps|set out how|devise|describe how)\b", re.I)

_OPENINGS = {
    "answer": ("Working it out:", "Step by step:", "Here is the working:", "Let me work through it:"),
    "check": ("I did it again from the start:", "Recomputed without looking at the result:", "Checked line by line:"),
}
_READING = {"answer": "Beside what I was given to read:", "check": "What I was given to read:"}


@dataclass(frozen=True)
class Finding:
    """What the subtask comes to when it is done right, and how it goes wrong."""

    family: str
    answer: str
    working: tuple[str, ...]
    wrong: tuple[str, ...]
    fence: str = ""


def work(model: Model, assignment: Assignment, *, seed: int, response_format: str = "") -> Reply:
    """The reply of `model`; seeded, so that the same prompt is answered alike."""
    rng = Random(f"{model.id} {seed} {assignment}")
    problem = solve(assignment.task) if assignment.task else None
    if roles.wants_a_verdict(assignment.instruction):
        return _as_json(roles.verify(model, assignment, problem, rng), "", response_format)
    if problem and _is_groundwork(problem, assignment):
        return _as_json(_groundwork(problem, assignment), "", response_format)
    finding = None if _is_gathering(assignment, problem) else aim(assignment.task, assignment.instruction)
    finding = finding or _majority(assignment)
    if finding is None:
        return _as_json(excuse(model, assignment, rng), "", response_format)
    answer, working = _found(model, finding, problem, assignment, rng)
    return _as_json(_told(assignment, answer, working, finding.fence, rng), answer, response_format)


def _found(
    model: Model, finding: Finding, problem: Problem | None, assignment: Assignment, rng: Random
) -> tuple[str, tuple[str, ...]]:
    """What the model comes to, by its skill; on going over its own work mostly what it had come to before."""
    own = roles.own_answer(assignment)
    if own and problem:
        if roles.is_left_as_it_is(model, problem, own, assignment.task, rng):
            return own, ("I went over it again and find nothing to change.",)
        return _slip(finding, rng) if is_right(own, problem, assignment.task) else (finding.answer, finding.working)
    if rng.random() < model.skill_in(finding.family):
        return finding.answer, finding.working
    return _mistaken(finding, assignment, rng)


def _told(assignment: Assignment, answer: str, working: Sequence[str], fence: str, rng: Random) -> Reply:
    """The working, what was read held against it, and the answer on a line of its own."""
    verdicts = list(_verdicts(assignment, answer))
    mode = "check" if verdicts and _CHECKS.search(assignment.instruction) else "answer"
    lines = [_OPENINGS[mode][rng.randrange(len(_OPENINGS[mode]))], "", *(f"- {line}" for line in working)]
    if verdicts:
        lines += ["", _READING[mode], "", *verdicts]
    return Reply(body="\n".join(lines), closing=f"\n\n```{fence}\n{answer}\n```" if fence else f"\n\nAnswer: {answer}")


def _is_groundwork(problem: Problem, assignment: Assignment) -> bool:
    """Whether the subtask only prepares the solution: a plan, or the way our own conductor begins such a task."""
    is_plan = bool(_PLANS.search(assignment.instruction)) and not assignment.reads
    return is_plan or roles.is_thinking(assignment.instruction) or assignment.instruction.startswith(problem.method)


def _groundwork(problem: Problem, assignment: Assignment) -> Reply:
    steps = [*(part.instruction for part in problem.parts), problem.ask, problem.check]
    lines = ["What there is to start from:", "", *(f"- {line}" for line in problem.working[:-1] or (problem.method,))]
    lines += ["", "What remains to be done:", "", *(f"{number}. {step}" for number, step in enumerate(steps, 1))]
    proposal = "\n\nNext role: worker" if roles.names_the_next(assignment.instruction) else ""
    return Reply(body="\n".join(lines), closing=f"\n\nI was asked for the ground only, so I give no result.{proposal}")


def aim(task: str, instruction: str) -> Finding | None:
    """What the subtask is after: a part of the task, a sum of its own, or the task as a whole."""
    problem = solve(task) if task else None
    named = _named(problem, instruction) if problem else []
    if problem and named and len(named) < len(problem.parts) + (len(problem.parts) == 1) and not _is_whole(instruction):
        return _parts(problem, named)
    own = solve(instruction)
    if problem and (own is None or _CHECKS.search(instruction)):
        return _whole(problem)
    return _whole(own) if own else None


def _is_whole(instruction: str) -> bool:
    return bool(_WHOLE.search(instruction))


def _named(problem: Problem, instruction: str) -> list[Part]:
    """The parts that the instruction speaks of: `6.3 miles` is about `6.3 mile`, `2 * 3 * 4` is not about `2 * 3`."""
    return [
        part
        for part in problem.parts
        if re.search(rf"(?<!\w){re.escape(part.cue)}(?!\w\w|\d|\s*[*/^+])", instruction, re.I)
    ]


def _parts(problem: Problem, parts: Sequence[Part]) -> Finding:
    answers = [f"{part.cue}: {part.answer}" if len(parts) > 1 else part.answer for part in parts]
    return Finding(
        family=problem.family,
        answer="; ".join(answers),
        working=tuple(line for part in parts for line in part.working),
        wrong=parts[0].wrong if len(parts) == 1 else (),
    )


def _whole(problem: Problem) -> Finding:
    return Finding(problem.family, problem.answer, problem.working, problem.wrong, problem.fence)


def _is_gathering(assignment: Assignment, problem: Problem | None) -> bool:
    """Whether the subtask draws pieces of an unsolved task together: a sum that it mentions is not its result."""
    is_unsolved = bool(assignment.task) and problem is None
    return is_unsolved and bool(assignment.reads) and bool(_CHECKS.search(assignment.instruction))


def _majority(assignment: Assignment) -> Finding | None:
    """What most of those read give as their answer, where a short answer can be what is wanted.

    A vote says something about results that must agree, and nothing about pieces of a text: where the task is shown
    it must ask for a short answer, and where it is hidden at least half of what was read must state one.
    """
    if not _CHECKS.search(assignment.instruction) or not _wants_a_short_answer(assignment):
        return None
    answers = [answer for read in assignment.reads if (answer := stated(read.response)) and len(answer) <= 200]
    if not answers or len(answers) * 2 < len(assignment.reads):
        return None
    best = max(answers, key=answers.count)  # of equals the first
    return Finding("reading", best, (f"{answers.count(best)} of {len(answers)} answers say: {best}",), ())


def _wants_a_short_answer(assignment: Assignment) -> bool:
    """Whether the task asks for one fact or figure, as far as its words tell; a hidden task may."""
    task = assignment.task
    return not task or (bool(_SHORT_ANSWER.search(task)) and not _LONG_ANSWER.search(task))


def _mistaken(finding: Finding, assignment: Assignment, rng: Random) -> tuple[str, tuple[str, ...]]:
    """A slip of its own, or somebody else's: a weak checker believes what it reads."""
    claims = [answer for read in assignment.reads if (answer := claimed(read.response))]
    if claims and _CHECKS.search(assignment.instruction):
        return claims[-1], ("The result looks right to me.",)
    return _slip(finding, rng)


def _slip(finding: Finding, rng: Random) -> tuple[str, tuple[str, ...]]:
    """The first working lines, and then something else."""
    if not finding.wrong:
        return finding.answer, finding.working
    wrong = finding.wrong[rng.randrange(len(finding.wrong))]
    kept = tuple(line for line in finding.working[:-1] if finding.answer not in line)
    return wrong, (*kept, f"so I get {wrong}" if "\n" not in wrong else "so I get this")


def _verdicts(assignment: Assignment, answer: str) -> Iterator[str]:
    """One line for each text read: what it says, and whether that is what its subtask comes to."""
    for read in assignment.reads:
        said = claimed(read.response)
        expected = aim(assignment.task, read.instruction)
        right = expected.answer if expected else answer
        if said is None:
            yield f"- {read.label} gives no result that I could check."
        elif fault := countdown.verdict(said, assignment.task):
            yield f"- {read.label} says {short(said)}: not right, {fault}."
        elif fault == "" or same(said, right):
            yield f"- {read.label} says {short(said)}: right."
        else:
            yield f"- {read.label} says {short(said)}: not what I get, {short(right)}."


def _as_json(reply: Reply, answer: str, response_format: str) -> Reply:
    """The reply as JSON, where the request insists on it."""
    if '"json_object"' not in response_format and '"json_schema"' not in response_format:
        return reply
    try:
        parsed = json.loads(answer)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return Reply(body="", closing=answer)
    return Reply(
        body=json.dumps({"answer": answer or reply.text, "working": reply.body, "simulated": True}, ensure_ascii=False)
    )
