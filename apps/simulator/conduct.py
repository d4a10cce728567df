"""The simulated conductor: it reads the question, chooses a shape by the seed, and writes the plan down.

Its plans follow the three lists of the Conductor paper (arXiv 2512.04388), or JSON where a schema is asked for. In a
later round it may keep the answer there is, and a step may be given to itself.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from apps.simulator import openended, rounds, shapes
from apps.simulator.briefs import Brief
from apps.simulator.plans import Choices, Draft, Outline, within
from apps.simulator.reading import nested_in
from apps.simulator.reply import Reply
from apps.simulator.solvers import solve

_STRONG = re.compile(r"\batlas\b|\bstrong(?:est)?\b|\bcareful\b|\bbest\b", re.I)


@dataclass(frozen=True)
class Plan:
    """A workflow as the conductor means it; `says_all` writes `"all"` where a step reads every earlier one."""

    thinking: str
    subtasks: tuple[str, ...]
    models: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...]
    says_all: bool


KEPT = Plan(thinking=rounds.LOOKS_RIGHT, subtasks=(), models=(), reads=(), says_all=False)


def conduct(brief: Brief, *, seed: int, response_format: str = "") -> Reply:
    """The workflow for the prompt, in the form it asks for."""
    return written(make_plan(brief, seed=seed), response_format)


def written(plan: Plan, response_format: str) -> Reply:
    """The plan as three lists, or as the JSON that the request insists on."""
    schema = schema_of(response_format)
    return Reply(body="", closing=_as_json(plan, schema)) if schema is not None else _as_lists(plan)


def make_plan(brief: Brief, *, seed: int) -> Plan:
    """A plan of at most `brief.max_steps` steps. The same seed and question give the same plan.

    In a later round it may have none, which keeps the answer there is.
    """
    choices = Choices(seed + number_of(brief.question))
    outline = _outline(brief, seed, choices)
    if outline is None:
        return KEPT
    drafts = within(outline, brief.max_steps)
    models = _models(brief, drafts, choices)
    return Plan(
        thinking=f"{outline.because} {_why_these(brief, models)}",
        subtasks=tuple(draft.instruction for draft in drafts),
        models=models,
        reads=tuple(draft.reads for draft in drafts),
        says_all=choices.pick((False, True)),
    )


def _outline(brief: Brief, seed: int, choices: Choices) -> Outline | None:
    """The shape of the workflow; None where the answer of the round before is kept."""
    nested = nested_in(brief.question)
    asked = nested.instruction if nested else brief.question
    if brief.answer_before is not None:
        return rounds.reconsider(brief, asked, seed=seed, choices=choices)
    if problem := solve(asked):
        return shapes.outline(problem, brief.max_steps, choices)
    if nested and solve(nested.task):
        return shapes.part_of_a_whole(asked)
    return openended.outline(asked, brief.max_steps, choices)


def number_of(question: str) -> int:
    return int.from_bytes(blake2b(question.encode("utf-8", "replace"), digest_size=4).digest(), "big")


def _models(brief: Brief, drafts: tuple[Draft, ...], choices: Choices) -> tuple[int, ...]:
    """The strongest model for the last step; the others in turn, from where the seed says, for what comes before.

    Where the conductor is a model of the pool, it takes on a long step of its own now and then.
    """
    offered = [number for number in range(max(1, len(brief.models))) if number != brief.itself] or [0]
    strongest = strongest_of(brief)
    others = [number for number in offered if number != strongest] or [strongest]
    first = choices.pick(range(len(others)))
    models = [*(others[(first + at) % len(others)] for at in range(len(drafts) - 1)), strongest]
    if brief.itself is not None and len(drafts) > 1 and choices.pick((True, False)):
        longest = max(range(len(drafts) - 1), key=lambda at: len(drafts[at].instruction))
        models[longest] = brief.itself
    return tuple(models)


def strongest_of(brief: Brief) -> int:
    """The model described as strong; where nothing is revealed the first, since a pool is listed best first."""
    found = [len(_STRONG.findall(words)) for words in brief.models]
    scores = [-1 if number == brief.itself else score for number, score in enumerate(found)]
    return scores.index(max(scores)) if scores else 0


def _why_these(brief: Brief, models: tuple[int, ...]) -> str:
    last = f"Model {models[-1]}"
    if len(models) == 1:
        return f"{last} is the one I would trust with it."
    if brief.itself is not None and brief.itself in models:
        return f"Step {models.index(brief.itself) + 1} is a task of its own, which I divide further myself."
    if len(set(models)) == 1:
        return f"There is only {last} to ask, so it does every step."
    return f"{last} answers last, because its result is the one that counts; the others are quicker and cheaper."


def _as_lists(plan: Plan) -> Reply:
    subtasks = "".join(f"    {json.dumps(subtask, ensure_ascii=False)},\n" for subtask in plan.subtasks)
    access = ", ".join(_access(plan, at) for at in range(len(plan.reads)))
    lists = f"model_id = {list(plan.models)}\nsubtasks = [\n{subtasks}]\naccess_list = [{access}]\n"
    return Reply(body=f"{plan.thinking}\n\n", closing=lists)


def _access(plan: Plan, at: int) -> str:
    reads = plan.reads[at]
    is_all = rounds.BEFORE in reads or (plan.says_all and at and reads == tuple(range(at)))
    return '["all"]' if is_all else str(list(reads))


def schema_of(response_format: str) -> Mapping[str, Any] | None:
    """The JSON schema of the request; empty for `json_object`, None where text was asked for."""
    asked = json.loads(response_format) if response_format else {}
    if asked.get("type") == "json_object":
        return {}
    if asked.get("type") != "json_schema":
        return None
    schema = asked.get("json_schema", {}).get("schema", {})
    return schema if isinstance(schema, dict) else {}


def _as_json(plan: Plan, schema: Mapping[str, Any]) -> str:
    """The plan under the names that the schema uses: three lists, or one list of steps."""
    properties = schema.get("properties") or {"model_id": {}, "subtasks": {}, "access_list": {}}
    return json.dumps({name: _field(plan, name, of, schema) for name, of in properties.items()}, ensure_ascii=False)


def _field(plan: Plan, name: str, of: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    items = _resolved(of.get("items", {}), schema)
    steps = range(len(plan.models))
    if properties := items.get("properties"):
        return [{key: _of_step(plan, key, one, at) for key, one in properties.items()} for at in steps]
    if _THINKING.search(name):
        return plan.thinking
    return [_of_step(plan, name, items, at) for at in steps]


_THINKING = re.compile(r"thinking|reason|rationale|thought|analysis", re.I)


def _resolved(items: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The items of a list, looked up where the schema names them by reference."""
    name = str(items.get("$ref", "")).rpartition("/")[2]
    found = schema.get("$defs", {}).get(name, items) if name else items
    return found if isinstance(found, dict) else {}


def _of_step(plan: Plan, name: str, of: Mapping[str, Any], at: int) -> Any:
    """One element of a step; a worker is called as the schema lists the workers, else by its number."""
    if re.search(r"model|worker", name, re.I):
        number, names = plan.models[at], of.get("enum", ())
        return names[number] if number < len(names) else number
    if re.search(r"access|read", name, re.I):
        return ["all"] if rounds.BEFORE in plan.reads[at] else list(plan.reads[at])
    return plan.subtasks[at]
