"""A scatter of accuracy over cost, with a thin line for every curve and a label for every point."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

from .svg import Tone, dot, line, svg, text

Place = Callable[[float, float], tuple[float, float]]
Box = tuple[float, float, float, float]

LEFT: Final = 64
TOP: Final = 72
RIGHT: Final = 1016
BOTTOM: Final = 440
CHAR_W: Final = 7.2  # in bold
LINE_H: Final = 14


@dataclass(frozen=True)
class Point:
    """A labelled point: `x` in USD, `y` a share of 1."""

    x: float
    y: float
    label: str
    tone: Tone = "plain"


Curves = Mapping[str, Sequence[tuple[float, float]]]


def scatter(points: Sequence[Point], curves: Curves, *, title: str, x_title: str) -> str:
    """Shares over costs, the costs on a logarithmic scale; what costs nothing stands at its left end."""
    place, parts = _axes(points, curves)
    parts.append(text(RIGHT, BOTTOM + 40, x_title, "head", "end"))
    drawn = {name: [place(x, y) for x, y in curve] for name, curve in curves.items()}
    for name, each in drawn.items():
        parts += _curve(name, each)
    spots = [(point, *place(point.x, point.y)) for point in points]
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for _, x, y in spots]
    taken += [(x - 2, y - 2, x + 2, y + 2) for each in drawn.values() for x, y in each]
    for point, x, y in sorted(spots, key=lambda spot: spot[2]):
        parts += _label(point, x, y, taken)
    for name, each in drawn.items():
        parts += _label(Point(0, 0, name, "muted"), *each[-1], taken)
    parts += [dot(point.tone, x, y, 5) for point, x, y in spots]
    return svg(RIGHT + 92, BOTTOM + 52, title, parts)


def _axes(points: Sequence[Point], curves: Curves) -> tuple[Place, list[str]]:
    """Where a point stands, and the grid."""
    on_curves = [each for curve in curves.values() for each in curve]
    xs = [x for x in (*(point.x for point in points), *(x for x, _ in on_curves)) if x > 0] or [0.001, 0.01]
    ys = [*(point.y for point in points), *(y for _, y in on_curves)]
    first, last = log10(min(xs)) - 0.12, log10(max(xs)) + 0.35
    lowest = max(0.0, floor(min(ys, default=0.0) * 10 - 0.3) / 10)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (log10(x) - first) / (last - first) if x > 0 else 0.0
        return LEFT + (RIGHT - LEFT) * across, BOTTOM - (BOTTOM - TOP) * (y - lowest) / (1.0 - lowest)

    return place, [*_levels(place, lowest), *_powers(place, first, last, lowest)]


def _levels(place: Place, lowest: float) -> Iterator[str]:
    for tenth in range(round(lowest * 10), 11):
        _, y = place(1.0, tenth / 10)
        yield line("grid", LEFT, y, RIGHT, y)
        yield text(LEFT - 8, y + 4, f"{tenth * 10} %", "tick", "end")


def _powers(place: Place, first: float, last: float, lowest: float) -> Iterator[str]:
    for power in range(ceil(first), floor(last) + 1):
        x, _ = place(10.0**power, lowest)
        yield line("grid", x, TOP, x, BOTTOM)
        yield text(x, BOTTOM + 18, f"${10.0**power:.6f}".rstrip("0").rstrip("."), "tick", "middle")


def _curve(name: str, spots: Sequence[tuple[float, float]]) -> Iterator[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    yield f'<polyline class="curve" points="{path}"><title>{escape(name)}</title></polyline>'
    for x, y in spots:
        yield dot("muted", x, y, 2)


def _label(point: Point, x: float, y: float, taken: list[Box]) -> Iterator[str]:
    """The label where it covers nothing, with a thin line to its point where that is not right beside it."""
    width = CHAR_W * len(point.label) + 4
    for box in _candidates(x, y, width):
        is_inside = box[0] > LEFT and box[2] < RIGHT + 88 and box[1] > 4 and box[3] < BOTTOM
        if is_inside and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            middle = (box[1] + box[3]) / 2
            if abs(middle - y) > 1:
                yield line("leader", x, y, box[0] - 2 if box[0] > x else box[2] + 2, middle)
            yield text(box[0], middle + 4, point.label, f"label {point.tone}")
            return


def _candidates(x: float, y: float, width: float) -> Iterator[Box]:
    """Right and left of the point, and then ever further below and above."""
    for step in range(24):
        for drop in {step * LINE_H, -step * LINE_H}:
            for left in (x + 10 + step, x - 10 - step - width):
                yield left, y + drop - LINE_H / 2, left + width, y + drop + LINE_H / 2


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
