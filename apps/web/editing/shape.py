"""The shape of a workflow as a small drawing: steps in columns by how deep they lie, and a line for every read."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.web.words.looks import Look
from apps.workflows.workflow import Workflow

COLUMN, ROW, MARGIN = 58, 32, 14  # pixels: between columns, between rows, around all


@dataclass(frozen=True)
class Mark:
    """A step in the drawing."""

    number: int
    x: float
    y: float
    colour: str


@dataclass(frozen=True)
class Shape:
    """A drawing of `width` by `height` pixels; every edge is the path of its line."""

    width: int
    height: int
    marks: Sequence[Mark]
    edges: Sequence[str]


def shape_of(workflow: Workflow, looks: Mapping[str, Look]) -> Shape:
    """The drawing of `workflow`, each step in the colour of its worker."""
    depth = depths(workflow)
    columns: dict[int, list[str]] = defaultdict(list)
    for step in workflow.steps:
        columns[depth[step.key]].append(step.key)
    tallest = max(map(len, columns.values()), default=0)
    at = {
        key: (MARGIN + column * COLUMN, MARGIN + (place + (tallest - len(keys)) / 2) * ROW)
        for column, keys in columns.items()
        for place, key in enumerate(keys)
    }
    colours = {slug: look.colour for slug, look in looks.items()}
    return Shape(
        width=2 * MARGIN + max(0, len(columns) - 1) * COLUMN,
        height=2 * MARGIN + max(0, tallest - 1) * ROW,
        marks=[
            Mark(number, *at[step.key], colours.get(step.worker, "a"))
            for number, step in enumerate(workflow.steps, start=1)
        ],
        edges=[_line(at[source], at[step.key]) for step in workflow.steps for source in step.access],
    )


def depths(workflow: Workflow) -> dict[str, int]:
    """How many steps must be done before each one can begin, along the longest way; by the steps' keys."""
    depth: dict[str, int] = {}
    for step in workflow.steps:  # what a step reads stands before it
        depth[step.key] = 1 + max((depth[source] for source in step.access), default=-1)
    return depth


def _line(source: tuple[float, float], reader: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = source, reader
    middle = (x1 + x2) / 2
    return f"M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"
