"""A workflow that is no run yet, as a list of its steps: who does each, what it reads, what stands against it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.accounts.models import Project
from apps.web.words.figures import short_title
from apps.web.words.looks import Look, look_of
from apps.workers.models import Profile, Worker
from apps.workflows.graph import Problem, quoted
from apps.workflows.workflow import Workflow

MOST_WORKERS = 500


@dataclass(frozen=True)
class StepLine:
    """One step of a workflow."""

    key: str
    number: int
    title: str
    role: str
    instruction: str
    reads: Sequence[int]
    worker: Look
    problems: Sequence[str]


@dataclass(frozen=True)
class Missing:
    """A worker that a workflow names and that cannot be asked: why, and who may do its steps instead."""

    slug: str
    why: str
    steps: Sequence[int]
    instead: str


class Outlined:
    """A workflow for a run of `project` under `profile`; `instead` names who does the steps of missing workers."""

    def __init__(
        self,
        workflow: Workflow,
        *,
        project: Project,
        profile: Profile | None,
        instead: Mapping[str, str] | None = None,
        problems: Sequence[Problem] = (),
    ) -> None:
        self.workflow = workflow
        self.profile = profile
        self.instead = instead or {}
        self.problems = problems
        rows = Worker.objects.usable_in(project).filter(embeds=False).order_by("slug")[:MOST_WORKERS]
        self.known: dict[str, Worker] = {worker.slug: worker for worker in rows}
        self.offered = [] if profile is None else [look_in(worker) for worker in profile.pool(project)]

    @property
    def missing(self) -> list[Missing]:
        """Who is named and not offered, in the order of the steps."""
        steps: dict[str, list[int]] = {}
        for number, step in enumerate(self.workflow.steps, start=1):
            steps.setdefault(step.worker, []).append(number)
        return [
            Missing(slug, why, numbers, self.instead.get(slug, ""))
            for slug, numbers in steps.items()
            if (why := self._why_not(slug))
        ]

    @property
    def lines(self) -> list[StepLine]:
        place = {step.key: number for number, step in enumerate(self.workflow.steps, start=1)}
        return [
            StepLine(
                key=step.key,
                number=place[step.key],
                title=short_title(step.instruction),
                role=step.role,
                instruction=step.instruction,
                reads=sorted(place[source] for source in step.access if source in place),
                worker=self._look(self.instead.get(step.worker) or step.worker),
                problems=self._problems(step.key, step.worker),
            )
            for step in self.workflow.steps
        ]

    @property
    def of_the_whole(self) -> list[str]:
        """What is wrong and sits at no step."""
        keys = self.workflow.keys
        return [problem.message for problem in self.problems if problem.step not in keys]

    def _problems(self, key: str, slug: str) -> list[str]:
        why = "" if self.instead.get(slug) else self._why_not(slug)
        told = [problem for problem in self.problems if problem.step == key]
        said = [problem.message for problem in told if not (why and problem.code == "unknown-worker")]
        return [why, *said] if why else said

    def _why_not(self, slug: str) -> str:
        """Why a worker cannot be asked; empty where it can."""
        if any(look.slug == slug for look in self.offered) or self._is_conductor(slug):
            return ""
        worker = self.known.get(slug)
        if worker is None:
            return f"There is no worker {quoted(slug)} here."
        if not worker.enabled:
            return f"{worker.name} is disabled."
        return f"{worker.name} is not offered by the profile “{self.profile.name}”." if self.profile else ""

    def _is_conductor(self, slug: str) -> bool:
        """Whether the step is one for the conductor itself, to become a run of its own."""
        profile = self.profile
        if profile is None or not profile.nesting or profile.conductor is None:
            return False
        return profile.conductor.enabled and profile.conductor.slug == slug

    def _look(self, slug: str) -> Look:
        worker = self.known.get(slug)
        return look_in(worker) if worker else look_of(slug, None)


def in_short(problems: Sequence[Problem]) -> str:
    """What keeps a workflow from being run, for the head of a form whose steps say the rest."""
    if all(problem.code == "unknown-worker" for problem in problems):
        return "Choose who does the steps that are marked, or another profile."
    more = len(problems) - 1
    return problems[0].message + (f" And {more} more, at the steps." if more else "")


def look_in(worker: Worker) -> Look:
    return Look(worker.slug, worker.name, worker.letter, worker.colour, worker.simulated)
