"""Prices and windows out of litellm's catalogue, without litellm."""

import subprocess
import sys
from decimal import Decimal

import pytest

from apps.workers import catalogue
from apps.workers.calls import Price


def test_a_listed_model_has_a_price_for_a_million_tokens_and_a_window() -> None:
    entry = catalogue.entry_of("gpt-4o-mini")

    assert entry is not None
    assert entry.price == Price(input_usd=Decimal("0.15"), cached_usd=Decimal("0.075"), output_usd=Decimal("0.6"))
    assert (entry.provider, entry.window, entry.longest_reply) == ("openai", 128_000, 16_384)


def test_a_model_is_found_under_its_provider_too() -> None:
    assert catalogue.entry_of("openai/gpt-4o-mini") == catalogue.entry_of("gpt-4o-mini")


def test_a_model_is_not_given_the_price_of_another_provider() -> None:
    assert catalogue.price_of("somebody/gpt-4o-mini") == Price()


def test_an_unlisted_model_has_no_known_price_and_is_not_free() -> None:
    assert catalogue.price_of("sim-atlas") == Price()
    assert catalogue.window_of("sim-atlas") is None


def test_a_listed_price_of_nothing_means_that_nobody_knows() -> None:
    for entry in catalogue.entries().values():
        for price in (entry.price.input_usd, entry.price.cached_usd, entry.price.output_usd):
            assert price is None or price > 0


def test_what_runs_at_home_is_free() -> None:
    assert catalogue.price_of("ollama/llama3").free


@pytest.mark.parametrize("price", ["0.15", "30", "0.0035", "1200"])
def test_prices_are_written_as_people_write_them(price: str) -> None:
    assert str(catalogue.per_million(Decimal(price) / 1_000_000)) == price


def test_looking_something_up_does_not_import_litellm() -> None:
    code = (
        "import sys; from apps.workers import catalogue; catalogue.entry_of('gpt-4o'); print('litellm' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
