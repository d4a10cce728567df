"""What people did with a run, in order: asked for it, approved or edited its plan, wrote a result, signed it off."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from apps.audit import log
from apps.audit.log import Read
from apps.runs.models import Run
from apps.web.comparing.differing import FIRST_CHARS, Differing, Text, differing
from apps.web.reviewing.adopted import ADOPTED, before_fork, workflows_in
from apps.web.words.figures import listed, spaced, usd
from apps.workflows.diff import Change, SinkChange, align, change_of, sink_change
from apps.workflows.wording import Effort
from apps.workflows.workflow import Step, Workflow

MOST_EVENTS = 5_000  # of a trail
TEXT_CHARS = 4_000

SAID: Mapping[str, str] = {
    "run.submitted": "asked for the run",
    "run.approved": "approved the plan",
    "run.rejected": "rejected the plan",
    "run.pausing": "paused the run",
    "run.resumed": "let the run go on",
    "run.stopped": "stopped the run",
    "run.forked": "made another run from it",
    "run.replanned": "had it planned again",
    "run.shared": "shared it by a link",
    "run.unshared": "revoked a link to it",
    "run.exported": "downloaded it",
    "run.erased": "erased its texts",
    "run.excepted": "let it go on against flow rules",
    "hold.placed": "placed a legal hold on it",
    "hold.lifted": "lifted the legal hold on it",
    "experiment.started": "had its edges tried",
    "review.withdrawn": "took the assignment back",
    "result.unrated": "took a rating back",
}
# What somebody said, in the order in which it is looked for.
WORDS = ("reason", "comment", "correction")


@dataclass(frozen=True)
class Edited:
    """What became of one step, or of how the answer is taken, when somebody edited the workflow."""

    what: str
    said: Sequence[str]
    instruction: Differing | None = None


@dataclass(frozen=True)
class Decision:
    """Something that a person did, when and why."""

    seq: int
    at: datetime
    who: str
    kind: str
    did: str
    why: str
    edits: Sequence[Edited] = ()


class Decisions:
    """All of them, of one run; `is_cut` where its trail is longer than was read."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.effort = Effort()

    @cached_property
    def events(self) -> list[Read]:
        return log.read(self.run.trail, limit=MOST_EVENTS + 1, texts_limit=TEXT_CHARS)

    @property
    def is_cut(self) -> bool:
        return len(self.events) > MOST_EVENTS

    @cached_property
    def all(self) -> list[Decision]:
        return list(self._told())

    def _told(self) -> Iterator[Decision]:
        before, workflows = before_fork(self.run), workflows_in(self.run)
        for event in self.events[:MOST_EVENTS]:
            edits: Sequence[Edited] | None = None
            now = workflows.get(event.seq)
            if event.verb == ADOPTED and before and now:
                edits = list(self._edits(before, now))
            before = now or before
            if event.actor.kind in ("person", "key"):
                did = _did(event, edits)
                if did:
                    why = next(filter(None, (event.texts.get(name) for name in WORDS)), "")
                    yield Decision(event.seq, event.at, event.actor.label, event.actor.kind, did, why, edits or ())

    def _edits(self, a: Workflow, b: Workflow) -> Iterator[Edited]:
        """What `b` has otherwise than `a`, from which it was made."""
        alignment = align(a, b, kin=True)
        for pair in alignment.pairs:
            if pair.a is None and pair.b is not None:
                yield Edited(
                    f"Step {b.position(pair.b) + 1} is new", [*_reads(b, b.step(pair.b))], _new(b.step(pair.b))
                )
            elif pair.a is not None and pair.b is None:
                yield Edited(f"Step {a.position(pair.a) + 1} was taken out", [])
            elif pair.a is not None and pair.b is not None:
                change = change_of(a.step(pair.a), b.step(pair.b), alignment.became)
                if not change.is_none:
                    yield self._changed(a, b, pair.a, pair.b, change)
        sink = sink_change(a, b, alignment.became)
        if not sink.is_none:
            yield Edited("How the answer is taken", list(_sunk(a, b, sink)))

    def _changed(self, a: Workflow, b: Workflow, old: str, new: str, change: Change) -> Edited:
        said = []
        if change.worker:
            said.append(f"worker {change.worker[0]} → {change.worker[1]}")
        if change.gained:
            said.append(f"now reads {_numbers(b, change.gained)}")
        if change.lost:
            said.append(f"no longer reads {_numbers(a, change.lost)}")
        if change.role:
            said.append(f"role {change.role[0] or 'none'} → {change.role[1] or 'none'}")
        texts = (_text(a.step(old).instruction), _text(b.step(new).instruction))
        return Edited(
            f"Step {b.position(new) + 1}",
            said,
            differing(*texts, effort=self.effort) if change.instruction else None,
        )


def _did(event: Read, edits: Sequence[Edited] | None) -> str:
    """What a person did, as what follows their name. `edits` are None where there was nothing to compare with."""
    data = event.data
    match event.verb:
        case "workflow.adopted":
            if data.get("by") == "fork" and edits is not None:
                return "changed the workflow" if edits else "took the workflow over"
            return "edited the plan" if data.get("by") == "review" else "gave the workflow"
        case "run.resumed" if data.get("limit_usd") is not None:
            return f"let the run go on, with a limit of {usd(Decimal(data['limit_usd']))}"
        case "run.breakpoints":
            keys = data.get("steps") or []
            return f"had it pause before {listed(keys)}" if keys else "took the breakpoints away"
        case "step.written":
            return f"wrote the result of {data.get('step')} by hand"
        case "run.templated":
            name = event.texts.get("name")
            return f"started it from template {f'“{name}”' if name else data.get('template')}"
        case "run.forked":
            return f"made run {data.get('child')} from it"
        case "review.assigned":
            to: Mapping[str, Any] = data.get("to") or {}
            return f"gave it to {to.get('label')} to review"
        case "review.signed":
            own = ", having started it" if data.get("own") else ""
            return f"{'accepted' if data.get('verdict') == 'accepted' else 'rejected'} the run{own}"
        case "result.rated":
            return f"rated {data.get('step') or 'the answer'} {data.get('score')} of 5"
    return SAID.get(event.verb, spaced(event.verb.replace(".", " ")))


def _reads(workflow: Workflow, step: Step) -> Iterator[str]:
    yield f"worker {step.worker}"
    yield f"reads {_numbers(workflow, step.access)}" if step.access else "reads no earlier step"


def _new(step: Step) -> Differing:
    return differing(_text(""), _text(step.instruction), effort=Effort())


def _numbers(workflow: Workflow, keys: Sequence[str]) -> str:
    numbers = [workflow.position(key) + 1 for key in keys]
    return f"step{'s' if len(numbers) > 1 else ''} {listed(numbers)}"


def _sunk(a: Workflow, b: Workflow, change: SinkChange) -> Iterator[str]:
    if change.kind:
        yield f"{change.kind[0]} → {change.kind[1]}"
    if change.gained:
        yield f"now from {_numbers(b, change.gained)}"
    if change.lost:
        yield f"no longer from {_numbers(a, change.lost)}"
    if change.weights:
        yield "other weights"


def _text(text: str) -> Text:
    return Text(text[:FIRST_CHARS], len(text), text)
