"""How it stands at the workers' doors, for pages: who is inside, who waits, and what the circuits say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from apps.workers.circuit import moment

CircuitState = Literal["closed", "half-open", "open"]


@dataclass(frozen=True)
class Standing:
    """One worker at one moment. `half-open`: the next call is a trial, or one is under way."""

    in_flight: int = 0
    waiting: int = 0
    circuit: CircuitState = "closed"
    reason: str = ""
    opened_at: datetime | None = None
    next_try: datetime | None = None
    cooling_until: datetime | None = None


def standings(slugs: Sequence[str], told: Sequence[Mapping[str, Any]]) -> dict[str, Standing]:
    """What the script said about `slugs`, in their order."""
    return {slug: _standing(one) for slug, one in zip(slugs, told, strict=True)}


def _standing(told: Mapping[str, Any]) -> Standing:
    times = {name: moment(told[name]) for name in ("opened_at", "next_try", "cooling_until") if name in told}
    return Standing(
        in_flight=told["in_flight"],
        waiting=told["waiting"],
        circuit=told["circuit"],
        reason=told["reason"],
        **times,
    )
