"""Charts as SVG text, without a library, for reports that are one file."""

from .bars import bars
from .dots import Column, Mark, Row, rows_of_dots
from .scatter import Point, scatter
from .svg import Tone

__all__ = ["Column", "Mark", "Point", "Row", "Tone", "bars", "rows_of_dots", "scatter"]
