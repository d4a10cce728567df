"""One of two runs that are compared: its workflow, and what its steps were sent and answered."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal

from django.db.models import TextField, Value
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import MD5, Coalesce, Left, Length

from apps.runs.models import Run, Step
from apps.web.comparing.differing import NO_TEXT, Text
from apps.web.run.outline import Line
from apps.web.run.standing import Standing
from apps.web.words.figures import listed, plural
from apps.workflows.workflow import Workflow

NO_WORKFLOW = Workflow(steps=())
NAMED = 6


@dataclass(frozen=True)
class Texts:
    """What a step was sent at last, and what it answered."""

    prompt: Text = NO_TEXT
    result: Text = NO_TEXT


NO_TEXTS = Texts()


class Side:
    """One of the two runs."""

    def __init__(self, name: Literal["A", "B"], run: Run, *, now: datetime) -> None:
        self.name = name
        self.run = run
        self.standing = Standing(run, now=now)

    @cached_property
    def workflow(self) -> Workflow:
        """Its workflow; without steps while it has none."""
        return self.standing.workflow or NO_WORKFLOW

    @cached_property
    def lines(self) -> dict[str, Line]:
        return {line.row.key: line for line in self.standing.lines}

    @cached_property
    def marks(self) -> dict[str, Texts]:
        """By their keys, how long the texts of all steps are, and their digests."""
        return self.texts(self.workflow.keys, chars=1)

    def texts(self, keys: Collection[str], *, chars: int) -> dict[str, Texts]:
        """The texts of the steps called `keys`, each as far as `chars`."""
        said = Coalesce(KeyTextTransform("content", KeyTransform("0", "sent")), Value("", TextField()))
        calls = self.run.attempts.filter(step__key__in=keys).order_by("step_id", "-number").distinct("step_id")
        prompts = {
            key: Text(beginning, length, mark)
            for key, beginning, length, mark in calls.values_list(
                "step__key", Left(said, chars), Length(said), MD5(said)
            )
        }
        results = self.run.steps.filter(key__in=keys, status__in=Step.DONE)
        answered = {
            key: Text(beginning, length, mark)
            for key, beginning, length, mark in results.values_list(
                "key", Left("result", chars), Length("result"), MD5("result")
            )
        }
        return {key: Texts(prompts.get(key, NO_TEXT), answered.get(key, NO_TEXT)) for key in keys}


def steps_of(side: Side, keys: Sequence[str]) -> str:
    """`step 1`, `steps 1 and 3`, `12 steps`: those that are called `keys`."""
    numbers = sorted(side.workflow.position(key) + 1 for key in keys if key in side.workflow.keys)
    if len(numbers) > NAMED:
        return plural(len(numbers), "step")
    return f"step{'' if len(numbers) == 1 else 's'} {listed(numbers)}"
