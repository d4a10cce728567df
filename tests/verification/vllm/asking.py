"""The studio's own planner, asking the server through the studio's own gateway."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apps.conductor.parse import DraftStep
from apps.conductor.planners import Brief, Proposal, planner
from apps.conductor.prompt import PoolEntry
from apps.workers.calls import Completion, Endpoint
from apps.workers.gateway import Gateway

TASK: Final = "Which region grew most from Q1 to Q4 in per cent, and by how much? One decimal place."
POOL: Final = tuple(
    PoolEntry(slug=slug, name=slug.title(), strengths="writes and checks")
    for slug in ("atlas", "birch", "cedar", "delta")
)
LABELS: Final = tuple(f"Model {number}" for number in range(len(POOL)))


@dataclass
class Asked:
    """What one planning said and brought, and when."""

    proposals: list[Proposal] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    pieces: list[list[tuple[float, str]]] = field(default_factory=list)  # of each call: when, what
    drafts: list[tuple[float, DraftStep]] = field(default_factory=list)

    @property
    def last(self) -> Proposal:
        return self.proposals[-1]

    def drafted(self, step: DraftStep) -> None:
        self.drafts.append((time.monotonic(), step))

    async def attempted(self, proposal: Proposal) -> None:
        self.proposals.append(proposal)


async def plan(
    gateway: Gateway,
    endpoint: Endpoint,
    *,
    seed: int = 0,
    max_steps: int = 5,
    asked: Asked | None = None,
    on_piece: Callable[[str], None] = lambda piece: None,
    **options: Any,
) -> Asked:
    """Have a workflow planned. One attempt, unless `attempts` says otherwise.

    :raises apps.workers.calls.CallFailed: as a run's planning would raise it, but at the first failure.
    """
    told = asked or Asked()

    async def ask(
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float | None = None,
        extra: Mapping[str, Any] | None = None,
        on_delta: Callable[[str], None],
    ) -> Completion:
        pieces: list[tuple[float, str]] = []
        told.pieces.append(pieces)

        def heard(piece: str) -> None:
            pieces.append((time.monotonic(), piece))
            on_piece(piece)
            on_delta(piece)

        params = dict(extra or {}) | ({} if temperature is None else {"temperature": temperature})
        completion = await gateway.stream(endpoint, [dict(each) for each in messages], on_delta=heard, extra=params)
        told.completions.append(completion)
        return completion

    brief = Brief(task=TASK, pool=POOL, max_steps=max_steps, seed=seed, options={"attempts": 1} | options)
    await planner("conductor").plan(brief, ask=ask, watch=told)
    return told
