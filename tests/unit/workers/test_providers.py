"""Which models of a provider are current, and what the catalogue finds for a few words."""

import re
from datetime import date

import pytest

from apps.workers import catalogue
from apps.workers.calls import Price
from apps.workers.catalogue import Entry
from apps.workers.providers import MOST_OFFERED, PROVIDERS, Provider, current_models, latest, provider_of, version_of

TODAY = date(2026, 3, 2)


@pytest.mark.parametrize("provider", [each for each in PROVIDERS if each.families], ids=lambda each: each.slug)
def test_every_provider_has_one_to_three_models_with_a_price(provider: Provider) -> None:
    models = current_models(provider, today=TODAY)

    assert 1 <= len(models) <= MOST_OFFERED
    for entry in models:
        assert entry.provider == provider.slug
        assert entry.mode == "chat"
        assert entry.price.input_usd is not None
        assert entry.price.output_usd is not None
        assert not entry.is_retired(today=TODAY)
        assert "preview" not in entry.model


def test_of_a_family_the_highest_version_is_meant_and_not_the_last_in_the_alphabet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = {name: Entry(name, "lab", Price(), None, None) for name in ("m-9", "m-10", "m-9.5", "m-10-mini")}
    listed["m-11"] = Entry("m-11", "lab", Price(), None, None, retires_on=date(2026, 1, 1))
    listed["m-12"] = Entry("m-12", "lab", Price(), None, None, mode="responses")
    monkeypatch.setattr(catalogue, "entries", lambda: listed)

    found = latest(r"m-(\d+(?:[.-]\d)?)", Provider("lab", "Lab", ()), today=TODAY)

    assert found is not None
    assert found.model == "m-10"


@pytest.mark.parametrize(("text", "version"), [("5", (5,)), ("5.4", (5, 4)), ("5-4", (5, 4))])
def test_a_version_is_read_as_numbers(text: str, version: tuple[int, ...]) -> None:
    match = re.fullmatch(r"(.*)", text)

    assert match is not None
    assert version_of(match) == version


def test_no_two_providers_look_for_the_same_variable() -> None:
    variables = [name for provider in PROVIDERS for name in provider.variables]

    assert len(set(variables)) == len(variables)
    assert provider_of("openai") is PROVIDERS[0]


def test_a_search_takes_every_word_and_puts_the_very_name_first() -> None:
    found = catalogue.search("gpt-4o", today=TODAY)

    assert found[0].model == "gpt-4o"
    assert all("gpt-4o" in f"{entry.provider} {entry.model}".lower() for entry in found)
    assert all(entry.provider == "openai" for entry in catalogue.search("gpt", provider="openai", today=TODAY))
    assert catalogue.search("GPT-4O openai", today=TODAY)[0].provider == "openai"
    assert catalogue.search("no-such-model-anywhere", today=TODAY) == []
    assert len(catalogue.search("", today=TODAY)) == catalogue.MOST_FOUND


def test_a_search_finds_nothing_that_is_retired_or_out_of_reach() -> None:
    everything = catalogue.search("", today=date(2026, 11, 1), most=100_000)

    assert not [entry for entry in everything if entry.is_retired(today=date(2026, 11, 1))]
    assert not {entry.provider for entry in everything} & catalogue.OUT_OF_REACH
    assert not set(catalogue.providers()) & catalogue.OUT_OF_REACH


def test_features_are_in_plain_words() -> None:
    entry = catalogue.entry_of("gpt-4o")

    assert entry is not None
    assert {"tools", "images", "JSON schema"} <= set(entry.features)
