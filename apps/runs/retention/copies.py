"""Which runs hold copies of another's texts: forks took its task and results over, other plans of it its task.

A run nested in another has a task made of the other's, and its answer is a result there: who forks the one copies the
other. A copy is a run of its own, with its own age and its own policy: erasing a run leaves its copies, unless somebody
says that they go, too. Templates that were made from a run stay whatever becomes of it: somebody kept those on purpose.
"""

from collections.abc import Collection

from django.db.models import QuerySet

from apps.runs.models import Run

LINKS = ("parent", "children", "beside", "plans", "nested_in__run", "attempts__nested")
"""The ways on which texts go from one run to another, each there and back."""


def copies_of(run: Run) -> "QuerySet[Run]":
    """The runs of its lineage, the plans beside it, those of the runs nested in it, and so on.

    Of these such as are not erased and not nested themselves, oldest first: each goes with all that is nested in it.
    """
    known = {run.pk}
    news = known
    while news:
        news = _linked_to(news) - known
        known = known | news
    others = Run.objects.filter(pk__in=known - {run.pk}, erased_at=None, nested_in=None)
    return others.select_related("project").order_by("pk")


def _linked_to(runs: Collection[int]) -> set[int]:
    """In one query, and no join of one way with another."""
    first, *others = [
        Run.objects.order_by().filter(**{f"{link}__in": runs}).values_list("pk", flat=True) for link in LINKS
    ]
    return set(first.union(*others))
