"""Tasks with placeholders: what is filled in is data, and never looked at again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.workflows.placeholders import (
    MOST_NAMES,
    Placeholder,
    PlaceholderEmpty,
    PlaceholderInvalid,
    fill,
    names_in,
    parts_of,
    written_out,
)

anything = st.text(st.characters(codec="utf-8"), max_size=200)
names = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_ -]{0,20}[a-z]", fullmatch=True)


def test_placeholders_are_found_in_their_order_each_once() -> None:
    parts = parts_of("Which {what} grew in {year}, and which {what} shrank?")

    assert parts[:2] == ["Which ", Placeholder("what")]
    assert names_in(parts) == ("what", "year")


def test_what_is_filled_in_stands_wherever_its_name_did() -> None:
    assert fill("{a} and {b}, then {a}", {"a": "South", "b": "North"}) == "South and North, then South"


def test_a_doubled_brace_is_a_brace() -> None:
    assert fill('{{"x": {value}}} and }}{{', {"value": "1"}) == '{"x": 1} and }{'


def test_a_value_with_braces_is_not_filled_again() -> None:
    assert fill("{a}", {"a": "{b} {{c}} {0.__class__} %(a)s $a", "b": "never"}) == "{b} {{c}} {0.__class__} %(a)s $a"


@pytest.mark.parametrize("text", ["{", "}", "a { b", "{}", "{0.__class__}", "{a!r}", "{a:>9}", "{a[0]}", "{ }", "{{{"])
def test_a_brace_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(PlaceholderInvalid) as refusal:
        parts_of(f"one\ntwo\n{text}")

    assert "Line 3" in refusal.value.message
    assert refusal.value.field == "task"


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_a_placeholder_without_a_value_is_named(value: str | None) -> None:
    with pytest.raises(PlaceholderEmpty, match="Fill in year"):
        fill("in {year}", {} if value is None else {"year": value})


def test_names_may_have_letters_of_any_language_spaces_and_dashes() -> None:
    assert names_in(parts_of("{größe} {Q1 table} {a-b} {2nd}")) == ("größe", "Q1 table", "a-b", "2nd")


def test_there_are_not_more_placeholders_than_a_form_can_have() -> None:
    with pytest.raises(PlaceholderInvalid, match="at most"):
        parts_of(" ".join(f"{{n{number}}}" for number in range(MOST_NAMES + 1)))


@given(anything)
def test_a_text_that_is_written_out_has_no_placeholders_and_is_filled_to_itself(text: str) -> None:
    assert names_in(parts_of(written_out(text))) == ()
    assert fill(written_out(text), {}) == text


@given(st.lists(st.tuples(anything, names), max_size=6), anything, st.data())
def test_every_value_stands_in_the_task_to_the_letter(
    pieces: list[tuple[str, str]], end: str, data: st.DataObject
) -> None:
    values = {name: data.draw(anything.filter(str.strip), label=name) for _, name in pieces}
    template = "".join(f"{written_out(text)}{{{name}}}" for text, name in pieces) + written_out(end)

    assert fill(template, values) == "".join(text + values[name] for text, name in pieces) + end


@given(anything)
def test_whatever_somebody_writes_is_read_or_refused_with_its_line(text: str) -> None:
    try:
        parts = parts_of(text)
    except PlaceholderInvalid:
        return
    rebuilt = "".join(written_out(part) if isinstance(part, str) else f"{{{part.name}}}" for part in parts)
    assert parts_of(rebuilt) == parts
