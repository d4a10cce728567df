"""What flow rules would have held a run for, each by itself, whether it is in force or not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import Project
from apps.runs.flow import Flow, answered_in, as_told
from apps.runs.models import Run
from apps.web.run.ruled import Ruled
from apps.workers.models import FlowRule
from apps.workflows.flow import Rule

Told = Mapping[str, Any]


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
    """`rules` held against the project's run called `code`, and the runs within it: models with the tags they have now.

    Whoever answered is taken for who did. What holds the run is told in any case, also where tags changed since.
    """
    run = None if "\0" in code else Run.objects.filter(project=project, code=code).select_related("project").first()
    if run is None:
        return Trial(None, error=f"There is no run “{code}” in {project.name}.")
    held = run.held_by.get("rules", ()) if run.hold == Run.Hold.RULES else ()
    found = [*_forbidden(run, rules), *held]
    told = list({(each.get("run", run.code), each["reader"], each["name"]): each for each in found}.values())
    return Trial(run, [Verdict(row, _ruled(run, row, told)) for row in rules])


def _forbidden(run: Run, rules: Sequence[FlowRule]) -> Iterator[Told]:
    """What `rules` forbid of a run and of those within it, each offence with the run that it is about."""
    run.excepted = []  # what was approved of it would have been held all the same
    by_pair = {(row.carries, row.needs): Rule(row.carries, row.needs, row.pk, row.words) for row in reversed(rules)}
    now = Flow.of(run, list(by_pair.values()))
    found = now.of_all(answered_in(run))
    for rule in now.rules:  # each by itself: of none is more told than can be, and of none nothing
        for each in as_told([offence for offence in found if offence.rule == rule]):
            yield {"run": run.code} | each
    if run.setup.get("nesting"):
        for nested in Run.objects.filter(nested_in__run=run).select_related("project").order_by("pk"):
            yield from _forbidden(nested, rules)


def _ruled(run: Run, row: FlowRule, told: Iterable[Told]) -> Ruled | None:
    of_it = [each for each in told if (each["carries"], each["needs"]) == (row.carries, row.needs)]
    return Ruled(run, of_it) if of_it else None
