"""Smoothie's global weights: how near each worker's answers lie to everybody's, over many tasks (arXiv 2412.04692).

No answer is graded. Departures: without an embedding worker, in the place of the paper's sentence encoder, answers are
TF-IDF vectors; and what is averaged over the tasks is each worker's error.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from apps.workflows.sinks import smoothie_errors

from .records import Records, RecordsUnusable
from .vectors import tfidf_vectors


def train(records: Records, vectors: Mapping[str, Sequence[float]] | None = None) -> dict[str, Any]:
    """{"workers", "weights": one for each worker, 1 on the average}. `vectors` of the answers, where there are any.

    :raises RecordsUnusable: there are no answers.
    """
    errors: dict[str, list[float]] = {worker: [] for worker in records.workers}
    for answers in records.answers:
        said = {worker: answer for worker, answer in zip(records.workers, answers, strict=True) if answer.strip()}
        known = tfidf_vectors(said) if vectors is None else {worker: vectors[text] for worker, text in said.items()}
        for worker, error in smoothie_errors(known).items():
            errors[worker].append(error)
    if not any(errors.values()):
        raise RecordsUnusable("No task has three answers or more: Smoothie learns from the “answer” of each row.")
    mean = {worker: max(float(np.mean(values)) if values else np.inf, 1e-3) for worker, values in errors.items()}
    raw = {worker: 1 / error for worker, error in mean.items()}
    average = sum(raw.values()) / len(raw)
    return {
        "workers": list(records.workers),
        "weights": {worker: round(weight / average, 5) for worker, weight in raw.items()},
    }
