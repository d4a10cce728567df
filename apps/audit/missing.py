"""Trails that anchors name and that are not there any more: a walk along trails cannot meet them."""

from collections.abc import Iterator

from django.db import connection

from apps.audit.anchored import Pins
from apps.audit.models import Anchor, Trail
from apps.audit.pinned import TRAIL
from apps.audit.rows import Scope

MOST = 1000

GONE = """
    SELECT head.trail, anchor.project, max(head.seq), max(anchor.seq)
    FROM audit_anchoredhead AS head
    JOIN audit_anchor AS anchor ON anchor.seq = head.anchor_id
    WHERE NOT EXISTS (SELECT FROM audit_trail AS trail WHERE trail.name = head.trail)
        AND anchor.seq <= %(newest)s
        AND (%(name)s::text IS NULL OR head.trail = %(name)s)
        AND (%(project)s::text IS NULL OR anchor.project = %(project)s)
    GROUP BY head.trail, anchor.project
    ORDER BY head.trail
    LIMIT %(most)s
"""


def missing_trails(
    scope: Scope, *, newest: Anchor | None, pins: Pins | None
) -> Iterator[tuple[str, tuple[str, int, str]]]:
    """The project of each, and its name, the first place that is missing, and words."""
    given = {"name": scope.trail, "project": scope.project, "newest": newest.seq if newest else 0, "most": MOST}
    told = set()
    with connection.cursor() as cursor:
        cursor.execute(GONE, given)
        for trail, project, seq, anchor in cursor.fetchall():
            told.add(trail)
            yield project, (trail, 1, f"the trail is gone: anchor {anchor} names event {seq} of it")
    if newest and scope.trail is None and scope.project is None and not Trail.objects.filter(name=TRAIL).exists():
        told.add(TRAIL)
        yield "", (TRAIL, 1, f"the trail is gone, and the signature of anchor {newest.seq} is still there")
    if pins:
        yield from _missing_of(pins, scope, told)


def _missing_of(pins: Pins, scope: Scope, told: set[str]) -> Iterator[tuple[str, tuple[str, int, str]]]:
    names = [name for name, project in pins.projects.items() if name not in told and _is_in(scope, name, project)]
    there: set[str] = set()
    for at in range(0, len(names), MOST):
        there.update(Trail.objects.filter(name__in=names[at : at + MOST]).values_list("name", flat=True))
    for name in names:
        if name not in there:
            seq = max(pins.heads[name])
            anchor = pins.heads[name][seq][1]
            yield (
                pins.projects[name],
                (
                    name,
                    1,
                    f"the trail is gone: anchor {anchor} of {pins.path.name} names event {seq} of it",
                ),
            )


def _is_in(scope: Scope, name: str, project: str) -> bool:
    if scope.trail is not None:
        return name == scope.trail
    return scope.project is None or (project == scope.project and name != TRAIL)
