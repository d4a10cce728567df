"""TRINITY (arXiv 2512.04695): turn by turn a coordinator names a model and its role, and sees what it wrote."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from apps.conductor.prompt_schema import response_format, turn_schema
from apps.conductor.prompt_turns import ROLES, SUBTASKS, THINKER, VERIFIER, WORKER, Taken, turn_messages
from apps.conductor.proposal import Ask, Brief, Progress, Proposal, Watch, propose
from apps.conductor.turns import Turn, parse_turn, proposed_role, verdict
from apps.workflows.edits import fresh_key
from apps.workflows.workflow import Last, Select, Sink, Step, Workflow

from . import options
from .asking import ask_until_valid, check_pool, names_of, of_call, reveals, seed, temperature, writes_json

TURNS: Final = 5
MOST_TURNS: Final = 20

NOTHING: Final = Progress(workflow=Workflow(steps=()), results={}, answer="")


class Trinity:
    """A coordinator that takes at most `turns` turns: a thinker plans, a worker answers, a verifier accepts or rejects.

    Options: `turns` (5), and of the conductor `attempts` (3), `encoding`, `reveal_names`, `temperature`.

    Each turn is a step that reads all before it, and a round of planning of its own. The answer is that of the last
    worker: a `select` over all workers' steps in which the later always weighs more, so that what a verifier or a
    thinker wrote is never taken for it.

    Departures: the paper's coordinator is a model of 0.6 billion parameters with a head of about ten thousand that were
    evolved, and reads its choice from a hidden state; here a language model that was not trained for it is asked in
    words, and asked again where its words cannot be used. A role that makes no sense is refused it: a verifier before
    there is an answer, anything but a worker in the last turn without one. The role that a thinker proposes is shown to
    the coordinator, which decides.
    """

    asks_conductor: ClassVar[bool] = True
    learns: ClassVar[bool] = False

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """The first turn. :raises apps.workers.calls.CallFailed: as `ask` raises it."""
        return await self._next(brief, NOTHING, ask, watch)

    async def extend(self, brief: Brief, progress: Progress, *, ask: Ask, watch: Watch) -> Proposal | None:
        """The next turn; None when a verifier has accepted, or all turns are taken.

        :raises apps.workers.calls.CallFailed: as `ask` raises it.
        """
        last = progress.workflow.steps[-1]
        is_accepted = last.role == VERIFIER and verdict(progress.results.get(last.key, "")) == "accept"
        if is_accepted or len(progress.workflow.steps) >= _turns(brief):
            return None
        return await self._next(brief, progress, ask, watch)

    async def _next(self, brief: Brief, progress: Progress, ask: Ask, watch: Watch) -> Proposal:
        check_pool(brief)
        names, roles = names_of(brief), _roles(progress.workflow, _turns(brief))
        taken = _taken(brief, progress)

        async def attempt(number: int, error: str | None) -> Proposal:
            messages = turn_messages(
                brief.task,
                brief.pool,
                taken,
                turns=_turns(brief),
                roles=roles,
                proposed=_proposed(taken),
                reveal=reveals(brief),
                encoding="json" if writes_json(brief) else "lists",
                previous_error=error,
            )
            completion = await ask(
                messages,
                temperature=temperature(brief, number),
                extra=_extra(brief, number, roles, turn=len(taken)),
                on_delta=_unheard,
            )
            turn = parse_turn(completion.text, pool_size=len(brief.pool), roles=roles, names=names)
            return of_call(_proposed_turn(turn, brief, progress.workflow), completion)

        return await ask_until_valid(brief, attempt, watch=watch)


def _turns(brief: Brief) -> int:
    return options.whole(brief.options, "turns", TURNS, most=MOST_TURNS)


def _roles(workflow: Workflow, turns: int) -> Sequence[str]:
    """The roles that make sense now."""
    if any(step.role == WORKER for step in workflow.steps):
        return ROLES
    return (WORKER,) if len(workflow.steps) == turns - 1 else (THINKER, WORKER)


def _taken(brief: Brief, progress: Progress) -> list[Taken]:
    number = {slug: index for index, slug in reversed(list(enumerate(brief.workers)))}
    return [
        Taken(number.get(step.worker), step.role, progress.results.get(step.key, ""))
        for step in progress.workflow.steps
    ]


def _proposed(taken: Sequence[Taken]) -> str | None:
    return proposed_role(taken[-1].response) if taken and taken[-1].role == THINKER else None


def _extra(brief: Brief, attempt: int, roles: Sequence[str], *, turn: int) -> dict[str, Any]:
    extra: dict[str, Any] = {"seed": seed(brief, attempt, turn=turn)}
    if writes_json(brief):
        extra["response_format"] = response_format("turn", turn_schema(brief.pool, roles, reveal=reveals(brief)))
    return extra


def _proposed_turn(turn: Turn, brief: Brief, before: Workflow) -> Proposal:
    if turn.problems or turn.worker is None or turn.role is None:
        return Proposal(thinking=turn.thinking, problems=turn.problems)
    step = Step(
        key=fresh_key(before.keys),
        instruction=SUBTASKS[turn.role],
        worker=brief.workers[turn.worker],
        access=before.keys,
        role=turn.role,
        round=len(before.steps) + 1,
    )
    steps = (*before.steps, step)
    workflow = before.model_copy(update={"steps": steps, "sink": _sink(steps)})
    return replace(propose(workflow, replace(brief, max_steps=len(steps))), thinking=turn.thinking)


def _sink(steps: Sequence[Step]) -> Sink:
    """The last worker's answer; as long as no worker was asked, what was said last."""
    answers = tuple(step.key for step in steps if step.role == WORKER)
    weights = tuple(float(number) for number in range(1, len(answers) + 1))
    return Select(over=answers, weights=weights) if answers else Last()


def _unheard(delta: str) -> None:
    """A turn is one step, which shows when it is decided."""
