"""Who stood in for a step's worker, and why: told by the run's trail, also where the other was never called."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.audit import log
from apps.runs.models import Run, Step
from apps.web.words.figures import spaced
from apps.web.words.looks import Look, look_of

LONGEST = 600  # characters of a reason


@dataclass(frozen=True)
class StandIn:
    """One worker in the place of another."""

    worker: Look
    instead_of: Look
    kind: str
    why: str

    @property
    def told(self) -> str:
        """`server: it answered with 500`"""
        return ": ".join(filter(None, [spaced(self.kind), self.why]))


def stand_ins_of(run: Run, step: Step, looks: Mapping[str, Look]) -> list[StandIn]:
    """All of them, in order. Nothing is read where nobody could have stood in."""
    frozen = run.pool.get(step.worker) or {}
    if not frozen.get("fallbacks"):
        return []
    events = log.read(run.trail, verbs=["step.fellback"], texts_limit=LONGEST)
    return [
        StandIn(
            worker=_look(looks, str(event.data["to"])),
            instead_of=_look(looks, str(event.data["from"])),
            kind=str(event.data.get("kind", "")),
            why=event.texts.get("reason") or "",
        )
        for event in events
        if event.data.get("step") == step.key
    ]


def _look(looks: Mapping[str, Look], slug: str) -> Look:
    return looks.get(slug) or look_of(slug, None)
