"""Training a planner on recorded results, and saying honestly how it does on tasks it was not trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from apps.core.errors import Invalid

from . import masrouter, routerdc, smoothie
from .bodies import fit_texts
from .records import Records
from .tfidf import Vectors, unit, vector

HELD_OUT: Final = 5  # every fifth task
TRAINED: Final = ("routerdc", "masrouter", "smoothie")

ByText = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class HeldOut:
    """The share of held-out tasks solved: by the workers the planner chose, by chance, by the best single worker."""

    tasks: int
    planner: float
    chance: float
    best_single: float
    best_worker: str


def texts_of(planner: str, records: Records) -> tuple[str, ...]:
    """The texts whose vectors `planner` learns from: the tasks, or the answers where it compares those.

    :raises Invalid: it is no planner that learns.
    """
    check_learns(planner)
    if planner == "smoothie":
        return tuple(answer for answers in records.answers for answer in answers if answer.strip())
    return records.tasks


def train(planner: str, records: Records, *, seed: int, vectors: ByText | None = None) -> dict[str, Any]:
    """What `planner` learns of all `records`, as a body to keep.

    `vectors` are an embedding worker's for `texts_of` the planner; without them it learns from TF-IDF.

    :raises Invalid: it is no planner that learns.
    """
    check_learns(planner)
    if planner == "smoothie":
        return smoothie.train(records, vectors)
    learn = routerdc.train if planner == "routerdc" else masrouter.train
    if vectors is not None:
        return learn(records, unit(np.array([vectors[task] for task in records.tasks])), seed=seed)
    fitted, own = fit_texts(records.tasks)
    return learn(records, unit(own), seed=seed) | {"texts": fitted}


def check_learns(planner: str) -> None:
    """:raises Invalid: it is no planner that learns."""
    if planner not in TRAINED:
        raise Invalid(f"“{planner}” does not learn; those that do: {', '.join(TRAINED)}.", field="planner")


def hold_out(planner: str, records: Records, *, seed: int, vectors: ByText | None = None) -> HeldOut:
    """How a planner trained on four fifths of the tasks would do on the rest, by what was recorded of its workers."""
    order = np.random.default_rng(seed).permutation(len(records.tasks))
    rest, held = [list(part) for part in (order[len(order) // HELD_OUT :], order[: len(order) // HELD_OUT])]
    body = train(planner, records.only(rest), seed=seed, vectors=vectors)
    tried, known = records.only(held), records.only(rest)
    shares = [
        _solved(planner, body, task, vectors, solved, records.workers)
        for task, solved in zip(tried.tasks, tried.solved, strict=True)
    ]
    best = int(known.solved.mean(axis=0).argmax())  # known from the tasks that were trained on
    return HeldOut(
        tasks=len(held),
        planner=float(np.mean(shares)),
        chance=float(tried.solved.mean()),
        best_single=float(tried.solved[:, best].mean()),
        best_worker=records.workers[best],
    )


def _solved(
    planner: str, body: dict[str, Any], task: str, given: ByText | None, solved: Vectors, workers: tuple[str, ...]
) -> float:
    """How much of a task the workers that the planner chose had solved."""
    if planner == "smoothie":
        return float(solved[workers.index(max(body["weights"], key=body["weights"].__getitem__))])
    query = vector(body["texts"], task) if given is None else unit(np.array(given[task]))
    if planner == "routerdc":
        scores = routerdc.scores(body, query)
        return float(solved[workers.index(max(scores, key=scores.__getitem__))])
    chosen = masrouter.choose(body, query, pool=workers)
    return float(np.mean([solved[workers.index(worker)] for _, worker in chosen.agents]))
