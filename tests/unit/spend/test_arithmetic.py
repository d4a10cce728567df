"""Each figure shows its arithmetic, and the rows sum to it exactly."""

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apps.spend.arithmetic import SMALLEST, Row, arithmetic
from apps.workers.calls import Price, Usage

PRICE = {"input_usd": "3", "cached_usd": "0.3", "output_usd": "15", "free": False, "version": 1}
amounts = st.decimals(0, 1000, places=6)


@dataclass
class Line:
    cost_usd: Decimal | None
    input_tokens: int = 1000
    cached_tokens: int = 600
    output_tokens: int = 100
    reasoning_tokens: int = 40
    price: Any = field(default_factory=lambda: PRICE)


def test_every_kind_of_token_has_a_row_with_its_price() -> None:
    assert arithmetic(Line(Decimal("0.00288"))) == [
        Row("input", 400, Decimal(3), Decimal("0.0012")),
        Row("cached input", 600, Decimal("0.3"), Decimal("0.00018")),
        Row("output", 60, Decimal(15), Decimal("0.0009")),
        Row("reasoning", 40, Decimal(15), Decimal("0.0006")),
    ]


def test_what_was_rounded_stands_in_a_row_of_its_own() -> None:
    line = Line(Decimal("0.00000001"), 1, 0, 0, 0, price=PRICE | {"input_usd": "0.012345"})

    assert arithmetic(line) == [
        Row("input", 1, Decimal("0.012345"), Decimal("0.000000012345")),
        Row("rounding", None, None, Decimal("-0.000000002345")),
    ]


def test_what_was_booked_by_other_prices_says_so() -> None:
    rows = arithmetic(Line(Decimal("0.0100"), 0, 0, 100, 0))

    assert rows[-1] == Row("booked otherwise", None, None, Decimal("0.0085"))


def test_an_unknown_price_is_seen_where_it_is_missing() -> None:
    assert arithmetic(Line(None, 10, 0, 10, 0, price=PRICE | {"output_usd": None})) == [
        Row("input", 10, Decimal(3), Decimal("0.00003")),
        Row("output", 10, None, None),
    ]


def test_what_is_free_costs_nothing_whatever_the_prices_say() -> None:
    rows = arithmetic(Line(Decimal(0), price=PRICE | {"free": True}))

    assert [row.usd for row in rows] == [Decimal(0)] * 4


@given(
    usd=st.tuples(amounts, st.none() | amounts, amounts),
    sent=st.integers(0, 10_000_000),
    cached=st.integers(0, 10_000_000),
    written=st.integers(0, 10_000_000),
    thought=st.integers(0, 10_000_000),
)
def test_the_rows_of_any_call_sum_to_its_cost(
    usd: tuple[Decimal, Decimal | None, Decimal], sent: int, cached: int, written: int, thought: int
) -> None:
    cost = Price(*usd).cost_usd(Usage(sent, cached, written, thought))
    assert cost is not None
    names = ("input_usd", "cached_usd", "output_usd")
    price = {name: None if value is None else str(value) for name, value in zip(names, usd, strict=True)}
    line = Line(cost.quantize(SMALLEST, ROUND_HALF_UP), sent, cached, written, thought, price)

    rows = arithmetic(line)

    assert sum((row.usd or Decimal(0) for row in rows), Decimal(0)) == line.cost_usd
    assert all(row.what != "booked otherwise" for row in rows)
    assert sum(row.tokens or 0 for row in rows) == sent + written
