"""Workflows as files: the studio's own JSON under a version, and the paper's three lists.

Whoever sends a file may send anything: nothing in it is evaluated, its size is limited, and what is wrong with it is
said with the line, the step or the edge at fault.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError

from apps.core.errors import Invalid

from .graph import Problem, quoted
from .lists import ListsInvalid, from_lists, storable, to_lists
from .workflow import Value, Workflow

FORMAT: Literal["conductor-studio/workflow"] = "conductor-studio/workflow"
LISTS: Literal["conductor-studio/lists"] = "conductor-studio/lists"
MOST_CHARS = 1_000_000
MOST_TOLD = 20
KINDS = ("model_id", "subtasks", "access_list")


class FileInvalid(Invalid):
    """A file is not a workflow; `problems` says why, each with its line, step or edge."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems[0].message, field="text")
        self.problems = tuple(problems[:MOST_TOLD])


class Portable(Value):
    """A workflow with its name and its task, as it is written to a file and read from one.

    The workers of its steps are slugs, or whatever the lists call them: whom they stand for is chosen by a person.
    """

    name: str = Field(default="", max_length=100)
    description: str = Field(default="", max_length=500)
    task: str = ""
    placeholders: bool = False  # whether `{name}` in the task is to be filled in; else a brace is a brace
    workflow: Workflow

    @property
    def workers(self) -> tuple[str, ...]:
        """The workers that its steps name, each once, in the order of the steps."""
        return tuple(dict.fromkeys(step.worker for step in self.workflow.steps))


class _File(Portable):
    """The studio's own form: version 1."""

    format: Literal["conductor-studio/workflow"]
    version: Literal[1]


def as_json(portable: Portable) -> str:
    """The studio's own form, which `read` takes back without loss."""
    body = {"format": FORMAT, "version": 1, **portable.model_dump(mode="json")}
    return json.dumps(body, ensure_ascii=False, indent=2) + "\n"


def as_lists(portable: Portable) -> str:
    """The three lists of arXiv 2512.04388, with the workers whose positions `model_id` gives.

    How the answer is taken, roles and rounds are not in them: lists cannot say so.

    :raises ListsInvalid: a step reads one that is not earlier.
    """
    pool = portable.workers
    lists = to_lists(portable.workflow, pool=pool)
    body = {
        "format": LISTS,
        "version": 1,
        "name": portable.name,
        "task": portable.task,
        "placeholders": portable.placeholders,
        "workers": list(pool),
        "model_id": lists.model_id,
        "subtasks": lists.subtasks,
        "access_list": lists.access_list,
    }
    return json.dumps(body, ensure_ascii=False, indent=2) + "\n"


def read_json(text: str) -> Portable:
    """What a file of either form says.

    :raises FileInvalid: it is too long, no JSON, of no form that is known here, or no workflow.
    """
    body = _parsed(text)
    if all(kind in body for kind in KINDS):
        return of_lists(*(body[kind] for kind in KINDS), about=body)
    if body.get("format") != FORMAT:
        raise _wrong(
            "unknown-format",
            f"This is neither a workflow of this studio (“format” is {quoted(str(body.get('format', 'missing')))}, not "
            f"“{FORMAT}”) nor three lists named model_id, subtasks and access_list.",
        )
    if body.get("version") != 1:
        said = quoted(str(body.get("version", "missing")))
        raise _wrong("unknown-version", f"The file’s version is {said}; this studio reads version 1.")
    try:
        file = _File.model_validate(body)
    except ValidationError as error:
        raise FileInvalid(list(_problems(error, body))) from None
    return Portable(**file.model_dump(exclude={"format", "version"}))


def of_lists(model_id: object, subtasks: object, access_list: object, *, about: dict[str, Any]) -> Portable:
    """Three lists as a workflow whose workers are called as the lists call them: by a name, or by a number.

    A number stands for that one of `about["workers"]`, where there are any.

    :raises FileInvalid: one is no list, or together they are no workflow.
    """
    given = dict(zip(KINDS, (model_id, subtasks, access_list), strict=True))
    models, instructions, reads = (_listed(kind, value) for kind, value in given.items())
    named = [_called(entry, about.get("workers")) for entry in models]
    names = list(dict.fromkeys(named))
    try:
        workflow = from_lists([names.index(name) for name in named], instructions, reads, pool=names)
    except ListsInvalid as invalid:
        raise FileInvalid(invalid.problems) from None
    name, task = about.get("name"), about.get("task")
    return Portable(
        name=name[:100] if isinstance(name, str) else "",
        task=task if isinstance(task, str) else "",
        placeholders=about.get("placeholders") is True,
        workflow=workflow,
    )


def with_workers(workflow: Workflow, instead: dict[str, str]) -> Workflow:
    """The workflow with other workers where `instead` names some; all else stays."""
    steps = [step.model_copy(update={"worker": instead.get(step.worker, step.worker)}) for step in workflow.steps]
    return workflow.model_copy(update={"steps": tuple(steps)})


def _listed(kind: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise _wrong("no-list", f"{kind} is not a list.")
    return value


def _called(entry: object, workers: object) -> str:
    """How a list calls a worker."""
    if isinstance(entry, bool) or not isinstance(entry, int | str):
        return "?"
    number = int(entry) if isinstance(entry, int) or (entry.isascii() and entry.isdigit() and len(entry) < 5) else None
    if number is None:
        return str(entry)[:100]
    known = workers if isinstance(workers, list) else []
    name = known[number] if 0 <= number < len(known) else None
    return name[:100] if isinstance(name, str) and name else f"worker {str(number)[:12]}"


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > MOST_CHARS:
        raise _wrong("too-long", f"This has {len(text):,} characters; at most {MOST_CHARS:,} are read.")
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise _wrong("no-json", f"Line {error.lineno}, column {error.colno}: {error.msg}.") from None
    except (RecursionError, ValueError):  # brackets in brackets without end; a number of too many digits
        raise _wrong("no-json", "This is nested too deeply, or has a number too long, to be a workflow.") from None
    if not isinstance(body, dict):
        raise _wrong("no-object", "A workflow’s file is one JSON object, in braces.")
    return {name: _storable(value) for name, value in body.items()}


def _storable(value: Any) -> Any:
    """What was read, its texts without what no database can hold. It is no deeper than `json` reads."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {storable(name): _storable(each) for name, each in value.items()}
    return value


def _problems(error: ValidationError, body: dict[str, Any]) -> Iterator[Problem]:
    for fault in error.errors(include_url=False, include_input=False):
        where = tuple(part for part in fault["loc"] if part not in ("last", "vote", "select"))
        message = fault["msg"].removeprefix("Value error, ")
        if where[:2] == ("workflow", "steps") and len(where) > 2 and isinstance(where[2], int):
            named = f"Step {where[2] + 1}" + (f", {'.'.join(map(str, where[3:]))}" if where[3:] else "")
            yield Problem("broken-file", f"{named}: {message}.", _key(body, where[2]))
        else:
            yield Problem("broken-file", f"{'.'.join(map(str, where)) or 'The file'}: {message}.")


def _key(body: dict[str, Any], at: int) -> str | None:
    try:
        key = body["workflow"]["steps"][at]["key"]
    except (KeyError, TypeError, IndexError):
        return None
    return key if isinstance(key, str) else None


def _wrong(code: str, message: str) -> FileInvalid:
    return FileInvalid([Problem(code, message)])
