"""Where a run comes from: who planned it, of which models, and which runs it belongs to."""

from dataclasses import dataclass
from functools import cached_property

from apps.runs.lineage import apart_from_experiments
from apps.runs.models import Attempt, Run, Variant
from apps.web.words.looks import Look, look_of
from apps.web.words.planners import kind_of, label_of

FORKS_SHOWN = 20


@dataclass(frozen=True)
class Model:
    """A worker of the pool under the number by which the planner knows it."""

    number: int
    look: Look
    is_itself: bool  # the conductor: a step that is given to it becomes a run of its own


@dataclass(frozen=True)
class Outer:
    """The step that a nested run is carried out for."""

    code: str
    key: str
    number: int


class Whence:
    """The planner, the pool and the relatives of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    # --- the planner -----------------------------------------------------------------------------------------------

    @property
    def planner(self) -> str:
        """Who planned it; while nobody has, who is to."""
        return self.run.planned_by or str(self.run.setup["planner"])

    @property
    def label(self) -> str:
        return label_of(self.planner)

    @property
    def kind(self) -> str:
        return kind_of(self.planner)

    @property
    def stood_in_for(self) -> str:
        """Whose place the planner took; empty where it is the one that was asked for."""
        asked_for = str(self.run.setup["planner"])
        return "" if self.planner == asked_for else label_of(asked_for)

    @cached_property
    def conductor(self) -> Look | None:
        """The model that the planner asks."""
        setup = self.run.setup
        is_another = self.planner != setup["planner"] and setup.get("fallback")
        frozen = setup["fallback"]["conductor"] if is_another else setup["conductor"]
        return look_of(frozen["slug"], frozen) if frozen and self.planner != "saved" else None

    @property
    def pool(self) -> list[Model]:
        """The pool in the numbering of the planner, which may know its models by nothing else."""
        return [
            Model(number, look_of(frozen["slug"], frozen), bool(frozen.get("conducts")))
            for number, frozen in enumerate(self.run.setup["pool"])
        ]

    # --- relatives -------------------------------------------------------------------------------------------------

    @cached_property
    def outer(self) -> Outer | None:
        """Where it is nested; None of a run that somebody asked for."""
        if self.run.nested_in_id is None:
            return None
        step = Attempt.objects.filter(pk=self.run.nested_in_id)
        code, key, position = step.values_list("run__code", "step__key", "step__position").get()
        return Outer(code, key, position + 1)

    @property
    def parent(self) -> Run | None:
        return self.run.parent

    @cached_property
    def children(self) -> list[Run]:
        """The runs that people made from this one, newest first; of many the newest."""
        children = apart_from_experiments(Run.objects.filter(parent=self.run))
        return list(children.only("code").order_by("-pk")[:FORKS_SHOWN])

    @cached_property
    def edges_tried(self) -> int:
        """How many of its access edges were switched off to see what they do."""
        tried = Variant.objects.filter(experiment__run=self.run, fork__isnull=False).exclude(source="")
        return tried.values("source", "reader").distinct().count()
