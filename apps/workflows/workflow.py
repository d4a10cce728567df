"""The workflow as a value: ordered steps and a sink. Plain data, with structure but no judgement.

A `Workflow` may break rules (a forward read, an unknown worker): people edit through such states, and what is wrong
is said by `graph.check`, step by step and edge by edge.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

KEY = r"^[a-z0-9][a-z0-9-]{0,39}$"


class Value(BaseModel):
    """A frozen value that refuses what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(Value):
    """One instruction to one worker, and the earlier steps it may read.

    `key` is stable: it survives moves and edits, so that a fork can find what it may reuse. `role` (what a planner
    calls the step's part: thinker, aggregator) and `round` (which time of planning wrote it) are for people: no worker
    is sent them.
    """

    key: str = Field(pattern=KEY)
    instruction: str
    worker: str
    access: tuple[str, ...] = ()
    role: str = Field(default="", max_length=40)
    round: int = Field(default=1, ge=1, le=100)


class Last(Value):
    """The answer is the last step's result (or the last one before it that is not empty)."""

    kind: Literal["last"] = "last"


class Vote(Value):
    """The answer is what most of the results of `over` say, once they are normalised; a tie goes to the first said."""

    kind: Literal["vote"] = "vote"
    over: tuple[str, ...]


class Select(Value):
    """The answer is the result of `over` that lies nearest to all the others (Smoothie, arXiv 2412.04692).

    With `weights`, one for each of `over`, it is the one of the greatest weight: they were learnt from earlier tasks.
    """

    kind: Literal["select"] = "select"
    over: tuple[str, ...]
    weights: tuple[float, ...] | None = None


Sink = Annotated[Last | Vote | Select, Field(discriminator="kind")]


class Workflow(Value):
    """Steps in order; a step may read only steps before it."""

    steps: tuple[Step, ...]
    sink: Sink = Last()
    show_task: bool = True
    on_failure: Literal["skip", "empty"] = "skip"

    @property
    def keys(self) -> tuple[str, ...]:
        # Not cached: `model_copy` would carry the cache over to a workflow with other steps.
        return tuple(step.key for step in self.steps)

    @property
    def answered_by(self) -> tuple[str, ...]:
        """The steps the answer is taken from; of a workflow without steps none."""
        return self.keys[-1:] if isinstance(self.sink, Last) else self.sink.over

    @property
    def rounds(self) -> int:
        """How many times of planning wrote these steps."""
        return max((step.round for step in self.steps), default=1)

    def step(self, key: str) -> Step:
        """The step under `key`. :raises KeyError: there is none."""
        return self.steps[self.position(key)]

    def position(self, key: str) -> int:
        """Where `key` stands, from 0. :raises KeyError: there is no such step."""
        try:
            return self.keys.index(key)
        except ValueError:
            raise KeyError(key) from None
