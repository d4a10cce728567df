"""Where the texts of a run stand beside its trail, and what each becomes when the run is erased.

Every text and JSON column of a row that belongs to a run is named here, as erased or as kept: a test sees to it, so
that a column that is added later cannot be forgotten.
"""

from collections.abc import Mapping
from typing import Any

from django.db.models import Model

from apps.runs.models import (
    Attempt,
    Experiment,
    LegalHold,
    Proposal,
    Rating,
    Review,
    Run,
    RunWords,
    SavedDraft,
    Share,
    Step,
    Variant,
)

GONE = "Erased"
"""What is read in the place of an instruction, wherever a step is named by it."""

ERASED: Mapping[type[Model], Mapping[str, Any]] = {
    Run: {"task": "", "answer": "", "answer_detail": {}, "error": "", "notice": ""},
    Step: {"instruction": GONE, "result": "", "note": ""},
    # The digest of a request has no salt: whoever guesses the request could tell by it.
    Attempt: {"sent": [], "text": "", "error": "", "track": None, "digest": ""},
    Proposal: {"sent": [], "raw": "", "error": "", "track": None, "repairs": [], "problems": []},
    Variant: {"note": ""},
    Review: {"comment": ""},
    Rating: {"correction": "", "comment": ""},
}
"""What is written over, and with what."""

REWRITTEN: Mapping[type[Model], frozenset[str]] = {
    Run: frozenset({"title", "setup", "workflow_body"}),
    RunWords: frozenset({"words"}),
}
"""What loses its texts and keeps the rest: see `without_texts`, `without_instructions` and migration 0010."""

DELETED: tuple[type[Model], ...] = (SavedDraft,)
"""What is nothing but text."""

KEPT: Mapping[type[Model], Mapping[str, str]] = {
    Run: {
        "code": "names it",
        "profile": "names what it ran under",
        "status": "a state",
        "fresh": "keys of steps",
        "submit_key": "drawn at random",
        "planned_by": "names a planner",
        "hold": "a state",
        "held_by": "names a limit or rules, and keys of steps",
        "excepted": "names rules",
        "breakpoints": "keys of steps",
        "passed": "keys of steps",
        "driver": "names a process",
        "answer_step": "the key of a step",
        "answer_rule": "a rule's name",
        "error_step": "the key of a step",
        "reviewed": "a state",
    },
    Step: {
        "key": "names it",
        "worker": "names a worker",
        "access": "keys of steps",
        "role": "a planner's word for its part",
        "status": "a state",
    },
    Attempt: {
        "worker": "names a worker",
        "status": "a state",
        "error_kind": "a kind",
        "finish_reason": "a provider's word",
    },
    Proposal: {"verdict": "a state", "conductor": "names a conductor", "status": "a state"},
    Share: {"digest": "of a link that is revoked", "begins": "of a link that is revoked"},
    Experiment: {"status": "a state"},
    Variant: {
        "source": "the key of a step",
        "reader": "the key of a step",
        "state": "a state",
        "called": "keys of steps",
        "changed": "keys of steps",
    },
    Review: {"state": "a state"},
    LegalHold: {"reason": "why nothing was to be erased, for whoever asks later"},
}
"""What stays, and why it may."""


def without_texts(setup: Mapping[str, Any]) -> dict[str, Any]:
    """A run's setup without what somebody wrote for this run alone: the names of files that were given with the task.

    What was in them stands in the task. How long they were and what tags they carry stays.
    """
    files = [{**each, "name": ""} for each in setup.get("attachments", ())]
    return {**setup, **({"attachments": files} if files else {})}


def without_instructions(body: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A workflow as it is kept: who did what after whom, and no longer what they were told."""
    if body is None:
        return None
    return {**body, "steps": [{**step, "instruction": GONE} for step in body["steps"]]}
