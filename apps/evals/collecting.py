"""What came of a run, read from its rows when it has ended, and graded."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from apps.runs.models import Attempt, Proposal, Run
from apps.workflows import graph
from apps.workflows.sinks import take_answer
from apps.workflows.workflow import Vote, Workflow

from .entrants import Entrant
from .generators import Task
from .outcomes import Outcome, Voted


def collect(run: Run, task: Task, entrant: Entrant) -> Outcome:
    """The outcome of an ended run. One that has no answer is wrong."""
    made = run.attempts.exclude(status__in=[Attempt.Status.REUSED, Attempt.Status.WRITTEN])
    attempts = list(made.select_related("step").defer("sent"))
    proposals = list(run.proposals.defer("sent", "raw"))
    workflow = run.workflow
    grade = task.grader.grade(run.answer)
    has_answer = run.status == Run.Status.SUCCEEDED
    return Outcome(
        entrant=entrant.name,
        planner=entrant.planner,
        kind=task.kind,
        seed=task.seed,
        task=task.text,
        expected=task.answer,
        run=run.code,
        status=run.status,
        right=has_answer and grade.is_right,
        said=grade.said,
        answer=run.answer,
        why=grade.why if has_answer else "there is no answer",
        error=run.error,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        cost_usd=float(run.cost_usd),
        cost_known=not run.cost_unknown,
        calls=len(attempts) + len(proposals),
        steps=len(workflow.steps) if workflow else 0,
        rounds=workflow.rounds if workflow else 0,
        latency_s=_lasted(run.started_at, run.finished_at),
        planned=workflow is not None,
        valid_at_once=proposals[0].status == Proposal.Status.VALID if proposals else None,
        widths=tuple(len(wave) for wave in graph.waves(workflow)) if workflow else (),
        sink=workflow.sink.kind if workflow else "",
        distinct_instructions=len({step.instruction for step in workflow.steps}) if workflow else 0,
        workers=dict(Counter(attempt.worker for attempt in attempts)),
        votes=tuple(_votes(workflow, attempts, task)) if workflow and entrant.group == "samples" else (),
    )


def _lasted(began: datetime | None, ended: datetime | None) -> float:
    return (ended - began).total_seconds() if began and ended else 0.0


def _votes(workflow: Workflow, attempts: Sequence[Attempt], task: Task) -> Iterator[Voted]:
    """What a vote over the first attempt says, over the first two, and so on to all of them."""
    results = {each.step.key: each.text for each in attempts if each.status == Attempt.Status.SUCCEEDED}
    for n in range(1, len(workflow.steps) + 1):
        keys = workflow.keys[:n]
        answer = take_answer(Workflow(steps=workflow.steps[:n], sink=Vote(over=keys)), results)
        spent = [each for each in attempts if each.step.key in keys]
        yield Voted(
            n=n,
            right=answer is not None and task.grader.grade(answer.text).is_right,
            cost_usd=float(sum(each.cost_usd or 0 for each in spent)),
            tokens=sum(each.input_tokens + each.output_tokens for each in spent),
        )
