"""Which runs hold copies of another's texts: forks took its task and results over, other plans of it its task.

A copy is a run of its own, with its own age and its own policy: erasing a run leaves its copies, unless somebody says
that they go, too. Templates that were made from a run stay whatever becomes of it: somebody kept those on purpose.
"""

from django.db.models import Q, QuerySet

from apps.runs.models import Run


def copies_of(run: Run) -> "QuerySet[Run]":
    """The runs of its lineage and of the plans beside it, and so on, that are not erased, oldest first."""
    known = {run.pk}
    news = known
    while news:
        beside = Q(beside__in=news) | Q(plans__in=news)
        found = Run.objects.filter(Q(parent__in=news) | Q(children__in=news) | beside)
        news = set(found.order_by().values_list("pk", flat=True)) - known
        known = known | news
    others = Run.objects.filter(pk__in=known - {run.pk}, erased_at=None, nested_in=None)
    return others.select_related("project").order_by("pk")
