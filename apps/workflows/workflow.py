"""The workflow as a value: ordered steps and a sink. Plain data, with structure but no judgement.

A `Workflow` may break rules (a forward read, an unknown worker): people edit through such states, and what is wrong
is said by `graph.check`, step by step and edge by edge.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

KEY = r"^[a-z0-9][a-z0-9-]{0,39}$"


class Value(BaseModel):
    """A frozen value that refuses what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(Value):
    """One instruction to one worker, and the earlier steps it may read.

    `key` is stable: it survives moves and edits, so that a fork can find what it may reuse.
    """

    key: str = Field(pattern=KEY)
    instruction: str
    worker: str
    access: tuple[str, ...] = ()


class Last(Value):
    """The answer is the last step's result (or the last one before it that is not empty)."""

    kind: Literal["last"] = "last"


Sink = Last


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

    def step(self, key: str) -> Step:
        """The step under `key`. :raises KeyError: there is none."""
        return self.steps[self.position(key)]

    def position(self, key: str) -> int:
        """Where `key` stands, from 0. :raises KeyError: there is no such step."""
        try:
            return self.keys.index(key)
        except ValueError:
            raise KeyError(key) from None
