"""How workers look in pages: name, letter and hue, taken from what a run froze of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Look:
    """What a chip shows of a worker or a conductor."""

    slug: str
    name: str
    letter: str
    colour: str
    simulated: bool

    def as_json(self) -> dict[str, Any]:
        """The entry under the worker's slug that the canvas reads."""
        return {"name": self.name, "letter": self.letter, "colour": self.colour, "simulated": self.simulated}


def look_of(slug: str, frozen: Mapping[str, Any] | None) -> Look:
    """The look of a frozen worker; of one that nothing is known of, one made from its slug."""
    if frozen is None:
        return Look(slug, slug, slug[:1].upper() or "?", "a", False)
    return Look(slug, frozen["name"] or slug, frozen["letter"], frozen["colour"], frozen["simulated"])


def models_in(pool: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """All that a run's pool names: its workers, and those who stand in for one of them."""
    instead = {each["slug"]: each for frozen in pool.values() for each in frozen.get("fallbacks", ())}
    return {**instead, **pool}


def looks_of(pool: Mapping[str, Mapping[str, Any]]) -> dict[str, Look]:
    return {slug: look_of(slug, frozen) for slug, frozen in models_in(pool).items()}
