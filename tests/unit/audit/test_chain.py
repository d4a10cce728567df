"""The chain, without a database: what a line says and what a changed one is caught by."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.audit.chain import (
    GENESIS,
    Break,
    Sealed,
    canonical,
    digest,
    first_break,
    is_sayable,
    new_salt,
    parsed,
    seal,
    texts_in,
    unplaced,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_line(seq: int = 1, **changes: Any) -> str:
    said: dict[str, Any] = {
        "trail": "run:k3f9",
        "at": NOON,
        "verb": "run.submitted",
        "actor": {"kind": "person", "id": "1", "label": "Ada"},
        "subject": "run:k3f9",
        "project": "default",
        "data": {},
        "texts": {},
    }
    return unplaced(**{**said, **changes}).at(seq)


def a_chain(length: int) -> list[Sealed]:
    events: list[Sealed] = []
    for seq in range(1, length + 1):
        text = a_line(seq)
        events.append(Sealed(seq, text, seal(events[-1].hash if events else GENESIS, text)))
    return events


def break_of(events: list[Sealed], *, like: list[Sealed]) -> Break | None:
    return first_break(events, head_seq=like[-1].seq, head_hash=like[-1].hash)


def test_a_line_is_the_same_whatever_the_order_it_was_given_in() -> None:
    assert a_line(data={"b": 1, "a": [2, None]}) == a_line(data={"a": (2, None), "b": 1})


def test_a_line_names_its_trail_and_place_and_says_its_time_in_utc() -> None:
    at = datetime(2026, 3, 1, 14, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))

    assert a_line(at=at) == (
        '{"actor":{"id":"1","kind":"person","label":"Ada"},"at":"2026-03-01T12:00:00.000005+00:00","data":{},'
        '"project":"default","seq":1,"subject":"run:k3f9","texts":{},"trail":"run:k3f9","verb":"run.submitted"}'
    )


def test_money_keeps_every_digit_and_numbers_stay_as_they_were_written() -> None:
    assert canonical([Decimal("0.0000001200"), Decimal("1E+3"), 1e22, -0.0]) == '["0.0000001200","1000",1e+22,-0.0]'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_say_is_refused(value: float) -> None:
    with pytest.raises(ValueError):
        canonical({"x": value})


def test_an_object_that_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot hold a datetime"):
        a_line(data={"when": NOON})


def test_a_character_that_utf_8_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        a_line(data={"x": "\ud800"})


@pytest.mark.parametrize("changes", [{"data": {"x": ["a\0"]}}, {"data": {"\0": 1}}, {"verb": "\0"}, {"trail": "\\\0"}])
def test_a_nul_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="NUL"):
        a_line(**changes)


@pytest.mark.parametrize("text", [r"\u0000", r"\\u0000", "u0000", "\\"])
def test_what_is_written_of_a_nul_is_none(text: str) -> None:
    assert parsed(a_line(data={"x": text}))["data"]["x"] == text


def test_a_place_that_is_no_number_is_refused() -> None:
    given: Any = '1,"data":{"heads":[]}'  # what a database could return as the place

    with pytest.raises(ValueError):
        a_line(given)


def test_a_time_without_its_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        a_line(at=datetime(2026, 3, 1, 12))


def test_an_untouched_chain_holds_and_so_does_an_empty_one() -> None:
    chain = a_chain(5)

    assert break_of(chain, like=chain) is None
    assert first_break([], head_seq=0, head_hash=GENESIS) is None


@given(place=st.integers(0, 4), data=st.data())
def test_any_changed_character_is_found_where_it_was_changed(place: int, data: st.DataObject) -> None:
    chain = a_chain(5)
    event = chain[place]
    at = data.draw(st.integers(0, len(event.line) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda sign: sign != event.line[at]))
    chain[place] = Sealed(event.seq, event.line[:at] + other + event.line[at + 1 :], event.hash)

    found = break_of(chain, like=a_chain(5))

    assert found is not None
    assert found.seq == place + 1


@given(gone=st.sets(st.integers(0, 4), min_size=1))
def test_any_missing_events_are_found_at_the_first_of_them(gone: set[int]) -> None:
    chain = a_chain(5)
    left = [event for place, event in enumerate(chain) if place not in gone]

    found = break_of(left, like=chain)

    assert found is not None
    assert found.seq == min(gone) + 1


def test_two_events_that_changed_places_are_found() -> None:
    chain = a_chain(3)
    first, second, third = chain

    found = break_of([Sealed(1, second.line, second.hash), Sealed(2, first.line, first.hash), third], like=chain)

    assert found == Break(1, "event 1 is not what was sealed: its text or its hash was changed")


def test_an_event_behind_the_end_is_found() -> None:
    found = break_of(a_chain(4), like=a_chain(3))

    assert found == Break(4, "event 4 comes after the end, which is event 3")


def test_a_chain_computed_again_does_not_end_in_the_kept_head() -> None:
    again = [Sealed(1, a_line(verb="run.other"), seal(GENESIS, a_line(verb="run.other")))]

    assert break_of(again, like=a_chain(1)) == Break(1, "event 1 is not the one the trail's head was sealed with")


def test_equal_texts_have_different_digests() -> None:
    assert digest(new_salt(), "yes") != digest(new_salt(), "yes")


@pytest.mark.parametrize("line", ["no JSON", "[" * 1_000 * 1_000, '{"a":' * 1_500 + "1" + "}" * 1_500])
def test_a_line_that_cannot_be_read_is_said_to_be_none(line: str) -> None:
    with pytest.raises(ValueError):
        parsed(line)


def test_whatever_stands_where_a_digest_should_stops_nobody() -> None:
    nested: list[Any] = []
    for _ in range(5_000):
        nested = [nested]
    texts = {
        "task": "a1" * 32,
        "nul": "\0",
        "half": "\ud800",
        "number": 3,
        "nested": nested,
        "\ud800\0": "b2",
        "ä b": "c3",
    }

    assert texts_in({"texts": texts}) == {
        "task": "a1" * 32,
        "nul": "",
        "half": "",
        "number": "",
        "nested": "",
        r"'\ud800\x00'": "b2",
        "ä b": "c3",
    }
    assert texts_in([]) == texts_in({}) == texts_in({"texts": []}) == {}


def test_what_postgresql_cannot_keep_is_not_sayable() -> None:
    assert [is_sayable(text) for text in ("", "ä\n\u2028😀", "\0", "a\udfff")] == [True, True, False, False]
