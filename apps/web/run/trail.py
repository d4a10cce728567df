"""Tells a run's trail in its page: as facts for the canvas, and as a list of events to read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.audit import log
from apps.audit.log import Read
from apps.runs.models import Run
from apps.web.live import following
from apps.web.words.figures import listed, plural, price, seconds, spaced, usd
from apps.web.words.looks import Look, looks_of
from apps.web.words.planners import label_of

FIRST_EVENTS = 2_000  # with the page; what is beyond comes over the socket
PAGE = 200


def first_events(run: Run) -> dict[str, Any]:
    """What happened so far, in the words of the socket, so that the canvas is drawn before it is connected."""
    events = following.events_after(run.trail, 0, limit=FIRST_EVENTS)
    return {"t": "events", "events": events, "head": events[-1]["seq"] if events else 0}


@dataclass(frozen=True)
class Told:
    """An event as a line to read."""

    seq: int
    at: datetime
    clock: str
    verb: str
    who: str
    kind: str
    step: str | None
    facts: tuple[str, ...]
    text: str


def events_after(run: Run, after: int, *, until: int | None = None) -> tuple[list[Told], int | None]:
    """A page of events, and the place to go on from; None where there are no more. None beyond `until` is told."""
    events = log.read(run.trail, after=after, limit=PAGE + 1, texts_limit=120)
    events = [event for event in events if until is None or event.seq <= until]
    more = events[PAGE - 1].seq if len(events) > PAGE else None
    looks = looks_of(run.pool)
    return [_told(event, looks) for event in events[:PAGE]], more


def _told(event: Read, looks: Mapping[str, Look]) -> Told:
    step = event.data.get("step")
    return Told(
        seq=event.seq,
        at=event.at,
        clock=f"{event.at:%H:%M:%S}.{event.at.microsecond // 1000:03d}",
        verb=event.verb,
        who=event.actor.label,
        kind=event.actor.kind,
        step=step if isinstance(step, str) else None,
        facts=tuple(OF_THEIR_OWN[event.verb](event.data, looks) if event.verb in OF_THEIR_OWN else _facts(event.data)),
        text=_text(event.texts),
    )


Facts = Callable[[dict[str, Any], Mapping[str, Look]], Sequence[str]]


def _waiting(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return [str(data.get("words", ""))]


def _stood_in(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    instead, before = (_name(looks, data.get(side)) for side in ("to", "from"))
    return [f"{instead} stands in for {before}", spaced(str(data.get("kind", "")))]


def _held(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    limit = data.get("limit")
    if data.get("reason") == "pause":
        return ["at a breakpoint" if data.get("breakpoint") else "paused"]
    if data.get("reason") != "limit" or not isinstance(limit, dict):
        return ["for review"]
    return [
        f"limit of “{limit['label']}”: {usd(Decimal(limit['limit_usd']))}",
        f"{usd(Decimal(limit['spent_usd']))} spent",
        f"the call could cost up to {usd(Decimal(limit['needed_usd']))}",
    ]


def _resumed(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    limit = data.get("limit_usd")
    return ["without a limit of its own" if limit is None else f"limit of the run: {usd(Decimal(limit))}"]


def _pausing(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return ["what is under way ends, nothing more begins"]


def _breakpoints(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    keys = data.get("steps") or []
    return [f"pauses before {listed(keys)}" if keys else "pauses before no step any more"]


def _written(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    is_first = data.get("was") in ("waiting", "failed")
    return ["by hand", "before a worker gave one" if is_first else "in the place of the one that was there"]


def _replanned(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    runs = data.get("runs") or []
    return [f"{plural(len(runs), 'plan')} more, as {'run' if len(runs) == 1 else 'runs'} {listed(runs)}"]


def _embedded(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    cost = data.get("cost_usd")
    return [
        f"vectors of {plural(int(data.get('texts', 0)), 'text')} by {_name(looks, data.get('worker'))}",
        *([spaced(data["kind"])] if isinstance(data.get("kind"), str) else []),
        plural(int(data.get("input_tokens", 0)), "token"),
        price(None if cost is None else Decimal(cost)),
    ]


def _trying(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    once_more = ["the run once more without any change"] if data.get("baseline") else []
    limit = usd(Decimal(data["limit_usd"]))
    return [plural(int(data.get("edges", 0)), "edge"), *once_more, f"limit of the experiment: {limit}"]


def _tried(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return [
        f"{data.get('tried', 0)} of {plural(int(data.get('of', 0)), 'fork')}",
        f"{usd(Decimal(data['cost_usd']))} spent",
        {"stopped": "stopped by a person", "limit": "at its limit"}.get(str(data.get("status")), "all tried"),
    ]


def _shared(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    ends = data.get("expires_at")
    until = f"until {datetime.fromisoformat(ends):%-d %b %Y}" if isinstance(ends, str) else "until it is revoked"
    return [f"by the link {data.get('begins')}…", until, *(["its costs hidden"] if data.get("hides_costs") else [])]


def _unshared(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return [f"the link {data.get('begins')}… opens nothing any more"]


def _exported(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    forms = {"json": "its workflow as JSON", "lists": "its workflow as three lists", "replay": "as a page that replays"}
    return [forms.get(str(data.get("as")), str(data.get("as")))]


def _templated(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return [f"template {data.get('template')}, version {data.get('version')}"]


def _name(looks: Mapping[str, Look], slug: object) -> str:
    look = looks.get(str(slug))
    return look.name if look else str(slug)


OF_THEIR_OWN: Mapping[str, Facts] = {
    "step.waiting": _waiting,
    "planning.waiting": _waiting,
    "step.fellback": _stood_in,
    "run.held": _held,
    "run.resumed": _resumed,
    "run.pausing": _pausing,
    "run.breakpoints": _breakpoints,
    "run.replanned": _replanned,
    "step.written": _written,
    "embedding.done": _embedded,
    "embedding.failed": _embedded,
    "run.shared": _shared,
    "run.unshared": _unshared,
    "run.exported": _exported,
    "run.templated": _templated,
    "experiment.started": _trying,
    "experiment.ended": _tried,
}


def _facts(data: dict[str, Any]) -> Sequence[str]:
    facts = []
    if isinstance(data.get("number"), int) and data["number"] > 1:
        facts.append(f"attempt {data['number']}")
    if isinstance(data.get("round"), int) and data["round"] > 1:
        facts.append(f"round {data['round']}")
    if data.get("by") == "review":
        facts.append("edited before it was approved")
    if isinstance(data.get("beside"), str):
        facts.append(f"one of the plans beside run {data['beside']}")
    if isinstance(data.get("verdict"), str):
        facts.append(data["verdict"])
    if isinstance(data.get("from"), str) and isinstance(data.get("to"), str):
        facts.append(f"{label_of(data['to'])} for {label_of(data['from'])}")
    if isinstance(data.get("kind"), str):
        facts.append(data["kind"].replace("_", " "))
    if isinstance(data.get("retry_in_s"), int | float):
        facts.append(f"again in {seconds(data['retry_in_s'] * 1000)}")
    if isinstance(data.get("steps"), list):
        facts.append(plural(len(data["steps"]), "step"))
    if isinstance(data.get("output_tokens"), int):
        facts.append(plural(data["output_tokens"], "token"))
    if isinstance(data.get("duration_ms"), int | float):
        facts.append(seconds(data["duration_ms"]))
    if isinstance(data.get("child"), str):
        facts.append(data["child"])
    if isinstance(data.get("nested"), str):
        facts.append(f"as run {data['nested']}")
    return facts


def _text(texts: dict[str, str | None]) -> str:
    """The one text that tells most about the event."""
    for name in ("error", "reason", "answer", "result", "task", "name"):
        if text := texts.get(name):
            return " ".join(text.split())
    return ""
