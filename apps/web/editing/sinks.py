"""How the answer is taken, as a part of the edit page's form: read from it, and shown in it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from apps.web.words.figures import short_title
from apps.workflows import graph
from apps.workflows.graph import Problem, quoted
from apps.workflows.workflow import Last, Select, Sink, Vote, Workflow

LONGEST_KEY = 60

# The kinds as they are offered, and what each does.
KINDS = {
    "last": "The last step’s result",
    "vote": "A vote: what most of the steps ticked below say",
    "select": "A selection: of the steps ticked below the one nearest to the others",
}
WEIGHED = KINDS | {"select": "A selection: of the steps ticked below the one of the greatest weight"}


@dataclass(frozen=True)
class Tick:
    """A step that can be counted. One that is no step (any more) is there only to be taken away."""

    key: str
    label: str
    is_counted: bool
    weight: str


@dataclass(frozen=True)
class SinkForm:
    """The part of the form in which it is chosen how the answer is taken."""

    kind: str
    kinds: Mapping[str, str]
    ticks: Sequence[Tick]
    has_weights: bool
    problems: Sequence[Problem]


def sink_in(form: QueryDict, before: Sink) -> Sink:
    """The sink that the form says; of a form that says none, the one it was made from."""
    over = tuple(dict.fromkeys(key[:LONGEST_KEY] for key in form.getlist("sink-over")))
    match form.get("sink"):
        case "last":
            return Last()
        case "vote":
            return Vote(over=over)
        case "select":
            return Select(over=over, weights=_weights(form, over))
    return before


def _weights(form: QueryDict, over: Sequence[str]) -> tuple[float, ...] | None:
    """The weights that came along, if one came for every step that is counted: with any other they mean nothing."""
    found = [_number(form.get(f"sink-weight-{key}", "")) for key in over]
    weights = tuple(weight for weight in found if weight is not None)
    return weights if weights and len(weights) == len(over) else None


def _number(given: str) -> float | None:
    try:
        number = float(given[:40])
    except ValueError:
        return None
    return number if -1e12 < number < 1e12 else None  # neither of these is "not a number" or infinite


def form_of_sink(workflow: Workflow, problems: Sequence[Problem]) -> SinkForm:
    """The sink of `workflow` as a form, with those of its `problems` that concern it.

    While the last step answers, the steps that nobody reads are ticked: a vote that is chosen then has something to
    count.
    """
    sink = workflow.sink
    over = unread(workflow) if isinstance(sink, Last) else sink.over
    weights = dict(zip(sink.over, sink.weights, strict=False)) if isinstance(sink, Select) and sink.weights else {}
    labels = {step.key: f"{number} · {short_title(step.instruction)}" for number, step in enumerate(workflow.steps, 1)}
    labels |= {key: f"{quoted(key)}, which is no step" for key in over if key not in labels}
    return SinkForm(
        kind=sink.kind,
        kinds=WEIGHED if weights else KINDS,
        ticks=[Tick(key, label, key in over, _text(weights.get(key))) for key, label in labels.items()],
        has_weights=bool(weights),
        problems=[problem for problem in graph.sink_problems(workflow) if problem in problems],
    )


def unread(workflow: Workflow) -> list[str]:
    """The steps whose results no other step reads: the ends of the workflow."""
    read = {source for step in workflow.steps for source in step.access}
    return [key for key in workflow.keys if key not in read]


def _text(weight: float | None) -> str:
    return "" if weight is None else repr(weight)
