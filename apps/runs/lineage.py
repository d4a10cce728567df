"""How runs hang together: which of how many of its lineage one is, how the latest stands, and what mended a failure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce

from apps.runs.models import Run, RunQuerySet, Variant

MOST_READ = 10_000  # of all the lineages that are asked for together, the newest runs


@dataclass(frozen=True)
class Lineage:
    """One run among those that were made from one another."""

    place: int | None  # counted from 1 in the order they were made; None where there are too many to tell
    size: int
    latest: str  # the code of the newest, and how it stands
    latest_status: str
    fixed_in: str = ""  # the code of the first run that grew from this one's failure and succeeded

    @property
    def is_alone(self) -> bool:
        return self.size == 1

    @property
    def is_latest_ok(self) -> bool:
        return self.latest_status == Run.Status.SUCCEEDED


@dataclass(frozen=True)
class Member:
    """What is read of each run of a lineage."""

    pk: int
    root_pk: int
    parent_pk: int | None
    code: str
    status: str


def apart_from_experiments(runs: RunQuerySet) -> RunQuerySet:
    """`runs` without the forks that an experiment on several edges made: those are listed on its own page."""
    beside = Variant.objects.filter(experiment=OuterRef("experiment")).exclude(pk=OuterRef("pk"))
    return runs.exclude(Exists(Variant.objects.filter(Exists(beside), fork=OuterRef("pk"))))


def lineages_of(runs: Iterable[Run]) -> dict[int, Lineage]:
    """The place of each of `runs` in its lineage, under its primary key, in two queries.

    Of each run `pk`, `root_id`, `code` and `status` must be loaded. Runs made from one another share a project: whoever
    may see one of them may see all.
    """
    asked = list(runs)
    roots = {run.lineage_root_id for run in asked}
    if not roots:
        return {}
    members = _members(roots)
    sizes = dict(_in(roots).order_by().values_list(Coalesce("root_id", F("pk"))).annotate(Count("pk")))
    return {run.pk: _of(run, members[run.lineage_root_id], sizes.get(run.lineage_root_id, 1)) for run in asked}


def lineage_of(run: Run) -> Lineage:
    """The place of one run."""
    return lineages_of([run])[run.pk]


def _in(roots: set[int]) -> RunQuerySet:
    return apart_from_experiments(Run.objects.filter(Q(pk__in=roots) | Q(root__in=roots)))


def _members(roots: set[int]) -> dict[int, list[Member]]:
    """The runs of each lineage in the order they were made."""
    rows = _in(roots).order_by("-pk").values_list("pk", Coalesce("root_id", F("pk")), "parent_id", "code", "status")
    found: dict[int, list[Member]] = defaultdict(list)
    for row in reversed(rows[:MOST_READ]):
        member = Member(*row)
        found[member.root_pk].append(member)
    return found


def _of(run: Run, members: Sequence[Member], size: int) -> Lineage:
    at = next((at for at, member in enumerate(members) if member.pk == run.pk), None)
    latest = members[-1] if members else Member(run.pk, run.lineage_root_id, None, run.code, run.status)
    return Lineage(
        place=None if at is None else size - len(members) + at + 1,
        size=size,
        latest=latest.code,
        latest_status=latest.status,
        fixed_in=_fixed_in(run, members) if run.status == Run.Status.FAILED else "",
    )


def _fixed_in(run: Run, members: Sequence[Member]) -> str:
    """The first of those that grew from `run`, however many forks on, that succeeded."""
    grown = {run.pk}
    for member in members:
        if member.parent_pk in grown:
            grown.add(member.pk)
            if member.status == Run.Status.SUCCEEDED:
                return member.code
    return ""
