"""Planners by name: each writes a workflow for a task in its own way, from one file of its own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from apps.conductor.proposal import Ask, Brief, Planner, Proposal, Watch
from apps.core.errors import Invalid

from .chance import Chance
from .conductor import Conductor
from .direct import Direct
from .masrouter import MASRouter
from .mixture_of_agents import MixtureOfAgents
from .routerdc import RouterDC
from .saved import Saved
from .self_consistency import SelfConsistency
from .self_reflection import SelfReflection
from .smoothie import Smoothie
from .trinity import Trinity
from .untrained import Untrained

PLANNERS: Final[Mapping[str, type[Planner]]] = MappingProxyType(
    {
        "conductor": Conductor,
        "direct": Direct,
        "masrouter": MASRouter,
        "moa": MixtureOfAgents,
        "random": Chance,
        "routerdc": RouterDC,
        "saved": Saved,
        "self-consistency": SelfConsistency,
        "self-reflection": SelfReflection,
        "smoothie": Smoothie,
        "trinity": Trinity,
        "untrained": Untrained,
    }
)


class UnknownPlanner(Invalid):
    """There is no planner of this name."""


def planner(name: str) -> Planner:
    """The planner called `name`. :raises UnknownPlanner: there is none."""
    if name not in PLANNERS:
        raise UnknownPlanner(f"There is no planner “{name}”; there are: {', '.join(PLANNERS)}.", field="planner")
    return PLANNERS[name]()


__all__ = ["PLANNERS", "Ask", "Brief", "Planner", "Proposal", "UnknownPlanner", "Watch", "planner"]
