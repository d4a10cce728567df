"""A run that flow rules hold: what they forbid, by which path it would have come about, and who may approve it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from apps.runs.excepting import seal_of
from apps.runs.flow import Flow, as_told
from apps.runs.models import Run, Step
from apps.runs.purse import outermost
from apps.web.words.looks import Look, look_of
from apps.workers.models import FlowRule
from apps.workflows import flow

SHOWN = 12  # paths that stand in the page at once; the others unfold


@dataclass(frozen=True)
class Place:
    """One point of a path: a step, or what is there before any."""

    name: str
    key: str  # of a step; empty where it is none


@dataclass(frozen=True)
class Forbidden:
    """One model that would read what a rule keeps from it, in a `run`."""

    run: Run
    seal: str
    carries: str
    needs: str
    rule: int
    words: str
    look: Look
    path: Sequence[Place]

    @property
    def reader(self) -> Place:
        return self.path[-1]


class Ruled:
    """What rules forbid of `run`, as it was told when they held it, or would be now.

    Where they hold runs within it, what is told names the one that it is about.
    """

    def __init__(self, run: Run, told: Sequence[Mapping[str, Any]]) -> None:
        self.run = run
        self.told = told

    @cached_property
    def own(self) -> list[Mapping[str, Any]]:
        """What is told of the run itself, and of none within it."""
        return [each for each in self.told if self._code(each) == self.run.code]

    def _code(self, each: Mapping[str, Any]) -> str:
        return str(each.get("run", self.run.code))

    @cached_property
    def forbidden(self) -> list[Forbidden]:
        """The run's own first, then those of each run within it."""
        words = dict(FlowRule.objects.filter(pk__in={each["rule"] for each in self.told}).values_list("pk", "words"))
        inner = Run.objects.filter(code__in={self._code(each) for each in self.told}).exclude(pk=self.run.pk)
        return [
            Forbidden(
                run=names.run,
                seal=seal_of(each),
                carries=each["carries"],
                needs=each["needs"],
                rule=each["rule"],
                words=words.get(each["rule"], ""),
                look=names.look(each["model"]),
                path=[names.place(key) for key in each["path"]],
            )
            for names in (Names(self.run), *map(Names, inner.order_by("pk")))
            for each in self.told
            if self._code(each) == names.run.code
        ]

    @property
    def seen(self) -> str:
        """All that is shown, for the form that approves it."""
        return " ".join(each.seal for each in self.forbidden)

    @property
    def first(self) -> list[Forbidden]:
        return self.forbidden[:SHOWN]

    @property
    def others(self) -> list[Forbidden]:
        return self.forbidden[SHOWN:]

    @cached_property
    def steps(self) -> frozenset[str]:
        """The steps that would have read it."""
        return frozenset(each["reader"] for each in self.own)

    @cached_property
    def edges(self) -> frozenset[tuple[str, str]]:
        """The access edges along which it would have come, (source, reader)."""
        paths = [each["path"] for each in self.own]
        return frozenset(edge for path in paths for edge in pairwise(path) if all(map(flow.is_step, edge)))

    @property
    def step(self) -> str:
        """The step of the run's own that was not begun; empty where the planner was to be asked."""
        return str(self.run.held_by.get("step", ""))

    @cached_property
    def payer(self) -> Run:
        """The run that goes on, and this one within it."""
        return outermost(self.run)

    @property
    def is_within(self) -> bool:
        return self.run.nested_in_id is not None


class Names:
    """How the points of a run's paths are called."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {key: position + 1 for key, position in Step.objects.filter(run=self.run).values_list("key", "position")}

    @cached_property
    def models(self) -> dict[str, Mapping[str, Any]]:
        setup = self.run.setup
        parts = [setup, setup.get("fallback") or {}]
        asked = [part[role] for part in parts for role in ("embedder", "conductor") if part.get(role)]
        workers = [each for worker in setup["pool"] for each in (*worker.get("fallbacks", ()), worker)]
        return {each["slug"]: each for each in (*asked, *workers)}

    def look(self, slug: str) -> Look:
        return look_of(slug, self.models.get(slug))

    def place(self, key: str) -> Place:
        if flow.is_step(key):
            return Place(f"step {self.numbers[key]}" if key in self.numbers else key, key)
        kind, _, number = key.partition(":")
        if kind == "file":
            return Place(f"the attachment “{self._file(int(number))}”", "")
        if kind == "plan":
            return Place("the planner" if number == "1" else f"the planner, planning for time {number}", "")
        return Place({"task": "the task", "sink": "comparing the answers", "embedded": "the task’s vector"}[kind], "")

    def _file(self, number: int) -> str:
        files = self.run.setup.get("attachments", ())
        return str(files[number - 1]["name"]) if number <= len(files) else str(number)


def ruled_of(run: Run) -> Ruled | None:
    """What holds `run`; None where no rules do."""
    if run.status != Run.Status.HELD or run.hold != Run.Hold.RULES:
        return None
    return Ruled(run, run.held_by.get("rules", ()))


def foretold_of(run: Run) -> Ruled | None:
    """What rules would hold the workflow of `run` for, that still waits for somebody; None where nothing does."""
    if run.workflow is None:
        return None
    found = Flow.of(run).of_workflow(run.workflow)
    return Ruled(run, as_told(found)) if found else None
