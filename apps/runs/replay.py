"""A run that has ended as data to be read and played elsewhere: its events, without what is nobody else's to know.

People, drivers, limits, other runs and the words of endpoints stay at home: only what is named here is told at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.audit import log
from apps.audit.log import Read
from apps.runs.models import Run

TEXT_CHARS = 2_000  # of a text in an event; whole results stand in the page
MOST_EVENTS = 20_000
MOST_NESTED = 40

CALL = ("step", "attempt", "number")
BILL = ("input_tokens", "output_tokens", "estimated", "cost_usd", "ttft_ms", "duration_ms")
PLANNED = ("proposal", "number", "round", "verdict", *BILL)
WORKFLOW = ("by", "warnings", "steps", "sink")

# Of each event what is told, and how its texts may begin.
TOLD: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "run.submitted": (("planner", "rounds", "review"), ("task",)),
    "run.claimed": ((), ()),
    "planning.started": (("proposal", "number", "round", "conductor"), ()),
    "planning.failed": (PLANNED, ()),
    "planning.done": (PLANNED, ()),
    "planning.cut": (("proposal", "number"), ()),
    "planning.lost": (("proposal", "number"), ()),
    "planning.fellback": (("from", "to"), ()),
    "embedding.done": (("worker", *BILL), ()),
    "embedding.failed": (("worker", *BILL), ()),
    "workflow.adopted": (WORKFLOW, ("instruction:",)),
    "workflow.extended": (WORKFLOW, ("instruction:",)),
    "step.started": ((*CALL, "worker", "input_tokens_estimate", "nested"), ()),
    "step.fellback": (("step", "from", "to", "kind"), ()),
    "step.succeeded": ((*CALL, *BILL), ("result",)),
    "step.reused": ((*CALL, "once_cost_usd", "output_tokens"), ("result",)),
    "step.written": ((*CALL, "was"), ("result",)),
    "step.failed": ((*CALL, "kind"), ("error",)),
    "step.skipped": (("step", "because"), ()),
    "attempt.failed": ((*CALL, "kind", "retryable", "retry_in_s", "duration_ms"), ("error",)),
    "attempt.cut": ((*CALL, "chars"), ()),
    "attempt.late": ((*CALL, *BILL), ()),
    "attempt.lost": (CALL, ()),
    "run.held": (("reason", "step"), ()),
    "run.pausing": ((), ()),
    "run.resumed": ((), ()),
    "run.approved": ((), ()),
    "run.excepted": ((), ()),
    "run.rejected": ((), ()),
    "run.stopped": (("cutting",), ()),
    "run.succeeded": (("rule", "step", "detail", "duration_ms", "cost_usd", "tokens"), ("answer", "vote:")),
    "run.failed": (("step", "code"), ("error",)),
}
MONEY = frozenset({"cost_usd", "once_cost_usd"})


@dataclass(frozen=True)
class Part:
    """One run of a recording: the run itself under the name "", or one nested in it; `path` is its step's way there."""

    run: Run
    name: str
    path: str

    @property
    def prefix(self) -> str:
        """What stands before the keys of its steps."""
        return f"{self.path}/" if self.path else ""


@dataclass(frozen=True)
class Recording:
    """A run with the runs nested in it, from the outside in."""

    parts: tuple[Part, ...]
    with_costs: bool
    with_errors: bool

    @property
    def run(self) -> Run:
        return self.parts[0].run

    @property
    def events(self) -> dict[str, list[dict[str, Any]]]:
        """The events of each part under its name, in order."""
        names = {part.run.code: part.name for part in self.parts}
        return {part.name: list(self._told(part.run, names)) for part in self.parts}

    def _told(self, run: Run, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        for event in log.read(run.trail, limit=MOST_EVENTS, texts_limit=TEXT_CHARS, verbs=list(TOLD)):
            data = self._data(event)
            if "nested" in data:
                data["nested"] = names.get(data["nested"])
            texts = {name: text for name, text in event.texts.items() if text is not None and self._tells(event, name)}
            yield {"seq": event.seq, "at": event.at.isoformat(), "verb": event.verb, "data": data, "texts": texts}

    def _data(self, event: Read) -> dict[str, Any]:
        told = {name: event.data[name] for name in TOLD[event.verb][0] if name in event.data}
        return told if self.with_costs else {name: None if name in MONEY else value for name, value in told.items()}

    def _tells(self, event: Read, name: str) -> bool:
        if name == "error" and not self.with_errors:
            return False
        return any(name.startswith(opening) for opening in TOLD[event.verb][1])


def recording_of(run: Run, *, with_costs: bool, with_errors: bool) -> Recording:
    """What can be told of `run`, which has ended, outside the studio."""
    parts = [Part(run, "", "")]
    for part in parts:  # which grows: a nested run may hold others
        parts += list(_within(part, len(parts)))[: max(0, MOST_NESTED + 1 - len(parts))]
    return Recording(tuple(parts), with_costs=with_costs, with_errors=with_errors)


def _within(part: Part, known: int) -> Iterator[Part]:
    nested = Run.objects.filter(nested_in__run=part.run).select_related("nested_in__step").order_by("pk")
    latest = {row.nested_in.step.key: row for row in nested[:MOST_NESTED] if row.nested_in}  # of a step called again
    for number, (key, run) in enumerate(latest.items(), start=known):
        yield Part(run, f"nested-{number}", f"{part.prefix}{key}")
