"""A run that was paused: by whom or at which breakpoint, before which step, and whose results a person has written."""

from dataclasses import dataclass
from functools import cached_property

from apps.audit import log
from apps.runs.models import Run, Step
from apps.runs.purse import outermost


class Paused:
    """What holds `run`, which no limit does and no plan that waits for approval."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def step(self) -> Step | None:
        """The step that was to begin; None where nothing is planned yet."""
        return self.run.steps.defer("result").filter(key=self.run.held_by.get("step") or "").first()

    @property
    def number(self) -> int | None:
        return self.step.position + 1 if self.step else None

    @property
    def is_breakpoint(self) -> bool:
        """Whether it came to a breakpoint; else somebody paused the whole run."""
        return bool(self.run.held_by.get("breakpoint"))

    @cached_property
    def by(self) -> str:
        """Who paused it; empty where a breakpoint did."""
        asked = [] if self.is_breakpoint else log.read(self.payer.trail, verbs=["run.pausing"])
        return asked[-1].actor.label if asked else ""

    @cached_property
    def payer(self) -> Run:
        """The run that goes on, and this one within it."""
        return outermost(self.run)

    @property
    def is_within(self) -> bool:
        """Whether it is held with a run around it."""
        return self.run.nested_in_id is not None


def paused_of(run: Run) -> Paused | None:
    """How `run` is paused; None where it is not."""
    return Paused(run) if run.status == Run.Status.HELD and run.hold == Run.Hold.PAUSE else None


@dataclass(frozen=True)
class Written:
    """Who wrote the result of a step by hand, why, and what stood in its place before."""

    step: str
    by: str
    reason: str
    before: str


def written_in(run: Run, *, chars: int = 200) -> dict[int, Written]:
    """The results of `run` that people wrote, by their attempts' ids; texts as far as `chars`."""
    return {
        int(event.data["attempt"]): Written(
            step=str(event.data["step"]),
            by=event.actor.label,
            reason=event.texts.get("reason") or "",
            before=event.texts.get("before") or "",
        )
        for event in log.read(run.trail, verbs=["step.written"], texts_limit=chars)
    }


@dataclass(frozen=True)
class Rejected:
    """Who said no to a run's plan, and why."""

    by: str
    reason: str


def rejected_of(run: Run) -> Rejected | None:
    """Why the plan of `run` was not carried out; None where nobody said no to it."""
    if run.status != Run.Status.CANCELLED:
        return None
    told = log.read(run.trail, verbs=["run.rejected"])
    return Rejected(told[-1].actor.label, told[-1].texts.get("reason") or "") if told else None
