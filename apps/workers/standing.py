"""How it stands at the workers' doors, for pages: who is inside, who waits, and what the circuits say.

Pages have no turnstile: they neither wait nor hold anything. They read with a plain client, and may close a circuit.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from redis.exceptions import RedisError

from apps.workers.circuit import moment
from apps.workers.pace import Pace
from apps.workers.scripts import RedisAway, line_of, source_of

if TYPE_CHECKING:
    import redis

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


def read_standings(client: "redis.Redis", slugs: Sequence[str]) -> dict[str, Standing]:
    """How it stands at the workers, over all drivers; of a worker without limits to within a few seconds.

    :raises RedisAway: nobody can say.
    """
    return standings(slugs, json.loads(_run(client, "standing", [line_of(slug) for slug in slugs], {})))


def forgive(client: "redis.Redis", slug: str) -> None:
    """Close the worker's circuit and end its cooling: somebody has mended it.

    :raises RedisAway: it was not done.
    """
    _run(client, "forgive", [line_of(slug)], {"slug": slug, "pace": Pace().told()})


def unsay(client: "redis.Redis", slug: str, kinds: Mapping[str, str]) -> None:
    """Of a worker's circuit, keep no more than the kind of a reason that is one of `kinds`, by the whole reason.

    :raises RedisAway: it may still say it.
    """
    _run(client, "unsay", [line_of(slug)], {"kinds": kinds})


def _run(client: "redis.Redis", name: str, keys: Sequence[str], given: Mapping[str, Any]) -> Any:
    try:
        return client.register_script(source_of(name))(keys=keys, args=[json.dumps(given)])
    except (RedisError, OSError) as error:
        raise RedisAway from error


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
