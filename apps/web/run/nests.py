"""The runs that steps of a run became, with their steps and the runs nested in those: what the outline folds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.runs.models import Attempt, Run, RunQuerySet, Step
from apps.web.words.figures import plural, short_title
from apps.web.words.looks import Look, look_of


@dataclass(frozen=True)
class Inner:
    """A step of a nested run. `path` leads to it through the steps around it: `s2/s1`."""

    row: Step
    path: str
    title: str
    worker: Look
    nest: "Nest | None"

    @property
    def number(self) -> int:
        return self.row.position + 1


@dataclass(frozen=True)
class Nest:
    """A run within a step."""

    code: str
    status: str
    path: str
    steps: Sequence[Inner]

    @property
    def progress(self) -> str:
        """`2 of 3 steps`"""
        return progress_of(self.status, [inner.row for inner in self.steps])


def progress_of(status: str, steps: Sequence[Step]) -> str:
    """How far a run in `status` with these `steps` is."""
    if not steps:
        return {"queued": "not begun", "planning": "being planned"}.get(status, "no steps")
    return f"{sum(step.status in Step.DONE for step in steps)} of {plural(len(steps), 'step')}"


def nests_of(run: Run, looks: Mapping[str, Look]) -> dict[str, Nest]:
    """Each step of `run` that became a run of its own, by its key, with that run. Two queries for each depth."""
    if not run.setup.get("nesting"):
        return {}
    nested: dict[int, list[Run]] = defaultdict(list)  # by the run they are nested in
    steps: dict[int, list[Step]] = defaultdict(list)
    within = [run.pk]
    while within:
        found = list(_nested_in(within))
        for each in found:
            assert each.nested_in is not None
            nested[each.nested_in.run_id].append(each)
        within = [each.pk for each in found]
        for step in Step.objects.filter(run__in=within).defer("result"):
            steps[step.run_id].append(step)
    return _of(run.pk, "", nested, steps, looks)


def codes_within(run: Run) -> list[str]:
    """The codes of all runs nested in `run`, and in those. One query for each depth."""
    codes: list[str] = []
    around = [run.pk] if run.setup.get("nesting") else []
    while around:
        found = list(Run.objects.filter(nested_in__run__in=around).order_by("pk").values_list("pk", "code"))
        codes += [code for _, code in found]
        around = [pk for pk, _ in found]
    return codes


def nest_of(attempt: Attempt, *, path: str) -> Nest | None:
    """The run that one call became, without those nested in it; `path` leads to its step."""
    run = Run.objects.filter(nested_in=attempt).only("code", "status").first()
    return None if run is None else Nest(run.code, run.status, path, _inners(path, run.steps.defer("result"), {}, {}))


def _nested_in(runs: Sequence[int]) -> RunQuerySet:
    rows = Run.objects.filter(nested_in__run__in=runs).select_related("nested_in__step").order_by("pk")
    return rows.only("code", "status", "nested_in__run_id", "nested_in__step__key")


def _of(
    run: int,
    prefix: str,
    nested: Mapping[int, Sequence[Run]],
    steps: Mapping[int, Sequence[Step]],
    looks: Mapping[str, Look],
) -> dict[str, Nest]:
    """The runs nested in `run` by the keys of their steps; of a step that was tried again, the last."""
    found = {}
    for each in nested.get(run, ()):
        assert each.nested_in is not None
        path = prefix + each.nested_in.step.key
        deeper = _of(each.pk, f"{path}/", nested, steps, looks)
        inners = _inners(path, steps.get(each.pk, ()), deeper, looks)
        found[each.nested_in.step.key] = Nest(each.code, each.status, path, inners)
    return found


def _inners(path: str, steps: Iterable[Step], deeper: Mapping[str, Nest], looks: Mapping[str, Look]) -> list[Inner]:
    return [
        Inner(
            row=step,
            path=f"{path}/{step.key}",
            title=short_title(step.instruction),
            worker=looks.get(step.worker) or look_of(step.worker, None),
            nest=deeper.get(step.key),
        )
        for step in steps
    ]
