"""Trails that anchors name and that are not there any more, or no longer their project's: a walk cannot meet them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from django.db import connection

from apps.audit.models import Trail
from apps.audit.pinned import TRAIL
from apps.audit.pins import Pins
from apps.audit.rows import Scope

MOST = 1000

# An anchor names trails of one project, and a trail is of one project for ever.
GONE = """
    SELECT head.trail, anchor.project, trail.project, max(head.seq), max(anchor.seq)
    FROM audit_anchoredhead AS head
    JOIN audit_anchor AS anchor ON anchor.seq = head.anchor_id
    LEFT JOIN audit_trail AS trail ON trail.name = head.trail
    WHERE trail.project IS DISTINCT FROM anchor.project
        AND anchor.seq <= %(newest)s
        AND (%(name)s::text IS NULL OR head.trail = %(name)s)
        AND (%(project)s::text IS NULL OR %(project)s IN (anchor.project, trail.project))
    GROUP BY head.trail, anchor.project, trail.project
    ORDER BY head.trail
    LIMIT %(most)s
"""


class Missing(NamedTuple):
    """A trail that is missed in one project or two, the first place that is, and words."""

    projects: Sequence[str]
    trail: str
    seq: int
    reason: str


def missing_trails(scope: Scope, *, newest: int, pins: Pins | None) -> Iterator[Missing]:
    """What anchors up to place `newest`, and those of `pins`, name in vain of what is in scope."""
    given = {"name": scope.trail, "project": scope.project, "newest": newest, "most": MOST}
    told = {TRAIL} if newest else set()  # of which the walk tells, or its signatures
    with connection.cursor() as cursor:
        cursor.execute(GONE, given)
        rows = cursor.fetchall()
    for trail, project, there, seq, anchor in rows:
        told.add(trail)
        if there is None:
            yield Missing([project], trail, 1, f"the trail is gone: anchor {anchor} names event {seq} of it")
        else:
            projects = [each for each in (project, there) if scope.project in (None, each)]
            yield Missing(projects, trail, 1, f"the trail is kept as another project's than anchor {anchor} names")
    if pins:
        yield from _missing_of(pins, scope, told)


def _missing_of(pins: Pins, scope: Scope, told: set[str]) -> Iterator[Missing]:
    names = [name for name, project in pins.projects.items() if name not in told and _is_in(scope, name, project)]
    there: set[str] = set()
    for at in range(0, len(names), MOST):
        there.update(Trail.objects.filter(name__in=names[at : at + MOST]).values_list("name", flat=True))
    for name in names:
        if name not in there:
            seq = max(pins.heads[name])
            anchor = pins.heads[name][seq][1]
            words = f"the trail is gone: anchor {anchor} of {pins.path.name} names event {seq} of it"
            yield Missing([pins.projects[name]], name, 1, words)


def _is_in(scope: Scope, name: str, project: str) -> bool:
    if scope.trail is not None:
        return name == scope.trail
    return scope.project is None or (project == scope.project and name != TRAIL)
