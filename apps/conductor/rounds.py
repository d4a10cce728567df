"""A later round of planning: the workflow so far as a conductor wrote it, and what its next reply makes of it.

After the recursion of the Conductor paper (arXiv 2512.04388): three empty lists keep the answer, three others are a
workflow that is carried out behind the one there is, and whose "all" includes the step that gave the answer so far.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from apps.workflows import graph
from apps.workflows.edits import fresh_key
from apps.workflows.graph import Problem
from apps.workflows.lists import ListsInvalid, ThreeLists, from_lists
from apps.workflows.workflow import Last, Step, Workflow

from .parse import Parsed
from .prompt_rounds import Previous
from .proposal import Brief, Progress, Proposal


def previous_round(progress: Progress, brief: Brief) -> Previous:
    """The last round of the workflow so far, as the conductor would have written it for the pool of `brief`."""
    workflow = progress.workflow
    number = {slug: index for index, slug in reversed(list(enumerate(brief.workers)))}
    steps = [step for step in workflow.steps if step.round == workflow.rounds]
    lists = ThreeLists(
        model_id=[number.get(step.worker, len(number)) for step in steps],
        subtasks=[step.instruction for step in steps],
        access_list=[_as_written(step, steps[:position]) for position, step in enumerate(steps)],
    )
    return Previous(lists=lists, answer=progress.answer, round=workflow.rounds)


def judge_round(parsed: Parsed, brief: Brief, progress: Progress) -> Proposal:
    """The reply to a later round, judged by the rules of `brief`: kept, or changed to a workflow with further steps."""
    told = Proposal(thinking=parsed.thinking, repairs=parsed.repairs, problems=parsed.problems)
    if parsed.lists is None:
        return told
    if not any((parsed.lists.model_id, parsed.lists.subtasks, parsed.lists.access_list)):
        return replace(told, verdict="kept")
    try:
        alone = from_lists(parsed.lists.model_id, parsed.lists.subtasks, parsed.lists.access_list, pool=brief.workers)
    except ListsInvalid as invalid:
        return replace(told, problems=invalid.problems)
    # Judged by itself: the limit is a round's, and the conductor counts the steps of this round alone.
    problems = graph.check(alone, workers=brief.workers, max_steps=brief.max_steps)
    if graph.errors(problems):
        return replace(told, problems=tuple(problems))
    whole = _behind(progress, alone, parsed.lists.access_list)
    return replace(told, problems=_warnings(whole), workflow=whole, verdict="changed")


def answering_step(progress: Progress) -> str:
    """The step whose result is the answer so far: the last one that the answer is taken from and that says so."""
    workflow = progress.workflow
    candidates = workflow.keys if isinstance(workflow.sink, Last) else workflow.sink.over
    said = [key for key in candidates if progress.results.get(key) == progress.answer]
    return said[-1] if said else candidates[-1]


def _as_written(step: Step, earlier: Sequence[Step]) -> list[int] | list[str]:
    keys = [each.key for each in earlier]
    reads_beyond = any(key not in keys for key in step.access)  # only "all" lets a step read the round before
    if reads_beyond or (keys and set(keys) == set(step.access)):
        return ["all"]
    return [position for position, key in enumerate(keys) if key in step.access]


def _behind(progress: Progress, alone: Workflow, access_list: Sequence[Sequence[int | str]]) -> Workflow:
    """The workflow so far, and behind it the steps of the new round under keys that are not taken."""
    before = progress.workflow
    keys = _fresh_keys(before, alone)
    answering = answering_step(progress)
    steps = [
        step.model_copy(
            update={
                "key": keys[step.key],
                "access": (*_if_all(access, answering), *(keys[source] for source in step.access)),
                "round": before.rounds + 1,
            }
        )
        for step, access in zip(alone.steps, access_list, strict=True)
    ]
    return before.model_copy(update={"steps": (*before.steps, *steps), "sink": Last()})


def _fresh_keys(before: Workflow, alone: Workflow) -> Mapping[str, str]:
    taken = {*before.keys, *(source for step in before.steps for source in step.access)}
    keys: dict[str, str] = {}
    for key in alone.keys:
        keys[key] = fresh_key({*taken, *keys.values()})
    return keys


def _if_all(access: Iterable[int | str], answering: str) -> tuple[str, ...]:
    return (answering,) if "all" in access else ()


def _warnings(whole: Workflow) -> tuple[Problem, ...]:
    """What is odd about the last round, in the numbers that its steps have in the whole."""
    new = {step.key for step in whole.steps if step.round == whole.rounds}
    workers = {step.worker for step in whole.steps}
    found = graph.check(whole, workers=workers, max_steps=len(whole.steps))
    return tuple(problem for problem in found if problem.step in new)
