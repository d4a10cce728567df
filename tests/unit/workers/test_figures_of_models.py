"""How the figures of a model are written."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.workers.templatetags.figures_of_models import ago, dollars, tokens


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (None, "–"),
        (128_000, "128k"),
        (1_000_000, "1M"),
        (1_048_576, "1.05M"),
        (999_999, "1M"),
        (16_384, "16k"),
        (8_191, "8,191"),
    ],
)
def test_windows_are_short_where_that_loses_nothing(number: int | None, written: str) -> None:
    assert tokens(number) == written


@pytest.mark.parametrize(
    ("price", "written"),
    [("5.000000", "$5"), ("0.300000", "$0.30"), ("0.075", "$0.075"), ("1.25", "$1.25"), ("0", "$0"), (None, "unknown")],
)
def test_prices_are_written_as_people_write_them(price: str | None, written: str) -> None:
    assert dollars(None if price is None else Decimal(price)) == written


def test_what_was_just_now_is_not_zero_minutes_ago() -> None:
    assert ago(timezone.now()) == "just now"
    assert ago(timezone.now() - timedelta(minutes=5, seconds=3)).replace("\xa0", " ") == "5 minutes ago"
