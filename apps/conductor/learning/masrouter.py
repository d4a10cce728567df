"""MASRouter's policy, trained by REINFORCE on solved − cost (arXiv 2502.11133).

Four choices, each by a softmax over a linear map of the task's vector: the mode, the number of agents, a role for each,
and for each role a model.

Departures: the paper runs every sampled system to see whether it solves the task, and its roles are chosen one after
the other by a language model's vectors. Ours learns from recorded answers of single workers. A system of one agent
counts as solving a task as recorded, one of several as often as three of its agents, drawn by lot, would by majority.
That can tell which workers, and how many, suit a task; of modes it can tell only what they cost. It trains in seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .records import Records
from .tfidf import Vectors

MODES: Final = ("IO", "CoT", "chain", "full", "debate", "reflection")
SINGLE: Final = 2  # the first modes are for one agent
MOST_AGENTS: Final = 6
ROLE_NAMES: Final = ("solver", "mathematician", "analyst", "programmer", "reader", "planner", "sceptic", "checker")
STEPS: Final = 250
RATE: Final = 0.3
COST_WEIGHT: Final = 0.15
"""How much a system that costs as much as every worker asked once loses of the 1 it gets for solving the task."""
EXPLORE: Final = 0.01


@dataclass(frozen=True)
class Chosen:
    """A system: its mode, (role, worker) of each agent, and the worker that referees."""

    mode: str
    agents: tuple[tuple[str, str], ...]
    referee: str


def train(records: Records, vectors: Vectors, *, seed: int) -> dict[str, Any]:
    """What is learnt of tasks with these `vectors` (n by d): the linear maps, as lists, and the workers."""
    random = np.random.default_rng(seed)
    features = _with_one(vectors)
    sizes = {"mode": len(MODES), "count": MOST_AGENTS, "role": len(ROLE_NAMES), "worker": len(records.workers)}
    maps = {name: np.zeros((features.shape[1], size)) for name, size in sizes.items()}
    price = records.cost_usd / np.maximum(records.cost_usd.sum(axis=1, keepdims=True), 1e-12)
    for _ in range(STEPS):
        chances = {name: softmax(features @ maps[name]) for name in maps}
        drawn = [_draw(chances, random) for _ in range(2)]  # two systems a task: one is the other's baseline
        rewards = [_reward(each, records.solved, price) for each in drawn]
        for each, reward, other in zip(drawn, rewards, rewards[::-1], strict=True):
            advantage = (reward - other)[:, None]
            for name, values in maps.items():
                towards = each[name] - each[name].sum(axis=1, keepdims=True) * chances[name]
                towards = advantage * towards + EXPLORE * _towards_chance(chances[name])
                values += RATE * features.T @ towards / np.sqrt(len(features))
    return {"workers": list(records.workers), "maps": {name: np.round(each, 4).tolist() for name, each in maps.items()}}


def choose(learnt: dict[str, Any], vector: Vectors, *, pool: Sequence[str]) -> Chosen:
    """The likeliest system for a task, of the workers of `pool` that were trained on."""
    features = _with_one(np.asarray(vector)[None, :])
    likely = {name: softmax(features @ np.array(each))[0] for name, each in learnt["maps"].items()}
    count = 1 + int(likely["count"].argmax())
    modes = likely["mode"][:SINGLE] if count == 1 else likely["mode"][SINGLE:]
    mode = MODES[int(modes.argmax()) + (0 if count == 1 else SINGLE)]
    roles = [ROLE_NAMES[at] for at in np.argsort(-likely["role"])[:count]]
    offered = [(float(chance), worker) for chance, worker in zip(likely["worker"], learnt["workers"], strict=True)]
    ranked = [worker for _, worker in sorted(offered, reverse=True) if worker in pool]
    shares = _shared(ranked, {worker: chance for chance, worker in offered}, count)
    return Chosen(mode, tuple(zip(roles, shares, strict=True)), ranked[0])


def softmax(values: Vectors) -> Vectors:
    raised = np.exp(values - values.max(axis=-1, keepdims=True))
    shares: Vectors = raised / raised.sum(axis=-1, keepdims=True)
    return shares


def _shared(ranked: list[str], chance: dict[str, float], count: int) -> list[str]:
    """So many agents, each worker as often as its chance is worth, the likeliest first (largest remainders)."""
    whole = sum(chance[worker] for worker in ranked)
    owed = {worker: count * chance[worker] / whole if whole else count / len(ranked) for worker in ranked}
    seats = {worker: int(owed[worker]) for worker in ranked}
    by_rest = sorted(ranked, key=lambda worker: owed[worker] - seats[worker], reverse=True)
    for worker in by_rest[: count - sum(seats.values())]:
        seats[worker] += 1
    return [worker for worker in ranked for _ in range(seats[worker])]


def _with_one(vectors: Vectors) -> Vectors:
    return np.hstack([vectors, np.ones((len(vectors), 1))])


def _draw(chances: dict[str, Vectors], random: np.random.Generator) -> dict[str, Vectors]:
    """A system for each task: how often each choice was drawn (n by choices)."""
    count = _one_of(chances["count"], random)
    agents = count @ np.arange(1, MOST_AGENTS + 1)
    drawn = {name: np.zeros_like(chances[name]) for name in ("role", "worker")}
    for agent in range(MOST_AGENTS):
        there = (agents > agent)[:, None]
        for name in drawn:
            drawn[name] += there * _one_of(chances[name], random)
    return {"mode": _one_of(chances["mode"], random), "count": count, **drawn}


def _one_of(chances: Vectors, random: np.random.Generator) -> Vectors:
    picked = (chances.cumsum(axis=1) < random.random((len(chances), 1))).sum(axis=1)
    one: Vectors = np.eye(chances.shape[1])[np.minimum(picked, chances.shape[1] - 1)]
    return one


def _reward(drawn: dict[str, Vectors], solved: Vectors, price: Vectors) -> Vectors:
    """Solved − cost of each task's system, by what was recorded of its workers."""
    agents = drawn["worker"].sum(axis=1)
    right = (drawn["worker"] * solved).sum(axis=1) / agents
    # r²(3 − 2r) is how often two or three of three are right of whom each is with the chance r.
    found = np.where(agents > 1, right**2 * (3 - 2 * right), right)
    twice = np.where((drawn["mode"][:, MODES.index("debate")] > 0) & (agents > 1), 2.0, 1.0)
    spent = twice * (drawn["worker"] * price).sum(axis=1) + np.where(agents > 1, price.max(axis=1), 0.0)
    reward: Vectors = found - COST_WEIGHT * spent
    return reward


def _towards_chance(chances: Vectors) -> Vectors:
    """The slope of the entropy: keeps every choice possible for a while."""
    logs = np.log(np.maximum(chances, 1e-12))
    slope: Vectors = -chances * (logs - (chances * logs).sum(axis=1, keepdims=True))
    return slope
