"""The rows of the one log, of its anchors, and of what checking it found."""

from apps.audit.models.anchors import Anchor, AnchoredHead, Sending
from apps.audit.models.checks import Check
from apps.audit.models.events import (
    CurrentTransaction,
    Event,
    NextTransaction,
    OwnTransaction,
    Payload,
    Trail,
)
from apps.audit.models.words import EventWords, Follower

__all__ = [
    "Anchor",
    "AnchoredHead",
    "Check",
    "CurrentTransaction",
    "Event",
    "EventWords",
    "Follower",
    "NextTransaction",
    "OwnTransaction",
    "Payload",
    "Sending",
    "Trail",
]
