"""How the answer is taken from the results of a workflow: the last step's, the majority's, or the most central one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, assert_never

from .answers import final_answer, normalised
from .workflow import Last, Select, Vote, Workflow

Vectors = Mapping[str, Sequence[float]]

SMALLEST_ERROR: Final = 1e-9
"""Answers that lie on one another leave no error to divide by; this stands in for it, and for one below nothing."""


@dataclass(frozen=True)
class Answer:
    """The answer to the task, the step it was taken from, the rule that chose it, and what it went by, as plain data.

    `rule` is "last", "last-non-empty", "vote", "vote-tie" or "select". `detail` holds for a vote the steps behind each
    normalised answer, under "counts", and whether there was a "tie"; for a selection the "weights" of the steps.
    """

    text: str
    step: str
    rule: str
    detail: Mapping[str, Any] = field(default_factory=dict)


def take_answer(workflow: Workflow, results: Mapping[str, str], *, vectors: Vectors | None = None) -> Answer | None:
    """The answer by the workflow's sink; None where every result it could be taken from is empty.

    A selection without weights of its own needs the `vectors` of the results, by the keys of their steps.

    :raises ValueError: it has none.
    """
    match workflow.sink:
        case Last():
            return _last(workflow, results)
        case Vote(over=over):
            return _most_said(_said(over, results))
        case Select(over=over, weights=weights):
            said = _said(over, results)
            return _heaviest(said, _weights(said, over, weights, vectors)) if said else None
        case _:
            assert_never(workflow.sink)


def smoothie_weights(vectors: Vectors) -> dict[str, float]:
    """How near each answer lies to what they all are about (Smoothie, arXiv 2412.04692, its label-free weights).

    The weight is dim / (2·err). An error of nothing or less counts as `SMALLEST_ERROR`. Two answers have no pair of
    others: both weigh the same, as does one alone (a departure: the paper starts at three).
    """
    errors = smoothie_errors(vectors)
    if not errors:
        return dict.fromkeys(vectors, 1.0)
    return {key: len(vectors[key]) / (2 * max(error, SMALLEST_ERROR)) for key, error in errors.items()}


def smoothie_errors(vectors: Vectors) -> dict[str, float]:
    """The squared distance of each answer from the unknown true one, as far as the others betray it.

    err_i is the mean, over all pairs j, k of the others, of ½(‖i−j‖² + ‖i−k‖² − ‖j−k‖²), in which the true answer
    cancels out. Nothing is known of fewer than three answers.
    """
    if len(vectors) < 3:
        return {}
    apart = {frozenset(pair): _squared_distance(*(vectors[key] for key in pair)) for pair in combinations(vectors, 2)}
    errors = {}
    for key in vectors:
        pairs = list(combinations([other for other in vectors if other != key], 2))
        doubled = sum(
            apart[frozenset((key, j))] + apart[frozenset((key, k))] - apart[frozenset((j, k))] for j, k in pairs
        )
        errors[key] = doubled / 2 / len(pairs)
    return errors


def _last(workflow: Workflow, results: Mapping[str, str]) -> Answer | None:
    """The last step's result, or the last one before it that is not empty (arXiv 2512.04388, section 3)."""
    for step in reversed(workflow.steps):
        if results.get(step.key, "").strip():
            last = step.key == workflow.steps[-1].key
            return Answer(text=results[step.key], step=step.key, rule="last" if last else "last-non-empty")
    return None


def _said(over: Sequence[str], results: Mapping[str, str]) -> dict[str, str]:
    return {key: results[key] for key in over if results.get(key, "").strip()}


def _most_said(said: Mapping[str, str]) -> Answer | None:
    """The result of the first step that said what most said; of answers said equally often the one said first."""
    counts: dict[str, list[str]] = {}
    for key, text in said.items():
        counts.setdefault(normalised(final_answer(text)), []).append(key)
    if not counts:
        return None
    most = max(len(keys) for keys in counts.values())
    winners = [keys for keys in counts.values() if len(keys) == most]
    tie = len(winners) > 1
    first = winners[0][0]
    return Answer(said[first], first, "vote-tie" if tie else "vote", {"counts": counts, "tie": tie})


def _weights(
    said: Mapping[str, str], over: Sequence[str], given: Sequence[float] | None, vectors: Vectors | None
) -> dict[str, float]:
    if given is not None:
        return {key: weight for key, weight in zip(over, given, strict=True) if key in said}
    if vectors is None:
        raise ValueError("a selection without weights needs the vectors of the results")
    return smoothie_weights({key: vectors[key] for key in said})


def _heaviest(said: Mapping[str, str], weights: Mapping[str, float]) -> Answer:
    first = max(said, key=lambda key: weights[key])  # of equal weights the first step's
    return Answer(said[first], first, "select", {"weights": dict(weights)})


def _squared_distance(one: Sequence[float], other: Sequence[float]) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
