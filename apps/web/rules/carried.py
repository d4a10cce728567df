"""Which models of a project's pool have which tags."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from apps.accounts.models import Project
from apps.workers.models import Conductor, Worker

NAMED = 6


@dataclass(frozen=True)
class Carried:
    """The models that have one tag."""

    names: Sequence[str] = ()

    @property
    def first(self) -> Sequence[str]:
        return self.names[:NAMED]

    @property
    def more(self) -> int:
        return max(0, len(self.names) - NAMED)


def carried_in(project: Project) -> dict[str, Carried]:
    """The enabled models of everybody's and of the project's own, by the tags that they have."""
    found: dict[str, list[str]] = {}
    for table in (Worker.objects, Conductor.objects):
        rows: Iterable[tuple[str, Any]] = (
            table.filter(Q(project=None) | Q(project=project), enabled=True)
            .exclude(tags=[])
            .order_by("slug")
            .values_list("name", "tags")
        )
        for name, tags in rows:
            for tag in tags:
                found.setdefault(tag, []).append(name)
    return {tag: Carried(names) for tag, names in found.items()}
