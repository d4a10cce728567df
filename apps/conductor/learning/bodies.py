"""What was learnt, as plain data: how a task becomes the vector it was learnt on, and which workers it knows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from apps.conductor.proposal import Brief
from apps.core.errors import Invalid

from . import tfidf
from .tfidf import Vectors


def fit_texts(tasks: Sequence[str]) -> tuple[dict[str, Any], Vectors]:
    """TF-IDF fitted on `tasks`, for a body's "texts", and their vectors (n by terms)."""
    fitted = tfidf.fit(tasks)
    return fitted, np.array([tfidf.vector(fitted, task) for task in tasks])


def learnt_with(embedder: Mapping[str, Any], *, dims: int) -> dict[str, Any]:
    """What a body says of the frozen worker on whose vectors it was learnt."""
    return {"embedder": embedder["slug"], "embedder_model": embedder["identity"]["model"], "dims": dims}


def vector_of(body: dict[str, Any], brief: Brief) -> Vectors:
    """The task's vector in the space the body was learnt in.

    :raises Invalid: it was learnt on an embedding worker's vectors, and there is none of the task or another kind.
    """
    if body.get("embedder"):
        if brief.embedding is None:
            message = f"What was learnt needs the embedding worker “{body['embedder']}”, which did not answer."
            raise Invalid(message, field="options")
        if len(brief.embedding) != body["dims"]:
            raise Invalid(
                f"What was learnt needs vectors of {body['dims']} numbers, and “{body['embedder']}” now gives "
                f"{len(brief.embedding)}. Train the planner again.",
                field="options",
            )
        return tfidf.unit(np.array(brief.embedding))
    return tfidf.vector(body["texts"], brief.task)


def learnt_of(brief: Brief, *, name: str, command: str) -> dict[str, Any]:
    """What `name` has learnt. :raises Invalid: nothing, or of none of the workers of this pool."""
    body = dict(brief.learnt or {})
    how = f"Train it with: python manage.py train_planner {command} --from FILE"
    if not body:
        raise Invalid(f"{name} has not been trained yet. {how}", field="options")
    if not set(body["workers"]) & set(brief.workers):
        known = ", ".join(body["workers"][:5])
        raise Invalid(f"{name} was trained on other workers ({known}) than this pool has. {how}", field="options")
    return body
