"""Who takes part in a rehearsal: every single worker, every planner, and self-consistency of every worker."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apps.conductor.planners import PLANNERS
from apps.conductor.planners.smoothie import VARIANTS
from apps.core.errors import Invalid
from apps.workers.models import Profile
from apps.workflows.workflow import Step, Workflow

from .contest import Group

ALL: Final = "all"
SAVED: Final = "saved"

SOLVE: Final = "Answer the overall task completely, in the form it asks for. Show the working briefly."
CHECK: Final = (
    "Check the answer you were given by working the overall task out again, and reply with the right answer in the "
    "form the overall task asks for."
)


class UnknownEntrant(Invalid):
    """There is no planner of this name to rehearse."""


@dataclass(frozen=True)
class Entrant:
    """One way to answer every task. With a `workflow` nothing is planned; `samples` are votes to be counted."""

    name: str
    planner: str
    group: Group
    options: dict[str, Any] = field(default_factory=dict)
    rounds: int = 1
    workflow: Workflow | None = None

    @property
    def learns(self) -> bool:
        """Whether it plans by what was learnt before; Smoothie's local variant goes by the task's answers alone."""
        is_local = self.options.get("variant") == "local"
        return self.planner in PLANNERS and PLANNERS[self.planner]().learns and not is_local

    @property
    def asks_conductor(self) -> bool:
        return self.planner in Profile.CONDUCTED


def entrants(planners: Sequence[str], *, workers: Sequence[str], samples: int) -> list[Entrant]:
    """The entrants of a rehearsal: single workers and their self-consistency always, and the `planners` named.

    "all" stands for every planner there is. The conductor enters with one round and with two, and Smoothie in both of
    its variants.

    :raises UnknownEntrant: a planner is named that there is not.
    """
    singles = [Entrant(f"direct: {worker}", "direct", "worker", {"worker": worker}) for worker in workers]
    rivals = [
        Entrant(f"self-consistency: {worker} × {samples}", "self-consistency", "samples",
                {"worker": worker, "n": samples})
        for worker in workers
    ]  # fmt: skip
    return [*singles, *(each for name in _named(planners) for each in _of_planner(name, workers)), *rivals]


def _named(planners: Sequence[str]) -> list[str]:
    if ALL in planners:
        return [name for name in PLANNERS if name != "direct"]
    if unknown := [name for name in planners if name not in PLANNERS]:
        message = f"There is no planner “{unknown[0][:63]}”; there are: {', '.join(PLANNERS)}, and “{ALL}”."
        raise UnknownEntrant(message, field="planners")
    return [name for name in dict.fromkeys(planners) if name != "direct"]


def _of_planner(name: str, workers: Sequence[str]) -> list[Entrant]:
    if name == SAVED:
        return [Entrant("saved: solve, then check", SAVED, "planner", workflow=solve_then_check(workers))]
    if name == "conductor":
        return [Entrant(name, name, "planner"), Entrant("conductor, 2 rounds", name, "planner", rounds=2)]
    if name == "smoothie":
        return [Entrant(f"smoothie, {variant}", name, "planner", {"variant": variant}) for variant in VARIANTS]
    return [Entrant(name, name, "planner")]


def solve_then_check(workers: Sequence[str]) -> Workflow:
    """What people hard-code: one worker solves every task, whatever it is, and another checks it.

    The pool is listed best first: its second worker solves, its first one checks.
    """
    solver, checker = workers[min(1, len(workers) - 1)], workers[0]
    return Workflow(
        steps=(
            Step(key="s1", instruction=SOLVE, worker=solver),
            Step(key="s2", instruction=CHECK, worker=checker, access=("s1",)),
        )
    )
