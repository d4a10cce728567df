"""Outcomes and contests for the tests, made by hand."""

from collections.abc import Sequence
from typing import Any

from apps.evals.contest import Contest, Group, hold
from apps.evals.outcomes import Outcome, Voted


def outcome(entrant: str, seed: int, *, right: bool = True, **fields: Any) -> Outcome:
    """What `entrant` made of task number `seed`, one call of one worker unless told otherwise."""
    made: dict[str, Any] = {
        "entrant": entrant,
        "planner": "direct",
        "kind": "arithmetic",
        "seed": seed,
        "task": f"What is {seed} + 1?",
        "expected": str(seed + 1),
        "run": f"run-{seed}",
        "status": "succeeded",
        "right": right,
        "said": "7",
        "answer": "Answer: 7",
        "why": "" if right else "it is not that",
        "error": "",
        "input_tokens": 100,
        "output_tokens": 50,
        "cost_usd": 0.001,
        "cost_known": True,
        "calls": 1,
        "steps": 1,
        "rounds": 1,
        "latency_s": 0.5,
        "planned": True,
        "valid_at_once": None,
        "widths": (1,),
        "sink": "last",
        "distinct_instructions": 1,
        "workers": {"sim-atlas": 1},
    }
    return Outcome(**(made | fields))


def votes(*right: bool, each_usd: float = 0.001) -> tuple[Voted, ...]:
    """Votes over one attempt, two, and so on, each attempt at the same price."""
    return tuple(Voted(n=n, right=was, cost_usd=n * each_usd, tokens=100 * n) for n, was in enumerate(right, start=1))


GROUPS: dict[str, Group] = {
    "direct: sim-atlas": "worker",
    "direct: sim-delta": "worker",
    "conductor": "planner",
    "moa": "planner",
    "self-consistency: sim-delta × 3": "samples",
}


def contest(n: int = 40, *, without: Sequence[str] = ()) -> Contest:
    """Atlas is always right, delta half the time, the conductor nine times in ten; delta's vote of three is, too."""
    found: list[Outcome] = []
    for seed in range(n):
        kind = "arithmetic" if seed % 2 else "dates"
        planned = {"planner": "conductor", "valid_at_once": seed % 5 != 0, "calls": 4, "steps": 3, "widths": (2, 1)}
        found += [
            outcome("direct: sim-atlas", seed, kind=kind, cost_usd=0.004),
            outcome("direct: sim-delta", seed, kind=kind, right=seed % 2 == 0, workers={"sim-delta": 1}),
            outcome(
                "conductor", seed, kind=kind, right=seed % 10 != 0, cost_usd=0.0031,
                workers={"sim-atlas": 1, "sim-delta": 2}, distinct_instructions=3, **planned,
            ),
            outcome("moa", seed, kind=kind, planner="moa", cost_usd=0.0005, right=seed % 4 != 0),
            outcome(
                "self-consistency: sim-delta × 3", seed, kind=kind, planner="self-consistency", cost_usd=0.003,
                workers={"sim-delta": 3}, votes=votes(seed % 2 == 0, seed % 2 == 0, seed % 10 != 1),
            ),
        ]  # fmt: skip
    return hold([each for each in found if each.entrant not in without], GROUPS)
