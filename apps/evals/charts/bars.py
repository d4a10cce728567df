"""Bars: how often each of a few things was seen."""

from collections.abc import Mapping
from typing import Final

from .svg import svg, text

WIDTH: Final = 364
COUNT_W: Final = 84
CHAR_W: Final = 6.4
ROW_H: Final = 24


def bars(counts: Mapping[str, int], *, title: str, most: int = 10) -> str:
    """A bar for each name, with its count and share; beyond the first `most` they are taken together."""
    shown = dict(list(counts.items())[:most])
    total = sum(counts.values())
    if rest := total - sum(shown.values()):
        shown[f"{len(counts) - most} others"] = rest
    highest = max(shown.values(), default=1)
    label_w = max(72.0, CHAR_W * max(map(len, shown), default=0) + 14)
    bar_w = max(60.0, WIDTH - COUNT_W - label_w)
    parts = [text(0, 14, title, "head")]
    for at, (name, count) in enumerate(shown.items()):
        y, width = 28 + ROW_H * at, max(2.0, bar_w * count / highest)
        parts.append(text(label_w - 10, y + 12, name, "label", "end"))
        parts.append(f'<rect class="bar" x="{label_w}" y="{y}" width="{width:.1f}" height="16" rx="3"/>')
        parts.append(text(label_w + width + 8, y + 12, f"{count} ({count / total * 100:.0f} %)", "figure"))
    return svg(label_w + bar_w + COUNT_W, 36 + ROW_H * len(shown), title, parts)
