"""What flow rules would have held a run for, each by itself, whether it is in force or not."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.accounts.models import Project
from apps.runs.flow import Flow, as_told, part_of
from apps.runs.models import Run
from apps.web.run.ruled import Ruled
from apps.workers.models import FlowRule
from apps.workflows.flow import Rule


@dataclass(frozen=True)
class Verdict:
    """One rule, and what of the run it forbids."""

    rule: FlowRule
    ruled: Ruled | None


@dataclass(frozen=True)
class Trial:
    """A run held against rules; without a `run`, why there is none."""

    run: Run | None
    verdicts: Sequence[Verdict] = ()
    error: str = ""

    @property
    def holding(self) -> int:
        """How many of the rules would have held it."""
        return sum(verdict.ruled is not None for verdict in self.verdicts)


def trial_of(code: str, project: Project, rules: Sequence[FlowRule]) -> Trial:
    """`rules` held against the project's run called `code`: its tags, its workflow, and models as they are now."""
    run = None if "\0" in code else Run.objects.filter(project=project, code=code).select_related("project").first()
    if run is None:
        return Trial(None, error=f"There is no run “{code}” in {project.name}.")
    run.excepted = []  # what was approved of it would have been held all the same
    return Trial(run, [Verdict(rule, _ruled(run, rule)) for rule in rules])


def _ruled(run: Run, row: FlowRule) -> Ruled | None:
    flow = Flow.of(run, [Rule(row.carries, row.needs, row.pk, row.words)])
    setup = run.setup
    found = flow.before_plan(part_of(setup, run.planned_by or setup["planner"]))
    if run.workflow is not None:
        found += flow.of_workflow(run.workflow)
    return Ruled(run, as_told(found)) if found else None
