"""MASRouter: a learnt router chooses agents, their roles and models, and how they work together (arXiv 2502.11133)."""

from dataclasses import replace
from typing import ClassVar

from apps.conductor.proposal import Ask, Brief, Proposal, Watch, propose
from apps.workflows.workflow import Step, Workflow

from .asking import check_pool
from .roles import DEBATE, READ_ON, REFEREE, REFLECT, ROLES, THINK

Agents = list[tuple[str, str]]  # (role, worker) of each


class MASRouter:
    """Agents in one of six modes and, where there are several, a referee who sees them all. No options.

    The modes: IO and CoT (one agent answers, at once or step by step), chain (each reads the one before), full (each
    reads all before), debate (all answer, then all answer again having read one another), reflection (each improves
    what the one before it wrote). Its own limit on steps: up to six agents, twice in a debate, and the referee.

    How it learns, and where that departs from the paper, stands in `apps.conductor.learning.masrouter`.
    """

    asks_conductor: ClassVar[bool] = False
    learns: ClassVar[bool] = True

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """:raises apps.core.errors.Invalid: there is no pool, or nothing was learnt of its workers."""
        from apps.conductor.learning import bodies, masrouter  # numpy: only who routes loads it

        check_pool(brief)
        learnt = bodies.learnt_of(brief, name="MASRouter", command="masrouter")
        chosen = masrouter.choose(learnt, bodies.vector_of(learnt, brief), pool=brief.workers)
        workflow = Workflow(steps=steps_of(chosen.mode, list(chosen.agents), chosen.referee), on_failure="empty")
        return propose(workflow, replace(brief, max_steps=len(workflow.steps)))


def steps_of(mode: str, agents: Agents, referee: str) -> tuple[Step, ...]:
    """The steps of `agents` working in `mode`, the last of which gives the answer."""
    steps: list[Step] = []

    def add(role: str, worker: str, said: str = "", reads: tuple[str, ...] = ()) -> None:
        instruction = REFEREE if role == "referee" else said + ROLES[role]
        steps.append(Step(key=f"s{len(steps) + 1}", instruction=instruction, worker=worker, access=reads, role=role))

    def keys() -> tuple[str, ...]:
        return tuple(step.key for step in steps)

    for role, worker in agents:
        if mode == "chain" and steps:
            add(role, worker, READ_ON, keys()[-1:])
        elif mode == "full" and steps:
            add(role, worker, READ_ON, keys())
        elif mode == "reflection" and steps:
            add(role, worker, REFLECT, keys()[-1:])
        else:
            add(role, worker, THINK if mode == "CoT" else "")
    if mode == "debate" and len(agents) > 1:
        first = keys()
        for role, worker in agents:
            add(role, worker, DEBATE, first)
    if len(agents) > 1:
        add("referee", referee, reads=keys())
    return tuple(steps)
