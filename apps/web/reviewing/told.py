"""A run as one page to be read, printed and signed off: everything that led to its answer, in the order it happened.

What is nested in it is told behind the step that it was. However long it all is, the page is bounded: texts are cut,
and of very many steps and events the first are told, unless everything is asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice

from apps.audit import log
from apps.audit.log import Verified
from apps.runs.labels import Labels
from apps.runs.models import Run, Step
from apps.web.audit.rows import Row
from apps.web.reviewing.decisions import Decisions
from apps.web.reviewing.origin import Model, conductor_of, limits_of, pool_of
from apps.web.reviewing.picture import Picture, picture_of
from apps.web.reviewing.planned import Round, plans_of
from apps.web.reviewing.rated import Rated, ratings_of
from apps.web.reviewing.reading import Reading
from apps.web.reviewing.step import Told as ToldStep
from apps.web.reviewing.steps import Steps
from apps.web.run import trail
from apps.web.run.standing import Standing
from apps.web.words.figures import about_tokens
from apps.web.words.texts import Shown
from apps.workflows.prompt import NOTE

FIRST_STEPS, MOST_STEPS = 60, 2_000
FIRST_EVENTS, MOST_EVENTS = trail.PAGE, 10_000
DEEPEST = 4  # runs within runs; a profile allows three


@dataclass(frozen=True)
class Inner:
    """A run nested in a step: its own plan, before its steps."""

    run: Run
    task: Shown
    rounds: Sequence[Round]
    picture: Picture | None


@dataclass(frozen=True)
class Block:
    """A step, and the run that it became where it was given to the conductor itself."""

    step: ToldStep
    inner: Inner | None = None


class Told:
    """All of one run. With `whole` nothing is left out that a page can hold; with `raw` texts are as they came."""

    def __init__(self, run: Run, *, now: datetime, whole: bool, raw: bool = False) -> None:
        self.run = run
        self.now = now
        self.reading = Reading(whole=whole, raw=raw)
        self.standing = Standing(run, now=now)
        self.steps = Steps(run, prefix="", reading=self.reading)
        self.decisions = Decisions(run)

    note = NOTE

    def read(self) -> None:
        """Read all of it, so that the page can say at its beginning what it leaves out."""
        for part in (self.task, self.answer, self.rounds, self.blocks, self.ratings, self.events):
            assert part is not None

    # --- the whole ---------------------------------------------------------------------------------------------------

    @cached_property
    def task(self) -> Shown:
        return self.reading.exact(self.run.task)

    @cached_property
    def answer(self) -> Shown:
        return self.reading.text(self.run.answer)

    @cached_property
    def reason(self) -> str:
        """Why the run was made, where somebody said so."""
        asked = (event for event in self.decisions.events if event.verb == "run.submitted")
        first = next(asked, None)
        return (first.texts.get("reason") or "") if first else ""

    @property
    def conductor(self) -> Model | None:
        return conductor_of(self.run)

    @property
    def pool(self) -> list[Model]:
        return pool_of(self.run)

    @property
    def labels(self) -> Labels:
        """The tags and the attachments that the task was handed in with."""
        return Labels.of(self.run.setup)

    @property
    def limits(self) -> list[tuple[str, str]]:
        return list(limits_of(self.run))

    @cached_property
    def rounds(self) -> list[Round]:
        return plans_of(self.run, self.reading)

    @cached_property
    def picture(self) -> Picture | None:
        return _picture(self.steps)

    @cached_property
    def ratings(self) -> list[Rated]:
        return ratings_of(self.run, self.steps.calls, self.reading)

    # --- the steps ---------------------------------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> list[Block]:
        """The steps in order, those of a nested run behind the step that became it."""
        return list(islice(self._blocks(self.steps, 0), self._most_steps))

    @property
    def _most_steps(self) -> int:
        return MOST_STEPS if self.reading.whole else FIRST_STEPS

    @property
    def more_steps(self) -> int:
        """How many steps of the run itself are not told."""
        return len(self.steps.rows) - sum(not block.step.depth for block in self.blocks)

    def _blocks(self, steps: Steps, depth: int) -> Iterator[Block]:
        nested = _nested_in(steps.run) if depth < DEEPEST and steps.run.setup.get("nesting") else {}
        for told in steps.told(self._most_steps):
            run = nested.get(told.row.key)
            if run is None:
                yield Block(told)
                continue
            inner = Steps(run, prefix=f"{told.label}.", reading=self.reading)
            task, rounds = self.reading.exact(run.task), plans_of(run, self.reading)
            yield Block(told, Inner(run, task, rounds, _picture(inner)))
            yield from self._blocks(inner, depth + 1)

    # --- the trail ---------------------------------------------------------------------------------------------------

    @cached_property
    def verified(self) -> Verified:
        """The run's trail, computed again while the page was made."""
        return log.verify(self.run.trail)

    @cached_property
    def events(self) -> list[Row]:
        """The events of the trail, oldest first, as far as they are told."""
        most = MOST_EVENTS if self.reading.whole else FIRST_EVENTS
        told, place = list[Row](), 0
        while len(told) < most:
            page, more = trail.events_after(self.run, place)
            told += page
            if more is None:
                break
            place = more
        return told[:most]

    @property
    def more_events(self) -> int:
        return max(0, self.verified.events - len(self.events))

    @property
    def is_cut(self) -> bool:
        """Whether there is more than the page says."""
        return bool(self.reading.cut or self.more_steps or self.more_events)


def _picture(steps: Steps) -> Picture | None:
    workflow = steps.workflow
    if workflow is None or not workflow.steps:
        return None
    rows = {step.key: step for step in steps.rows}
    said = {step.key: about_tokens(step.result) for step in steps.rows if step.status in Step.DONE}
    return picture_of(workflow, rows, steps.looks, tokens=said)


def _nested_in(run: Run) -> dict[str, Run]:
    """The runs that steps of `run` became, by the steps' keys; of a step that was tried again the last."""
    rows = Run.objects.filter(nested_in__run=run).select_related("nested_in__step", "project", "owner").order_by("pk")
    return {row.nested_in.step.key: row for row in rows if row.nested_in}
