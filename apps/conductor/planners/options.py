"""Reading a planner's options: what an admin wrote as JSON, refused in words where a planner cannot use it."""

import math
from collections.abc import Collection, Mapping
from typing import Any

from apps.core.errors import Invalid


class OptionUnusable(Invalid):
    """An option has a value that its planner cannot use."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="options")


def whole(options: Mapping[str, Any], name: str, default: int, *, least: int = 1, most: int) -> int:
    """The whole number under `name`. :raises OptionUnusable: it is none, or out of bounds."""
    given = options.get(name)
    if given is None:
        return default
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise OptionUnusable(f"“{name}” must be a whole number from {least} to {most}, not {given!r:.60}.")
    return given


def number(options: Mapping[str, Any], name: str, default: float | None = None) -> float | None:
    """The number of zero or more under `name`. :raises OptionUnusable: it is none."""
    given = options.get(name)
    if given is None:
        return default
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not math.isfinite(given) or given < 0:
        raise OptionUnusable(f"“{name}” must be a number of zero or more, not {given!r:.60}.")
    return float(given)


def switch(options: Mapping[str, Any], name: str, default: bool) -> bool:
    """Whether `name` is on. :raises OptionUnusable: it is neither true nor false."""
    given = options.get(name)
    if given is None:
        return default
    if not isinstance(given, bool):
        raise OptionUnusable(f"“{name}” must be true or false, not {given!r:.60}.")
    return given


def chosen(options: Mapping[str, Any], name: str, default: str, *, among: Collection[str]) -> str:
    """The word under `name`. :raises OptionUnusable: it is none of `among`."""
    given = options.get(name)
    if given is None or given == "":
        return default
    if given not in tuple(among):
        raise OptionUnusable(f"“{name}” must be one of {', '.join(among)}, not {given!r:.60}.")
    return str(given)
