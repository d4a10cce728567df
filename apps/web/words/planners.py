"""How planners are told of: a short name, what kind each is, and what it does, in words for people."""

from apps.conductor.planners import PLANNERS
from apps.workers.models import Profile

TURN_BY_TURN = "trinity"


def label_of(planner: str) -> str:
    """`mixture of agents` for `moa`."""
    if planner == "saved":
        return "saved workflow"
    return _words(planner)[0]


def about(planner: str) -> str:
    """`every worker answers, one of them sums up` for `moa`."""
    return _words(planner)[1]


def kind_of(planner: str) -> str:
    """`a model plans`, `learnt`, or `a fixed scheme`; of a workflow that nobody planned, nothing."""
    made = PLANNERS.get(planner)
    if planner == "saved" or made is None:
        return ""
    if getattr(made, "asks_conductor", False):
        return "a model plans"
    return "learnt" if getattr(made, "learns", False) else "a fixed scheme"


def _words(planner: str) -> tuple[str, str]:
    known = planner in Profile.Planner.values
    label, _, does = (Profile.Planner(planner).label if known else planner).partition(": ")
    return label, does
