"""The most that a call can cost is reckoned with what is known before it."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.spend.worst_case import LONGEST_REPLY_TOKENS, most_output_tokens, worst_case_usd
from apps.workers.calls import Price, Usage

DEAR = Price(input_usd=Decimal(3), cached_usd=Decimal("0.3"), output_usd=Decimal(15))
prices = st.decimals(0, 1000, places=6)
tokens = st.integers(0, 1_000_000)


def test_all_input_is_new_and_the_reply_as_long_as_can_be() -> None:
    assert worst_case_usd(DEAR, 1000, 4000) == Decimal("0.063")  # 1000 × 3 + 4000 × 15, in millionths


def test_a_cache_that_is_dearer_than_its_absence_is_reckoned_with() -> None:
    price = Price(input_usd=Decimal(3), cached_usd=Decimal(4), output_usd=Decimal(0))

    assert worst_case_usd(price, 1000, 10) == Decimal("0.004")


@pytest.mark.parametrize("price", [Price(), Price(input_usd=Decimal(3)), Price(output_usd=Decimal(15))])
def test_an_unknown_price_has_no_worst_case(price: Price) -> None:
    assert worst_case_usd(price, 10, 10) is None


def test_what_is_free_costs_nothing_at_worst() -> None:
    assert worst_case_usd(Price(free=True), 1000, 1000) == Decimal(0)


@given(
    input_usd=prices,
    cached_usd=st.none() | prices,
    output_usd=prices,
    at_most=st.tuples(tokens, tokens),
    data=st.data(),
)
def test_no_call_within_its_tokens_costs_more(
    input_usd: Decimal, cached_usd: Decimal | None, output_usd: Decimal, at_most: tuple[int, int], data: st.DataObject
) -> None:
    price = Price(input_usd=input_usd, cached_usd=cached_usd, output_usd=output_usd)
    sent = data.draw(st.integers(0, at_most[0]))
    usage = Usage(sent, data.draw(st.integers(0, sent)), data.draw(st.integers(0, at_most[1])))
    cost, worst = price.cost_usd(usage), worst_case_usd(price, *at_most)

    assert cost is not None
    assert worst is not None
    assert cost <= worst


@pytest.mark.parametrize(
    ("longest", "params", "expected"),
    [
        (8192, {}, 8192),
        (8192, {"max_tokens": 500}, 500),
        (8192, {"max_completion_tokens": 600, "temperature": 0}, 600),
        (8192, {"max_tokens": 100_000}, 8192),
        (None, {"max_tokens": 500}, 500),
        (None, {}, LONGEST_REPLY_TOKENS),
        (1000, {"n": 3}, 3000),
        (1000, {"max_tokens": None, "n": True}, 1000),
        (1000, {"max_tokens": "500", "n": 0}, 1000),
    ],
)
def test_a_reply_is_as_long_as_its_model_and_parameters_let_it(
    longest: int | None, params: dict[str, Any], expected: int
) -> None:
    assert most_output_tokens(longest, params) == expected
