"""How numbers and titles are written."""

from decimal import Decimal

import pytest

from apps.web.words import figures


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "$0"),
        ("0.00000001", "$0.000000010"),
        ("0.0000123", "$0.000012"),
        ("0.0042", "$0.0042"),
        ("0.031", "$0.031"),
        ("0.1234", "$0.123"),
        ("1.239", "$1.24"),
        ("1234.5", "$1,234.50"),
    ],
)
def test_no_sum_reads_as_nothing(value: str, text: str) -> None:
    assert figures.usd(Decimal(value)) == text


def test_unknown_prices_and_estimates_say_so() -> None:
    assert figures.price(None) == "price unknown"
    assert figures.price(Decimal("0.031"), estimated=True) == "≈ $0.031"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0.00 s"),
        (610, "0.61 s"),
        (14_290, "14.2 s"),
        (1_199.96, "1.2 s"),
        (59_990, "59.9 s"),
        (125_000, "2 min 05 s"),
    ],
)
def test_times_are_written_as_the_canvas_writes_them(ms: float, text: str) -> None:
    assert figures.seconds(ms) == text


@pytest.mark.parametrize(
    ("instruction", "title"),
    [
        ("Compute the growth per region.", "Compute the growth per region"),
        ("Please now compute the growth. Then stop.", "Compute the growth"),
        ("Your task is to reconcile the two tables", "Reconcile the two tables"),
        ("You are an expert in finance. Judge the noise.", "Judge the noise"),
        ("Subtask 2: check it", "Check it"),
        ("## **Bold** heading", "Bold** heading"),
        ("Reconcile the two tables; name every figure in which they differ", "Reconcile the two tables"),
        ("Compute " + "very " * 30 + "long things", "Compute very very very very very very very very…"),
        ("x" * 100, "X" * 1 + "x" * 47 + "…"),
        (" \n ", "Untitled"),
        ("", "Untitled"),
        ("...", "Untitled"),
    ],
)
def test_a_title_is_the_first_clause_without_its_courtesies(instruction: str, title: str) -> None:
    assert figures.short_title(instruction) == title


@pytest.mark.parametrize(("items", "text"), [([], ""), ([1], "1"), ([1, 3], "1 and 3"), ([1, 3, 4], "1, 3 and 4")])
def test_lists_are_written_out(items: list[int], text: str) -> None:
    assert figures.listed(items) == text
