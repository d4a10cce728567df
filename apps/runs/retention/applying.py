"""What policies would erase, and erasing it: told beforehand to whoever asks, done once a day."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import Count, QuerySet

from apps.accounts.models import Project
from apps.audit.log import STUDIO, Actor
from apps.audit.models import Payload
from apps.core.errors import Conflict
from apps.runs.erased import lock
from apps.runs.models import Run
from apps.runs.retention.erasing import erase
from apps.runs.retention.policies import Rule, due, held_back, rule_for, rules_of

logger = structlog.get_logger(__name__)

AT_ONCE = 200  # runs read at a time


@dataclass(frozen=True)
class Going:
    """A run that would be erased now, by which rule, and how many texts its trail would lose."""

    run: Run
    rule: Rule
    texts: int


@dataclass(frozen=True)
class Outlook:
    """What would go in a project if its rules were applied now."""

    project: Project
    going: Sequence[Going]  # the first of them, longest over first
    count: int
    held_back: int  # whose time has come, and that a legal hold keeps

    @property
    def more(self) -> int:
        """How many would go beyond those that are named."""
        return self.count - len(self.going)


def outlook(project: Project, *, now: datetime, rules: Sequence[Rule] | None = None, limit: int | None = 50) -> Outlook:
    """What would go now by the project's policies, or by other `rules`, at most `limit` named; nothing is changed."""
    rules = rules_of(project) if rules is None else rules
    runs = due(project, rules, now=now)
    return Outlook(
        project=project,
        going=_going(runs[:limit], rules),
        count=runs.count(),
        held_back=held_back(project, rules, now=now).count(),
    )


def _going(runs: Iterable[Run], rules: Sequence[Rule]) -> list[Going]:
    found = list(runs)
    texts = _texts_of(found)
    return [Going(run, rule, texts.get(run.trail, 0)) for run in found if (rule := rule_for(run, rules)) is not None]


def _texts_of(runs: Sequence[Run]) -> dict[str, int]:
    """How many texts the trail of each of these runs holds, by the trail's name."""
    whole = Payload.objects.filter(trail__name__in=[run.trail for run in runs], erased_at=None)
    return dict(whole.order_by().values_list("trail__name").annotate(Count("pk")))


def apply_policies(*, now: datetime, by: Actor = STUDIO, project: Project | None = None) -> Iterator[Run]:
    """Erase whatever is due, each run in a transaction of its own; yields those that were erased.

    What cannot be erased at this moment is left for another day. :raises LiveTextAway: Redis does not answer.
    """
    for each in [project] if project else projects_with_policies():
        yield from _apply_in(each, by, now)


def projects_with_policies() -> "QuerySet[Project]":
    """Those that keep anything for less than ever."""
    return Project.objects.filter(policies__keep_days__isnull=False).distinct()


def _apply_in(project: Project, by: Actor, now: datetime) -> Iterator[Run]:
    left: set[int] = set()
    while batch := list(due(project, rules_of(project), now=now).exclude(pk__in=left)[:AT_ONCE]):
        for run in batch:
            if _apply_to(run, by, now):
                logger.info("texts were erased: their time had come", run=run.code)
                yield run
            else:
                left.add(run.pk)


def _apply_to(run: Run, by: Actor, now: datetime) -> bool:
    """Whether the run was erased: by the policies and holds as they are in this very transaction."""
    with transaction.atomic():
        lock(run.project)
        rules = rules_of(run.project)
        rule = rule_for(run, rules)
        if rule is None or not due(run.project, rules, now=now).filter(pk=run.pk).exists():
            return False
        try:
            erase(run, by=by, now=now, told={"why": "policy", **rule.facts})
        except Conflict:  # its driver still tidies up
            return False
    return True
