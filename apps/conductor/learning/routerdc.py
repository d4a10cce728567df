"""RouterDC: a query's vector and learnt worker vectors, trained by two contrastive losses (arXiv 2409.19886).

The sample-LLM loss draws a query to each of the three workers that did best on it and away from the three that did
worst (and failed); the sample-sample loss draws it to a query of its own cluster and away from queries of others.

Departure: the paper fine-tunes a language model as the encoder. Ours is a linear map learnt on top of TF-IDF or of an
embedding worker's vectors, so that it trains in seconds on a CPU.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .records import Records
from .tfidf import Vectors, unit

SIZE: Final = 24  # of the space queries and workers share
TEMPERATURE: Final = 0.2
SAMPLE_WEIGHT: Final = 0.5  # of the sample-sample loss
NEAREST: Final = 3  # workers drawn to, and away from
OTHERS: Final = 8  # queries of other clusters, for each query
STEPS: Final = 300
RATE: Final = 0.02

Mask = NDArray[np.bool_]


def train(records: Records, vectors: Vectors, *, seed: int) -> dict[str, Any]:
    """What is learnt of tasks with these `vectors` (n by d): {"workers", "map": d by SIZE, "vectors": m by SIZE}."""
    random = np.random.default_rng(seed)
    weights = random.normal(scale=1 / np.sqrt(vectors.shape[1]), size=(vectors.shape[1], SIZE))
    workers = random.normal(scale=1 / np.sqrt(SIZE), size=(len(records.workers), SIZE))
    best, worst = extremes(records.solved, records.cost_usd)
    clusters = _clusters(vectors, seed)
    moments = [[np.zeros_like(values), np.zeros_like(values)] for values in (weights, workers)]
    for step in range(1, STEPS + 1):
        friends, strangers = _pairs(clusters, random)
        _, slopes = loss(weights, workers, vectors, best, worst, friends, strangers)
        for values, slope, (first, second) in zip((weights, workers), slopes, moments, strict=True):
            first += 0.1 * (slope - first)
            second += 0.001 * (slope**2 - second)
            values -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return {
        "workers": list(records.workers),
        "map": np.round(weights, 5).tolist(),
        "vectors": np.round(workers, 5).tolist(),
    }


def scores(learnt: dict[str, Any], vector: Vectors) -> dict[str, float]:
    """How well each worker suits the task: the cosine of its vector and the task's."""
    query = unit(np.asarray(vector) @ np.array(learnt["map"]))
    likeness = unit(np.array(learnt["vectors"])) @ query
    return {worker: float(value) for worker, value in zip(learnt["workers"], likeness, strict=True)}


def extremes(solved: Vectors, cost_usd: Vectors) -> tuple[Mask, Mask]:
    """For each task the up to three best workers that solved it, and the three worst that did not (the paper's rule).

    Of workers that did equally well the cheaper counts as better (a departure: the paper knows no cost).
    """
    order = np.lexsort((cost_usd, -solved), axis=1)
    ranks = np.argsort(order, axis=1)
    count = solved.shape[1]
    best = (ranks < min(NEAREST, count - 1)) & (solved >= 0.5)
    worst = (ranks >= count - min(NEAREST, count - 1)) & (solved < 0.5)
    return best, worst


def loss(
    weights: Vectors,
    workers: Vectors,
    vectors: Vectors,
    best: Mask,
    worst: Mask,
    friends: NDArray[np.int64],
    strangers: NDArray[np.int64],
) -> tuple[float, tuple[Vectors, Vectors]]:
    """Both losses together, per task, and their slopes for `weights` and `workers`.

    `friends` (n) is a task of the same cluster for each task, `strangers` (n by OTHERS) are tasks of others.
    """
    raw = vectors @ weights
    queries, places = unit(raw), unit(workers)
    likeness = queries @ places.T / TEMPERATURE
    total, slope = _drawn_to(likeness, best, worst)
    along = queries @ queries.T / TEMPERATURE
    rows = np.arange(len(vectors))[:, None]
    picked = np.take_along_axis(along, np.concatenate([friends[:, None], strangers], axis=1), axis=1)
    is_friend = np.zeros(picked.shape, bool)
    is_friend[:, 0] = True
    more, inner = _drawn_to(picked, is_friend, ~is_friend)
    apart = np.zeros_like(along)
    np.add.at(apart, (rows, np.concatenate([friends[:, None], strangers], axis=1)), SAMPLE_WEIGHT * inner)
    to_queries = (slope @ places + (apart + apart.T) @ queries) / TEMPERATURE
    to_places = slope.T @ queries / TEMPERATURE
    count = len(vectors)
    slopes = (vectors.T @ _through_unit(to_queries, raw) / count, _through_unit(to_places, workers) / count)
    return (total + SAMPLE_WEIGHT * more) / count, slopes


def _drawn_to(likeness: Vectors, near: Mask, far: Mask) -> tuple[float, Vectors]:
    """The sum over each near one of −log of its share among itself and all far ones, and its slope."""
    raised = np.exp(likeness - likeness.max(axis=1, keepdims=True))
    away = (raised * far).sum(axis=1, keepdims=True)
    share = np.where(near, raised / (raised + away), 1.0)
    rest = np.where(near, 1 / (raised + away), 0.0)
    slope = np.where(near, share - 1, 0.0) + raised * far * rest.sum(axis=1, keepdims=True)
    return float(-np.log(share).sum()), slope


def _through_unit(slope: Vectors, raw: Vectors) -> Vectors:
    """The slope before `unit` was taken."""
    length = np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-12)
    towards = raw / length
    through: Vectors = (slope - (slope * towards).sum(axis=1, keepdims=True) * towards) / length
    return through


def _clusters(vectors: Vectors, seed: int) -> NDArray[np.int64]:
    from sklearn.cluster import KMeans  # large: only who trains loads it

    count = min(max(2, min(8, len(vectors) // 8)), len(np.unique(vectors.round(6), axis=0)))
    labels: NDArray[np.int64] = KMeans(count, n_init=4, random_state=seed).fit_predict(vectors).astype(np.int64)
    return labels


def _pairs(clusters: NDArray[np.int64], random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each task another of its cluster (itself, where it is alone) and some of other clusters."""
    everyone = np.arange(len(clusters))
    friends, strangers = [], []
    for at, cluster in enumerate(clusters):
        same = everyone[(clusters == cluster) & (everyone != at)]
        others = everyone[clusters != cluster]
        friends.append(random.choice(same) if len(same) else at)
        strangers.append(random.choice(others if len(others) else everyone, OTHERS))
    return np.array(friends), np.array(strangers)
