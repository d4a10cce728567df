"""The edit page's form as a value: what a person has typed, read back into a workflow without losing any of it.

Whoever sends a form may send anything. What cannot be a workflow is said, and kept as far as it can be shown again.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, get_args

from django.http import QueryDict
from pydantic import TypeAdapter, ValidationError

from apps.runs.models import Run
from apps.runs.services import MOST_STEPS
from apps.web.editing.sinks import sink_in
from apps.web.posted import reason_in
from apps.workflows import edits
from apps.workflows.edits import Edit, EditRefused
from apps.workflows.graph import Problem, in_order, listed, quoted
from apps.workflows.workflow import KEY, Step, Workflow

OnFailure = Literal["skip", "empty"]
LONGEST_ROLE = 40
MOST_ROUNDS = 100

_edit: TypeAdapter[Edit] = TypeAdapter(Edit)


@dataclass(frozen=True)
class Draft:
    """A workflow being edited, the steps that are to run whatever is recorded, and why the person changes it."""

    workflow: Workflow
    fresh: tuple[str, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()  # what the last operation changed besides
    refused: Problem | None = None  # why the last operation was not done
    rewritten: str | None = None  # the step whose instruction an operation has replaced
    is_restored: bool = False  # it is not what stands in the page: nothing that was typed there may stay

    @property
    def body(self) -> str:
        """What is kept of it while nobody has started it."""
        kept = {"workflow": self.workflow.model_dump(mode="json"), "fresh": self.fresh, "reason": self.reason}
        return json.dumps(kept, sort_keys=True)


def draft_of(run: Run) -> Draft:
    """The run's own workflow, not changed yet. The run must have one."""
    assert run.workflow is not None
    return Draft(run.workflow, fresh=tuple(run.fresh) if not run.is_ended else ())


def draft_in(body: str) -> Draft:
    """What was kept of a draft."""
    kept = json.loads(body)
    workflow = Workflow.model_validate(kept["workflow"])
    return Draft(workflow, fresh=tuple(kept["fresh"]), reason=kept["reason"], is_restored=True)


def read_form(form: QueryDict, run: Run) -> Draft:
    """What the form says. Of a form that lost its steps the run's own workflow is left, and it is said."""
    before = draft_of(run).workflow
    order = form.getlist("order")
    if not order:
        problem = Problem("broken-form", "The form came without its steps; here they are as the run has them.")
        return replace(draft_of(run), refused=problem, reason=reason_in(form))

    keys, odd = _keys(order)
    place = {key: at for at, key in enumerate(keys.values())}
    steps = tuple(_step(form, name, key, place, before) for name, key in keys.items())
    workflow = Workflow(
        steps=steps,
        sink=sink_in(form, before.sink),
        show_task=form["show_task"] == "1" if form.get("show_task") in ("0", "1") else before.show_task,
        on_failure=_on_failure(form, before),
    )
    fresh = tuple(key for name, key in keys.items() if form.get(f"step-{name}-fresh"))
    refused = _renamed(odd) or _too_many(order)
    is_restored = form.get("restored") == "1"
    return Draft(workflow, fresh=fresh, reason=reason_in(form), refused=refused, is_restored=is_restored)


def edited(draft: Draft, asked: str, *, used: Collection[str]) -> Draft:
    """The draft after the operation `asked` for (the JSON of one `Edit`), or as it was, with why it was not done."""
    try:
        edit = _edit.validate_json(asked)
    except ValidationError:
        problem = Problem("unknown-edit", "That operation is none that this page knows. Nothing was changed.")
        return replace(draft, refused=problem)
    try:
        done = edits.apply(draft.workflow, edit, used=used)
    except EditRefused as refusal:
        return replace(draft, refused=refusal.problem)
    rewritten = edit.key if isinstance(edit, edits.SetInstruction) else None
    fresh = tuple(key for key in draft.fresh if key in done.workflow.keys)
    return replace(draft, workflow=done.workflow, notes=done.notes, fresh=fresh, rewritten=rewritten)


def _keys(order: list[str]) -> tuple[dict[str, str], list[int]]:
    """Each name in the form with the key its step gets, and the numbers of the steps whose names cannot be keys."""
    names = list(dict.fromkeys(order))[: MOST_STEPS + 1]
    taken = {name for name in names if re.fullmatch(KEY, name)}
    keys, odd = {}, []
    for number, name in enumerate(names, start=1):
        if name in taken:
            keys[name] = name
        else:
            keys[name] = edits.fresh_key(taken | set(keys.values()))
            odd.append(number)
    return keys, odd


def _step(form: QueryDict, name: str, key: str, place: dict[str, int], before: Workflow) -> Step:
    typed = form.get(f"step-{name}-instruction", "")
    kept = before.step(key) if key in before.keys else None
    known = kept.instruction if kept else None
    access = [source[:60] for source in form.getlist(f"step-{name}-access")]
    return Step(
        key=key,
        # A browser sends every line end as CR LF: what was not touched must stay, to the letter, what it was.
        instruction=known if known is not None and _plain(typed) == _plain(known) else _plain(typed),
        worker=form.get(f"step-{name}-worker", "")[:100],
        access=in_order(access, place),
        role=kept.role if kept else form.get(f"step-{name}-role", "").replace("\0", "")[:LONGEST_ROLE],
        round=kept.round if kept else _round(form.get(f"step-{name}-round", "")),
    )


def _round(given: str) -> int:
    return int(given) if given.isascii() and given.isdigit() and 1 <= int(given[:9]) <= MOST_ROUNDS else 1


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _on_failure(form: QueryDict, before: Workflow) -> OnFailure:
    given = form.get("on_failure")
    return next((choice for choice in get_args(OnFailure) if choice == given), before.on_failure)


def _renamed(odd: list[int]) -> Problem | None:
    if not odd:
        return None
    which = f"step{'s' if len(odd) > 1 else ''} {listed(odd)}"
    return Problem(
        "broken-form", f"The form names {which} as no step can be named; what was typed was kept under a new key."
    )


def _too_many(order: list[str]) -> Problem | None:
    if len(set(order)) <= MOST_STEPS + 1:
        return None
    return Problem(
        "broken-form",
        f"The form has {len(set(order)):,} steps, {quoted(order[MOST_STEPS + 1])} and later ones were left out.",
    )
