"""The graph of a workflow as a picture for paper: cards in columns by how deep they lie, as wide as a page is.

What is deeper than a page has columns goes on in a band below. Of very many steps only the numbers are drawn.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from apps.runs.models import Step
from apps.web.editing.shape import depths
from apps.web.words.figures import short_title
from apps.web.words.looks import Look, look_of
from apps.workflows.workflow import Step as Planned
from apps.workflows.workflow import Workflow

MOST_CARDS = 40
TALLEST = 12  # cards above one another
TITLE_CHARS, NAME_CHARS = 20, 24
SAYS = {Step.Status.SUCCEEDED: "", Step.Status.WRITTEN: "by hand"}  # of what is said otherwise, or need not be
MARGIN, BETWEEN = 6.0, 30.0  # around all, and between two bands


@dataclass(frozen=True)
class Size:
    """Of the cards and the gaps between them, in pixels; and how many columns a band has."""

    width: float
    height: float
    gap_x: float
    gap_y: float
    columns: int


CARDS = Size(width=162, height=44, gap_x=34, gap_y=12, columns=4)
NUMBERS = Size(width=24, height=20, gap_x=24, gap_y=8, columns=16)


@dataclass(frozen=True)
class Place:
    """The upper left corner of a card, and the layer that its band begins with."""

    x: float
    y: float
    band: int


@dataclass(frozen=True)
class Card:
    """A step in the picture, and what stands in it."""

    number: int
    x: float
    y: float
    title: str
    name: str
    colour: str
    state: str
    says: str  # its state, in a word


@dataclass(frozen=True)
class Edge:
    """That a step may read another: a line, as wide as the tokens that passed."""

    path: str
    width: float


@dataclass(frozen=True)
class Picture:
    """Cards of one size and the lines between them."""

    width: float
    height: float
    size: Size
    cards: Sequence[Card]
    edges: Sequence[Edge]

    @property
    def has_titles(self) -> bool:
        return self.size == CARDS


def picture_of(
    workflow: Workflow, steps: Mapping[str, Step], looks: Mapping[str, Look], *, tokens: Mapping[str, int]
) -> Picture:
    """The picture of `workflow`, whose `steps` stand under their keys; `tokens` is how much each of them said."""
    layers = _layers(workflow)
    is_small = len(workflow.steps) <= MOST_CARDS and max(map(len, layers), default=0) <= TALLEST
    size = CARDS if is_small else NUMBERS
    at, height = _places(layers, size)
    columns = min(size.columns, max(1, len(layers)))
    return Picture(
        width=2 * MARGIN + columns * size.width + (columns - 1) * size.gap_x,
        height=height,
        size=size,
        cards=[
            _card(number, step, steps.get(step.key), looks, at[step.key])
            for number, step in enumerate(workflow.steps, start=1)
        ],
        edges=[
            Edge(_line(at[source], at[step.key], size), _width(tokens.get(source, 0)))
            for step in workflow.steps
            for source in step.access
        ],
    )


def _layers(workflow: Workflow) -> list[list[str]]:
    """The keys of the steps by how many must be done before them."""
    depth = depths(workflow)
    ordered = sorted(workflow.keys, key=lambda key: depth[key])
    return [list(keys) for _, keys in groupby(ordered, key=lambda key: depth[key])]


def _places(layers: Sequence[Sequence[str]], size: Size) -> tuple[dict[str, Place], float]:
    """Where each step stands, and how high it all is."""
    at: dict[str, Place] = {}
    top = MARGIN
    for first in range(0, len(layers), size.columns):
        band = layers[first : first + size.columns]
        tallest = max(map(len, band))
        for column, keys in enumerate(band):
            for nth, key in enumerate(keys):
                row = nth + (tallest - len(keys)) / 2
                x, y = column * (size.width + size.gap_x), row * (size.height + size.gap_y)
                at[key] = Place(MARGIN + x, top + y, first)
        top += tallest * (size.height + size.gap_y) - size.gap_y + BETWEEN
    return at, top - BETWEEN + MARGIN if layers else 2 * MARGIN


def _card(number: int, planned: Planned, step: Step | None, looks: Mapping[str, Look], at: Place) -> Card:
    look = looks.get(planned.worker) or look_of(planned.worker, None)
    status = Step.Status(step.status) if step else Step.Status.WAITING
    return Card(
        number=number,
        x=at.x,
        y=at.y,
        title=_clipped(short_title(planned.instruction), TITLE_CHARS),
        name=_clipped(look.name, NAME_CHARS),
        colour=look.colour,
        state=status.value,
        says=SAYS.get(status, status.label.lower()),
    )


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip(' …')}…"


def _width(tokens: int) -> float:
    """Of a line by what passed along it: from one to four pixels."""
    return round(1 + min(3.0, math.sqrt(tokens) / 16), 2)


def _line(source: Place, reader: Place, size: Size) -> str:
    """From the right side of a card to the left of the other; into another band, from its foot to the other's head."""
    if source.band == reader.band:
        x1, y1 = source.x + size.width, source.y + size.height / 2
        x2, y2 = reader.x, reader.y + size.height / 2
        bend = min((x2 - x1) / 2, size.gap_x * 2)
        return f"M{x1:g} {y1:g}C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}"
    x1, y1 = source.x + size.width / 2, source.y + size.height
    x2, y2 = reader.x + size.width / 2, reader.y
    bend = (y2 - y1) / 2
    return f"M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"
