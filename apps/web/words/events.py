"""How events are told: what happened, what of its figures matters, and the one text that says most about it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.web.words.figures import listed, plural, price, seconds, spaced, usd
from apps.web.words.looks import Look
from apps.web.words.planners import label_of

MOST_PATHS = 5  # of what flow rules forbid, in one line

# What a verb does not say by itself, or says in words of ours. All others read as they are written: `run.submitted` is
# "Run submitted".
IN_WORDS: Mapping[str, str] = {
    "api-key.first-used": "API key used for the first time",
    "api-key.made": "API key made",
    "api-key.revoked": "API key revoked",
    "attempt.cut": "Call cut off",
    "attempt.failed": "Call failed",
    "attempt.late": "Call answered too late",
    "attempt.lost": "Call lost with its driver",
    "check.failed": "Trails checked, and broken",
    "check.finished": "Trails checked",
    "check.given_up": "Check of the trails not finished",
    "check.started": "Check of the trails asked for",
    "conductor.came-up": "Conductor answers again",
    "conductor.went-down": "Conductor does not answer",
    "embedding.done": "Vectors made",
    "embedding.failed": "Vectors not made",
    "hold.lifted": "Legal hold lifted",
    "hold.placed": "Legal hold placed",
    "planner.trained": "Planner learnt",
    "planning.cut": "Planning cut off",
    "planning.fellback": "Another planner stood in",
    "planning.lost": "Planning lost with its driver",
    "policy.dropped": "Retention policy dropped",
    "policy.set": "Retention policy set",
    "result.unrated": "Rating taken back",
    "review.signed": "Run signed off",
    "run.approved": "Workflow approved",
    "run.breakpoints": "Breakpoints set",
    "run.claimed": "Run taken up by a driver",
    "run.excepted": "Exception from flow rules approved",
    "run.forked": "Run forked",
    "run.noticed": "Notice given",
    "run.pausing": "Pause asked for",
    "run.rejected": "Workflow rejected",
    "run.released": "Run let go by its driver",
    "run.replanned": "Planned again beside it",
    "run.takenover": "Run taken over by another driver",
    "run.templated": "Started from a template",
    "run.unshared": "Shared link revoked",
    "second-factor.added": "Second factor added",
    "sign-in.connected": "Sign-in elsewhere connected",
    "sign-in.disconnected": "Sign-in elsewhere taken away",
    "sign-in.done": "Signed in",
    "sign-in.failed": "Sign-in failed",
    "sign-in.throttled": "Sign-in throttled",
    "sign-in-link.made": "Sign-in link made",
    "sign-in-link.redeemed": "Signed in by a link",
    "sign-in-link.voided": "Sign-in link made void",
    "sign-out.done": "Signed out",
    "step.fellback": "Another worker stood in",
    "step.waiting": "Step waits for its worker",
    "step.written": "Result written by hand",
    "planning.waiting": "Planning waits for its model",
    "trail.exported": "Trails exported",
    "vault.resealed": "Vault sealed with a new key",
    "worker.forgiven": "Worker let in again",
    "workflow.extended": "Workflow went on",
}
TOLD = ("error", "reason", "comment", "correction", "answer", "result", "task", "name", "title")


def in_words(verb: str) -> str:
    """What happened, such as `Run submitted` for `run.submitted`."""
    noun, _, deed = verb.partition(".")
    said = IN_WORDS.get(verb) or f"{noun} {deed}".replace("-", " ").replace("_", " ")
    return said[:1].upper() + said[1:]


def facts_of(verb: str, data: dict[str, Any], looks: Mapping[str, Look]) -> tuple[str, ...]:
    """What of its ids and numbers matters to a reader. `looks` are those of the run's workers, by slug."""
    try:
        return tuple(OF_THEIR_OWN[verb](data, looks) if verb in OF_THEIR_OWN else _facts(data, looks))
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()  # somebody changed the sealed line: its page says so, and verifying names it


def main_text(texts: Mapping[str, str | None]) -> str:
    """The one text that tells most about the event, on one line."""
    for name in TOLD:
        if text := texts.get(name):
            return " ".join(text.split())
    return ""


Facts = Callable[[dict[str, Any], Mapping[str, Look]], Sequence[str]]


def _waiting(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return [str(data.get("words", ""))]


def _stood_in(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    instead, before = (_name(looks, data.get(side)) for side in ("to", "from"))
    return [f"{instead} stands in for {before}", spaced(str(data.get("kind", "")))]


def _forbidden(each: dict[str, Any], looks: Mapping[str, Look], within: Collection[str] = ()) -> str:
    """`secret → s3: Birch is not trusted`; of a run that is `within`: `secret → s3 of run abcd2345: …`"""
    reader = each["reader"].rstrip(":") + (f" of run {each['run']}" if each.get("run") in within else "")
    return f"{each['carries']} → {reader}: {_name(looks, each['model'])} is not {each['needs']}"


def _excepted(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    inner = data.get("within") or ()
    within = [f"with what holds run {listed(inner)}"] if inner else []
    return [*(_forbidden(each, looks, inner) for each in data.get("rules", ())[:MOST_PATHS]), *within]


def _held(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    limit = data.get("limit")
    if data.get("reason") == "pause":
        return ["at a breakpoint" if data.get("breakpoint") else "paused"]
    if data.get("reason") == "rules":
        return ["by flow rules"]
    if data.get("reason") == "rules":
        return [_forbidden(each, looks) for each in data.get("rules", ())[:MOST_PATHS]]
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


def _erased(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    days, outer, copied = data.get("keep_days"), data.get("with"), data.get("copy_of")
    return [
        plural(int(data.get("texts", 0)), "text"),
        "by hand" if days is None else f"kept for {plural(int(days), 'day')} after its end",
        *([f"with run {outer}, which it is part of"] if outer else []),
        *([f"as a copy of run {copied}"] if copied else []),
    ]


def _kept(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    profile = str(data.get("profile") or "every profile without its own")
    days, before = (_lasting(data[name]) if name in data else "" for name in ("keep_days", "before_days"))
    return [profile, *([days] if days else []), *([f"before: {before}"] if before else [])]


def _lasting(days: int | None) -> str:
    return "for ever" if days is None else f"for {plural(days, 'day')}"


def _on_hold(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return [f"on run {data['run']}" if data.get("run") else "on the whole project"]


def _exported(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    forms = {"json": "its workflow as JSON", "lists": "its workflow as three lists", "replay": "as a page that replays"}
    return [forms.get(str(data.get("as")), str(data.get("as")))]


def _taken_along(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    trails, events = (plural(int(data.get(name, 0)), name.removesuffix("s")) for name in ("trails", "events"))
    ends = [
        f"{word} {datetime.fromisoformat(data[word]):%-d %b %Y %H:%M}" for word in ("since", "until") if word in data
    ]
    return [f"{events} of {trails}", *ends, "with texts" if data.get("texts") else "without texts"]


def _templated(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return [f"template {data.get('template')}, version {data.get('version')}"]


def _assigned(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    again = {"accepted": ["it was accepted before"], "rejected": ["it was rejected before"]}
    return [f"to {(data.get('to') or {}).get('label')}", *again.get(str(data.get("was")), [])]


def _signed(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    was = data.get("was")
    before = [f"{was} before"] if was in ("accepted", "rejected") else []
    return [str(data.get("verdict")), *(["by who started it"] if data.get("own") else []), *before]


def _rated(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    of = "the answer" if data.get("step") is None else "the result"
    was = data.get("was")
    return [f"{of}: {data['score']} of 5" if "score" in data else of, *([f"{was} before"] if was else [])]


def _name(looks: Mapping[str, Look], slug: object) -> str:
    look = looks.get(str(slug))
    return look.name if look else str(slug)


def _sealed(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    return [f"heads of {plural(len(data.get('heads') or []), 'trail')}"]


def _checked(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    broken = int(data.get("broken") or 0)
    found = [f"{plural(broken, 'trail')} broken"] if broken else ["everything holds"]
    return [*found, plural(int(data.get("events") or 0), "event"), plural(int(data.get("trails") or 0), "trail")]


OF_THEIR_OWN: Mapping[str, Facts] = {
    "step.waiting": _waiting,
    "planning.waiting": _waiting,
    "step.fellback": _stood_in,
    "run.excepted": _excepted,
    "run.held": _held,
    "run.resumed": _resumed,
    "run.pausing": _pausing,
    "run.breakpoints": _breakpoints,
    "run.replanned": _replanned,
    "step.written": _written,
    "embedding.done": _embedded,
    "embedding.failed": _embedded,
    "anchor.sealed": _sealed,
    "check.failed": _checked,
    "check.finished": _checked,
    "run.shared": _shared,
    "run.unshared": _unshared,
    "run.exported": _exported,
    "run.erased": _erased,
    "policy.set": _kept,
    "policy.dropped": _kept,
    "hold.placed": _on_hold,
    "hold.lifted": _on_hold,
    "run.templated": _templated,
    "trail.exported": _taken_along,
    "experiment.started": _trying,
    "experiment.ended": _tried,
    "review.assigned": _assigned,
    "review.signed": _signed,
    "result.rated": _rated,
    "result.unrated": _rated,
}


def _facts(data: dict[str, Any], looks: Mapping[str, Look]) -> Sequence[str]:
    facts = []
    if isinstance(data.get("worker"), str):
        facts.append(_name(looks, data["worker"]))
    if isinstance(data.get("fields"), list):
        facts.append(listed(data["fields"]))
    if isinstance(data.get("role"), str):
        facts.append(data["role"])
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
