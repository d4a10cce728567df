"""Self-reflection: one worker answers and then improves its own answer (a baseline of arXiv 2512.04388)."""

from dataclasses import replace
from typing import ClassVar, Final

from apps.conductor.proposal import Ask, Brief, Progress, Proposal, Watch, propose
from apps.workflows.answers import final_answer, normalised
from apps.workflows.edits import fresh_key
from apps.workflows.workflow import Step, Workflow

from . import options
from .asking import check_pool
from .direct import INSTRUCTION

TURNS: Final = 5
MOST_TURNS: Final = 20
REFLECT: Final = (
    "You were given your own earlier answers to the overall task. Look for mistakes and gaps in them and improve your "
    "answer: reply with the whole answer, in the form the overall task asks for. Where there is nothing to improve, "
    "give your last answer again."
)


class SelfReflection:
    """A worker that answers once and reflects up to four times, each time on everything it has written so far.

    Options: `worker` (the first of the pool), `turns` (5), `early_stop` (true).

    Departure: the paper's baseline takes all five turns. Here it stops as soon as an answer, in the form in which
    answers are compared, is the same as the one before; with `early_stop` off it does not.
    """

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """The first answer. :raises apps.core.errors.Invalid: there is no pool, or an option cannot be used."""
        check_pool(brief)
        _turns(brief)
        worker = brief.options.get("worker") or brief.workers[0]
        step = Step(key="s1", instruction=INSTRUCTION, worker=str(worker), role="answer")
        return _judged((step,), brief)

    async def extend(self, brief: Brief, progress: Progress, *, ask: Ask, watch: Watch) -> Proposal | None:
        """One more reflection; None when the answer no longer changes, or all turns are taken."""
        steps = progress.workflow.steps
        if len(steps) >= _turns(brief) or _has_settled(brief, progress):
            return None
        step = Step(
            key=fresh_key(progress.workflow.keys),
            instruction=REFLECT,
            worker=steps[-1].worker,
            access=progress.workflow.keys,
            role="reflection",
        )
        return _judged((*steps, step), brief)


def _turns(brief: Brief) -> int:
    return options.whole(brief.options, "turns", TURNS, most=MOST_TURNS)


def _has_settled(brief: Brief, progress: Progress) -> bool:
    """Whether the last two answers are the same one."""
    if not options.switch(brief.options, "early_stop", True) or len(progress.workflow.steps) < 2:
        return False
    before, last = (normalised(final_answer(progress.results.get(key, ""))) for key in progress.workflow.keys[-2:])
    return bool(last) and before == last


def _judged(steps: tuple[Step, ...], brief: Brief) -> Proposal:
    return propose(Workflow(steps=steps), replace(brief, max_steps=len(steps)))
