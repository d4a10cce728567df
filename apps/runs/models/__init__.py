"""The rows of runs: what is carried out, and what people keep beside it."""

from apps.runs.models.carried_out import (
    HEART_STOPPED_AFTER,
    TRIAL,
    Attempt,
    Driver,
    Proposal,
    Run,
    RunQuerySet,
    Step,
    group_of,
    new_code,
)
from apps.runs.models.kept import Experiment, RunWords, SavedDraft, SavedView, Share, Variant
from apps.runs.models.retention import LegalHold, Policy
from apps.runs.models.reviewed import Rating, RatingQuerySet, Review

__all__ = [
    "HEART_STOPPED_AFTER",
    "TRIAL",
    "Attempt",
    "Driver",
    "Experiment",
    "LegalHold",
    "Policy",
    "Proposal",
    "Rating",
    "RatingQuerySet",
    "Review",
    "Run",
    "RunQuerySet",
    "RunWords",
    "SavedDraft",
    "SavedView",
    "Share",
    "Step",
    "Variant",
    "group_of",
    "new_code",
]
