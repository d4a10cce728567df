"""The simulated coordinator of TRINITY's turns (arXiv 2512.04695): it names a model and its role for the next turn."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from apps.simulator.briefs import Brief, instructions, read_brief
from apps.simulator.conduct import schema_of, strongest_of
from apps.simulator.reading import RESULTS, Element, Texts, elements
from apps.simulator.reply import Reply
from apps.simulator.solvers import solve

THINKER, WORKER, VERIFIER = "thinker", "worker", "verifier"

_ROLE = re.compile(rf"\b({THINKER}|{WORKER}|{VERIFIER})s?\b", re.I)
_MODEL = re.compile(r"\bModel (\d{1,3})\b")
_TURN = re.compile(r"\bturn (\d{1,3}) of (?:at most )?(\d{1,3})\b", re.I)
_ONLY = re.compile(r"\brole can only be ([a-z ,]+?)(?=[:.]|$)", re.I | re.M)
_PROPOSED = re.compile(rf"\bproposes the role ({THINKER}|{WORKER}|{VERIFIER})\b", re.I)
_WHY = {
    THINKER: "This wants a plan before anybody answers.",
    WORKER: "Somebody has to answer now.",
    VERIFIER: "There is an answer, so it is to be checked by a model that did not write it.",
}


@dataclass(frozen=True)
class Coordination:
    """A coordinator's prompt: the brief, who took which role so far, the roles there are now, and one proposed."""

    brief: Brief
    taken: tuple[tuple[int, str], ...]
    roles: tuple[str, ...]
    proposed: str
    is_last: bool


def is_for_a_coordinator(texts: Texts) -> bool:
    """Whether the next turn is to be given to one of several models, in one of the three roles."""
    text = instructions(texts)
    if not (_MODEL.search(text) and re.search(VERIFIER, text, re.I)):  # most prompts, told at a glance
        return False
    rules = _rules(texts)
    return all(re.search(rf"\b{role}\b", rules, re.I) for role in (THINKER, VERIFIER, "role", "turn"))


def coordinate(texts: Texts, *, seed: int, response_format: str = "") -> Reply:
    """Who goes on and as what, in two lines or in the JSON that the request insists on."""
    asked = read_coordination(texts)
    rng = Random(f"{seed} {asked}")
    role = _role(asked, rng)
    model = _model(asked, role, rng)
    schema = schema_of(response_format)
    if schema is None:
        return Reply(body=f"{_WHY[role]}\n\n", closing=f"worker = {model}\nrole = {role}\n")
    return Reply(body="", closing=_as_json(model, role, schema))


def read_coordination(texts: Texts) -> Coordination:
    """What a coordinator is told."""
    rules = _rules(texts)
    turn, only, proposed = _TURN.search(rules), _ONLY.search(rules), _PROPOSED.search(rules)
    roles = tuple(role.lower() for role in _ROLE.findall(only[1])) if only else ()
    found = [element for element in elements(instructions(texts)) if element.name in RESULTS]
    return Coordination(
        brief=read_brief(texts),
        taken=tuple(taken for element in found if (taken := _taken(element))),
        roles=roles or (THINKER, WORKER, VERIFIER),
        proposed=proposed[1].lower() if proposed else "",
        is_last=bool(turn) and turn[1] == turn[2] if turn else False,
    )


def _rules(texts: Texts) -> str:
    """The prompt without the texts that it quotes: they may speak of anything."""
    text, at, kept = instructions(texts), 0, []
    for element in elements(text):
        kept.append(text[at : element.start])
        at = element.end
    return "\n".join([*kept, text[at:]])


def _taken(element: Element) -> tuple[int, str] | None:
    """The model and the role that the words before a response name last."""
    models, roles = _MODEL.findall(element.before), _ROLE.findall(element.before)
    return (int(models[-1]) if models else -1, roles[-1].lower()) if roles else None


def _role(asked: Coordination, rng: Random) -> str:
    """A thinker first for what is hard, then a worker, then a verifier, and after an objection a worker again."""
    last = asked.taken[-1][1] if asked.taken else ""
    problem = solve(asked.brief.question)
    if not last:
        wished = THINKER if (problem is None or not problem.is_easy) and rng.random() < 0.6 else WORKER
    elif last == THINKER:
        wished = asked.proposed or WORKER
    elif last == WORKER:
        wished = VERIFIER
    else:
        wished = WORKER if asked.is_last or rng.random() < 0.75 else THINKER
    return wished if wished in asked.roles else WORKER


def _model(asked: Coordination, role: str, rng: Random) -> int:
    """The strongest for the first answer; otherwise another than the one who wrote last."""
    last = asked.taken[-1][0] if asked.taken else None
    numbers = [number for number in range(max(1, len(asked.brief.models))) if number != asked.brief.itself] or [0]
    if role == WORKER and not any(taken == WORKER for _, taken in asked.taken):
        return strongest_of(asked.brief)
    return rng.choice([number for number in numbers if number != last] or numbers)


def _as_json(model: int, role: str, schema: Mapping[str, Any]) -> str:
    properties: Mapping[str, Any] = schema.get("properties") or {"worker": {}, "role": {}}
    return json.dumps({name: _field(name, of, model, role) for name, of in properties.items()}, ensure_ascii=False)


def _field(name: str, of: Mapping[str, Any], model: int, role: str) -> int | str:
    if re.search(r"role", name, re.I):
        return role
    if re.search(r"model|worker|agent", name, re.I):
        names: Sequence[str] = of.get("enum", ())
        return names[model] if model < len(names) else model
    return _WHY[role]
