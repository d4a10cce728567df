"""The way from a run's page to a step: its key, behind those of the steps around it where it is one of a nested run."""

from dataclasses import dataclass

from django.urls import reverse

from apps.core.errors import NotFound
from apps.runs.models import Run
from apps.workflows.graph import quoted

DEEPEST = 4  # runs within runs; a profile allows three


class NoSuchStep(NotFound):
    """The run has no step under this key."""

    def __init__(self, run: Run, path: str) -> None:
        super().__init__(f"Run {run.code} has no step {quoted(path)}.")


@dataclass(frozen=True)
class Path:
    """Where a step is shown (`page`), and which it is: step `key` of `run`, which is `page` or nested in it."""

    page: Run
    run: Run
    around: tuple[str, ...]
    key: str
    number: int | None = None  # of the step that its run is nested in

    @property
    def prefix(self) -> str:
        """What stands before the key of every step of its run: `s2/`, or nothing."""
        return "".join(f"{name}/" for name in self.around)

    @property
    def text(self) -> str:
        return f"{self.prefix}{self.key}"

    @property
    def page_url(self) -> str:
        """The address of the page it is shown on."""
        return reverse("run", args=[self.page.code])

    @property
    def panel_url(self) -> str:
        """The address of the step's panel."""
        return reverse("run-step", args=[self.page.code, self.text])


def path_to(page: Run, text: str) -> Path:
    """The step that `text` leads to from `page`: `s2`, or `s2/s1` for one of the run that step 2 became.

    :raises NoSuchStep: a run on the way is not there. Whether its run has the step is not asked.
    """
    *around, key = text.split("/")
    run, number = page, None
    for name in around:
        nested = Run.objects.filter(nested_in__run=run, nested_in__step__key=name).order_by("pk")
        inner = nested.last() if "\0" not in name and len(around) <= DEEPEST else None
        if inner is None:
            raise NoSuchStep(page, text)
        number = run.steps.values_list("position", flat=True).get(key=name) + 1
        run = inner
    return Path(page, run, tuple(around), key, number)
