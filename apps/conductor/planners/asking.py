"""Asking a conductor until what it writes is valid: what every planner that asks one has in common."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from apps.conductor.proposal import Brief, Proposal, Watch
from apps.core.errors import Invalid
from apps.workers.calls import Completion

from . import options

ATTEMPTS: Final = 3
MOST_ATTEMPTS: Final = 100
RETRY_TEMPERATURE: Final = 0.1
"""At least this when asking again: at 0 a model would repeat itself (arXiv 2512.04388)."""
SEEDS: Final = 2**31
SEEDS_A_TURN: Final = 1_000
"""How far the seeds of two rounds or turns lie apart: attempts of one must not meet those of the next."""
LONGEST_ERROR: Final = 2_000

Attempt = Callable[[int, str | None], Awaitable[Proposal]]
"""One call: which attempt it is, from 0, and what was wrong with the one before; gives what was made of the reply."""


async def ask_until_valid(brief: Brief, attempt: Attempt, *, watch: Watch) -> Proposal:
    """The first valid proposal, or the last of the invalid ones after `options["attempts"]` of them.

    :raises apps.workers.calls.CallFailed: as `attempt` raises it.
    """
    proposal = Proposal()
    for number in range(options.whole(brief.options, "attempts", ATTEMPTS, most=MOST_ATTEMPTS)):
        proposal = await attempt(number, proposal.error[:LONGEST_ERROR] or None)
        await watch.attempted(proposal)
        if proposal.is_valid:
            break
    return proposal


def check_pool(brief: Brief) -> None:
    if not brief.pool:
        raise Invalid("There is no worker in the pool. Choose at least one.", field="pool")


def temperature(brief: Brief, attempt: int) -> float | None:
    """As the options or the conductor's own parameters say, on a retry not too low; else as its endpoint likes."""
    given = options.number(brief.options, "temperature")
    if given is None:
        given = options.number(brief.options.get("params") or {}, "temperature")
    return given if given is None or attempt == 0 else max(RETRY_TEMPERATURE, given)


def seed(brief: Brief, attempt: int, *, turn: int = 0) -> int:
    """Another seed for every attempt of every turn (a round is one too), and the same ones for the same brief."""
    return (brief.seed + SEEDS_A_TURN * turn + attempt) % SEEDS


def reveals(brief: Brief) -> bool:
    """Whether the conductor may know its workers' names."""
    return options.switch(brief.options, "reveal_names", False)


def writes_json(brief: Brief) -> bool:
    return options.chosen(brief.options, "encoding", "lists", among=("lists", "json")) == "json"


def names_of(brief: Brief) -> Mapping[str, int]:
    """What workers may be called beside their numbers; where two share a name, a slug and then the first counts."""
    numbered = list(enumerate(brief.pool))[::-1]
    names = {entry.name.casefold(): n for n, entry in numbered}
    return names | {entry.slug.casefold(): n for n, entry in numbered}


def of_call(proposal: Proposal, completion: Completion) -> Proposal:
    """The proposal with what its call said, took and cost."""
    if not proposal.is_valid and completion.finish_reason == "length":
        cut = "The reply was cut off by the limit on its length: think and write more briefly."
        proposal = replace(proposal, problems=(*proposal.problems, cut))
    told: dict[str, Any] = {
        "raw": completion.text,
        "usage": completion.usage,
        "cost_usd": completion.cost_usd,
        "duration_ms": completion.duration_ms,
        "ttft_ms": completion.ttft_ms,
    }
    return replace(proposal, **told)
