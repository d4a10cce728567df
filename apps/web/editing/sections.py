"""The parts of the edit page's form: the workers a step can be given to, what it may read, and a section for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from apps.web.pool.working import Doing, doing
from apps.web.starting.previewed import Row
from apps.web.words.figures import usd
from apps.web.words.looks import Look, look_of
from apps.workflows.edits import AddStep, Duplicate, MoveStep, RemoveStep
from apps.workflows.graph import Problem
from apps.workflows.workflow import Step

LATELY = timedelta(hours=1)


@dataclass(frozen=True)
class Choice:
    """A worker that a step can be given to."""

    look: Look
    price: str
    health: str  # of its last call, if that failed


@dataclass(frozen=True)
class Read:
    """An earlier step that this one may be let to read. One that is not earlier is there only to be taken away."""

    key: str
    label: str
    is_allowed: bool
    problem: str


@dataclass(frozen=True)
class StepForm:
    """One step of the draft, as a section of the form."""

    step: Step
    number: int
    title: str
    reads: list[Read]
    problems: list[Problem]
    told: Row | None  # what becomes of it, and what it costs
    is_fresh: bool
    is_first: bool
    is_last: bool
    is_only: bool
    knows_worker: bool
    is_kept: bool  # its textarea may stay as it is in the page

    # The operations of its buttons, as the form sends them.

    @property
    def add(self) -> str:
        return AddStep(after=self.step.key, worker=self.step.worker).model_dump_json()

    @property
    def duplicate(self) -> str:
        return Duplicate(key=self.step.key).model_dump_json()

    @property
    def remove(self) -> str:
        return RemoveStep(key=self.step.key).model_dump_json()

    @property
    def earlier(self) -> str:
        return MoveStep(key=self.step.key, to=self.number - 2).model_dump_json()

    @property
    def later(self) -> str:
        return MoveStep(key=self.step.key, to=self.number).model_dump_json()


def choices_among(workers: Mapping[str, Mapping[str, Any]], *, now: datetime) -> Sequence[Choice]:
    """Frozen workers as one chooses among them, with what is known of their last calls."""
    lately = doing(list(workers), since=now - LATELY)
    return [
        Choice(look_of(slug, worker), _price(worker["price"]), _health(lately.get(slug)))
        for slug, worker in workers.items()
    ]


def _price(price: Mapping[str, Any]) -> str:
    """What a million tokens cost, in and out."""
    if price["free"]:
        return "free"
    if price["input_usd"] is None or price["output_usd"] is None:
        return "price unknown"
    return f"{usd(Decimal(price['input_usd']))} in, {usd(Decimal(price['output_usd']))} out a million tokens"


def _health(lately: Doing | None) -> str:
    """That a worker's last call failed, and how: of one that answers nothing needs to be said."""
    last = lately.last if lately else None
    return "" if last is None or last.is_ok else f"last call {last.told}"
