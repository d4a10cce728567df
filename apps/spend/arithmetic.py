"""How a line's cost came about: tokens times price, row by row, so that a page can show its sums."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

MILLION = Decimal(1_000_000)
# Costs are booked to this sum; what a row says beyond it, the last row takes off again.
SMALLEST = Decimal("0.00000001")


class Booked(Protocol):
    """What of a line its arithmetic goes by."""

    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    price: Any
    cost_usd: Decimal | None


@dataclass(frozen=True)
class Row:
    """One product of the sum. A row without tokens is a difference; a price or a sum of None is unknown."""

    what: str
    tokens: int | None
    per_million_usd: Decimal | None
    usd: Decimal | None


def arithmetic(line: Booked) -> list[Row]:
    """The rows of which a settled line's cost is the sum, exactly; those without tokens are left out.

    Where the cost is unknown, the rows say which price is missing. What was booked otherwise than by these prices (a
    step that was a run of its own, say) stands in a last row, as does what was rounded.
    """
    rows = [row for row in _products(line, line.price) if row.tokens]
    if line.cost_usd is None:
        return rows
    reckoned = sum((row.usd for row in rows if row.usd is not None), Decimal(0))
    rest = line.cost_usd - reckoned
    if rest:
        rows.append(Row("rounding" if abs(rest) < SMALLEST else "booked otherwise", None, None, rest))
    return rows


def _products(line: Booked, price: Mapping[str, Any]) -> list[Row]:
    """As `Price.cost_usd` reckons: cached tokens are part of the input, reasoning tokens part of the output."""
    input_usd, cached_usd, output_usd = (_usd(price, name) for name in ("input_usd", "cached_usd", "output_usd"))
    cached = min(line.cached_tokens, line.input_tokens)
    thought = min(line.reasoning_tokens, line.output_tokens)
    return [
        _row("input", line.input_tokens - cached, input_usd),
        _row("cached input", cached, input_usd if cached_usd is None else cached_usd),
        _row("output", line.output_tokens - thought, output_usd),
        _row("reasoning", thought, output_usd),
    ]


def _row(what: str, tokens: int, per_million_usd: Decimal | None) -> Row:
    usd = None if per_million_usd is None else per_million_usd * tokens / MILLION
    return Row(what, tokens, per_million_usd, usd)


def _usd(price: Mapping[str, Any], name: str) -> Decimal | None:
    if price.get("free"):
        return Decimal(0)
    value = price.get(name)
    return None if value is None else Decimal(value)
