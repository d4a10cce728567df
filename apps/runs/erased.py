"""A run whose texts were erased: what remains of it is to be read, and nothing can be made from it any more."""

from apps.accounts.models import Project
from apps.core.errors import Conflict
from apps.runs.models import Run


class RunErased(Conflict):
    """The texts that would be needed are gone."""

    def __init__(self, run: Run) -> None:
        at = f" on {run.erased_at:%-d %b %Y}" if run.erased_at else ""
        super().__init__(
            f"The texts of run {run.code} were erased{at}: nothing can be made from it any more. "
            "Its events and its numbers stay."
        )


def check_not_erased(run: Run) -> None:
    """:raises RunErased: its task, instructions and results are gone."""
    if run.is_erased:
        raise RunErased(run)


def check_still_whole(run: Run) -> None:
    """The same of the run as it is in the table, which nobody erases before the transaction under way is over.

    :raises RunErased: somebody did before.
    """
    check_not_erased(Run.objects.select_for_update(no_key=True).get(pk=run.pk))


def check_may_be_copied(run: Run) -> None:
    """The same, and whoever erases the run with its copies later finds the one that the transaction under way makes.

    It is to be asked before anything else of that transaction is locked: whoever erases begins with the project, too.

    :raises RunErased: somebody did before.
    """
    lock(run.project)
    check_still_whole(run)


def lock(project: Project) -> None:
    """Whoever places a hold, copies a run or erases one goes after the other, in the transaction under way."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def title_when_erased(run: Run) -> str:
    """What stands in the place of the title of an erased run, wherever it is listed."""
    return f"Erased {run.erased_at:%-d %b %Y}" if run.erased_at else run.title
