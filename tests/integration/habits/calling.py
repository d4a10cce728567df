"""How the table of services calls one of them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from apps.accounts.models import User
from apps.runs.models import Run
from tests.integration.habits.world import World


@dataclass(frozen=True)
class Call:
    """How a service is called: `do(world, by, now)`, where the world's things are attributes of it."""

    do: Callable[[Any, User, datetime], object]
    by: str = "analyst"
    not_by: str = ""  # who is refused by the service itself; empty: whoever calls it has asked before
    prepared: Callable[[Any, User, datetime], object] | None = None


def acts(do: Callable[[Any, User, datetime], object], **more: Any) -> Call:
    return Call(do, "analyst", "auditor", **more)


def audits(do: Callable[[Any, User, datetime], object], **more: Any) -> Call:
    return Call(do, "auditor", "analyst", **more)


def administers(do: Callable[[Any, User, datetime], object], **more: Any) -> Call:
    return Call(do, "admin", "analyst", **more)


def of(world: World) -> SimpleNamespace:
    """The world's things as attributes, fresh from the tables: `w.done` is a run, `w.template` a template."""
    runs_by_name = {
        name[4:]: Run.objects.get(code=run.code) for name, run in world.things.items() if name[:4] == "run:"
    }
    kept = {name[2:]: thing for name, thing in world.things.items() if name[:2] == "a "}
    fresh = {name: type(thing).objects.get(pk=world[name]) for name, thing in kept.items()}
    rest = {"people": world.people, "project": world.project, "ultra": world["ultra"], "budget": world["budget"]}
    return SimpleNamespace(**runs_by_name, **fresh, **rest)
