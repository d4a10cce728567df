"""What the filter of the audit page offers while somebody types: fields, and the values of those that have few."""

from typing import Any

from apps.accounts.models import User
from apps.audit.conditions import values
from apps.audit.filters import ACTORS, FIELDS, OUTCOMES
from apps.web.audit.scope import Scope
from apps.web.words.events import in_words
from apps.workers.models import Worker

MOST = 60  # of one kind: more are found by typing a part of them
MOMENTS = [("today", ""), ("yesterday", ""), ("7d", "seven days ago"), ("24h", "a day ago")]


def suggestions_for(user: User, scope: Scope) -> dict[str, Any]:
    """The fields with what they mean, and under a field's name its values, each with what it means."""
    workers = Worker.objects.visible_to(user).order_by("slug")
    return {
        "fields": [{"name": field.name, "kind": field.kind, "hint": field.hint} for field in FIELDS.values()],
        "values": {
            "verb": [(verb, in_words(verb)) for verb in values("verb")],
            "is": list(ACTORS.items()),
            "outcome": list(OUTCOMES.items()),
            "worker": list(workers.values_list("slug", "name")[:MOST]),
            "project": [(project.slug, project.name) for project in scope.projects[:MOST]],
            "after": MOMENTS,
            "before": MOMENTS,
        },
    }
