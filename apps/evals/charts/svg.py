"""The words that every chart is written in.

Colours are classes that the page around a chart defines, so that it follows the page's light or dark theme.
"""

from collections.abc import Sequence
from html import escape
from typing import Literal

Tone = Literal["plain", "muted", "accent", "ok", "bad"]


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def dot(tone: Tone, x: float, y: float, r: float) -> str:
    return f'<circle class="dot {tone}" cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"/>'


def svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """The whole picture; `title` is what it is called by who cannot see it."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
