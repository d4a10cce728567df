"""What the filter of the list of runs offers while somebody types: fields, and the values of those that have few."""

from typing import Any

from apps.accounts.models import Project, User
from apps.runs.filters import FIELDS, KINDS, REVIEWS, STATES
from apps.web.words.planners import label_of
from apps.workers.models import Profile, Worker

MOST = 40  # of one kind: more are found by typing a part of them


def suggestions_for(user: User) -> dict[str, Any]:
    """The fields with what they mean, and under a field's name its values, each with what it means."""
    return {
        "fields": [{"name": field.name, "kind": field.kind, "hint": field.hint} for field in FIELDS.values()],
        "values": {
            "status": list(STATES.items()),
            "is": [*KINDS.items(), *STATES.items()],
            "worker": list(_workers(user)),
            "profile": list(Profile.objects.visible_to(user).order_by("slug").values_list("slug", "name")[:MOST]),
            "project": list(Project.objects.visible_to(user).order_by("slug").values_list("slug", "name")[:MOST]),
            "planner": [(planner, label_of(planner)) for planner in Profile.Planner.values],
            "who": list(_people(user)),
            "reviewed": list(REVIEWS.items()),
            "after": [("today", ""), ("yesterday", ""), ("7d", "seven days ago"), ("24h", "a day ago")],
            "before": [("today", ""), ("yesterday", ""), ("7d", "seven days ago")],
        },
    }


def _workers(user: User) -> Any:
    return Worker.objects.visible_to(user).order_by("slug").values_list("slug", "name")[:MOST]


def _people(user: User) -> list[tuple[str, str]]:
    """Those who share a project with the person."""
    shared = User.objects.filter(memberships__project__in=Project.objects.visible_to(user))
    return [(other.username, other.get_full_name()) for other in shared.distinct().order_by("username")[:MOST]]
