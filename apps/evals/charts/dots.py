"""Rows of dots with intervals: one row for each entrant, one column for each measure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .svg import Tone, dot, line, svg, text

LABEL_W: Final = 236
PLOT_W: Final = 112
WORDS_W: Final = 62
GAP: Final = 20
ROW_H: Final = 26
ROOM_FOR_THREE: Final = 100  # ticks' words
HEAD_H: Final = 46


@dataclass(frozen=True)
class Mark:
    """A dot, its whisker where there is an interval, and the figure in words beside it."""

    value: float
    low: float | None
    high: float | None
    words: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Row:
    """One entrant: a mark in every column, None where there is none."""

    label: str
    marks: Sequence[Mark | None]
    tone: Tone = "plain"


@dataclass(frozen=True)
class Column:
    """One measure, drawn from `low` to `high`; a line stands at `reference`."""

    title: str
    low: float
    high: float
    tick: Callable[[float], str]
    reference: float | None = None
    words_w: int = WORDS_W
    plot_w: int = PLOT_W

    @property
    def width(self) -> int:
        return self.plot_w + self.words_w

    def x(self, value: float) -> float:
        span = self.high - self.low or 1.0
        return self.plot_w * (min(max(value, self.low), self.high) - self.low) / span


def rows_of_dots(columns: Sequence[Column], rows: Sequence[Row], *, title: str) -> str:
    """The rows with their labels on the left."""
    width = LABEL_W + sum(column.width + GAP for column in columns)
    height = HEAD_H + ROW_H * len(rows) + 8
    parts = [*_stripes(len(rows), width), *_labels(rows)]
    x = LABEL_W
    for at, column in enumerate(columns):
        marks = [row.marks[at] for row in rows]
        parts.append(f'<g transform="translate({x} 0)">{"".join(_column(column, marks, height))}</g>')
        x += column.width + GAP
    return svg(width, height, title, parts)


def _stripes(count: int, width: int) -> Iterator[str]:
    for at in range(1, count, 2):
        yield f'<rect class="stripe" x="0" y="{HEAD_H + ROW_H * at}" width="{width}" height="{ROW_H}" rx="4"/>'


def _labels(rows: Sequence[Row]) -> Iterator[str]:
    for at, row in enumerate(rows):
        yield text(8, _middle(at) + 4, row.label, f"label {row.tone}")


def _middle(at: int) -> float:
    return HEAD_H + ROW_H * (at + 0.5)


def _column(column: Column, marks: Sequence[Mark | None], height: int) -> Iterator[str]:
    yield text(0, 16, column.title, "head")
    for share, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
        x = column.plot_w * share
        yield line("grid", x, HEAD_H - 4, x, height - 6)
        if share != 0.5 or column.plot_w >= ROOM_FOR_THREE:
            yield text(x, HEAD_H - 10, column.tick(column.low + share * (column.high - column.low)), "tick", anchor)
    if column.reference is not None:
        x = column.x(column.reference)
        yield line("reference", x, HEAD_H - 4, x, height - 6)
    for at, mark in enumerate(marks):
        if mark is not None:
            yield from _mark(column, mark, _middle(at))


def _mark(column: Column, mark: Mark, y: float) -> Iterator[str]:
    if mark.low is not None and mark.high is not None:
        yield line(f"whisker {mark.tone}", column.x(mark.low), y, column.x(mark.high), y)
    yield dot(mark.tone, column.x(mark.value), y, 4)
    yield text(column.width, y + 4, mark.words, f"figure {mark.tone}", "end")
