from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.web.comparing.differing import AROUND, FURTHER_ON, GLIMPSE, NO_TEXT, SHOWN, Differing, Text, alone, differing
from apps.workflows.wording import Effort

TEXTS = st.lists(st.sampled_from(["South ", "grew ", "most.\n", "x" * 300 + " ", "by 53 % "]), max_size=12).map("".join)


def text(said: str, *, read: int | None = None) -> Text:
    return Text(said[:read], len(said), sha256(said.encode()).hexdigest())


def told(found: Differing) -> list[tuple[str, str]]:
    return [(piece.op, piece.text or f"{piece.chars}") for piece in found.pieces]


def test_what_is_far_from_any_change_is_left_out_and_counted() -> None:
    long = "word " * 400

    found = differing(text(f"{long}old {long}"), text(f"{long}new {long}"), effort=Effort())

    assert [op for op, _ in told(found)] == ["skipped", "same", "gone", "new", "same", "skipped"]
    kept = [said for op, said in told(found) if op == "same"]
    assert [len(said) for said in kept] == [AROUND, AROUND]
    assert sum(piece.chars + len(piece.text) for piece in found.pieces if piece.op != "new") == len(long) * 2 + 4
    assert found.is_cut
    assert found.ends_with_gap


@given(TEXTS, TEXTS)
def test_nothing_but_what_both_have_is_ever_left_out(a: str, b: str) -> None:
    found = differing(text(a), text(b), effort=Effort())

    if a != b and not any(len(piece.text) == SHOWN for piece in found.pieces):
        length = sum(len(piece.text) + piece.chars for piece in found.pieces if piece.op != "new")
        assert length == len(a)
        assert sum(len(piece.text) + piece.chars for piece in found.pieces if piece.op != "gone") == len(b)


@given(TEXTS, TEXTS)
def test_the_whole_is_all_of_both(a: str, b: str) -> None:
    found = differing(text(a), text(b), effort=Effort(), whole=True)

    assert "".join(piece.text for piece in found.pieces if piece.op != "new") == a
    assert "".join(piece.text for piece in found.pieces if piece.op != "gone") == b
    assert not found.is_cut
    assert found.is_same == (a == b)


def test_a_change_of_more_than_is_shown_is_cut_and_says_so() -> None:
    found = differing(text("a " * SHOWN), text("b " * SHOWN), effort=Effort())

    assert sum(len(piece.text) for piece in found.pieces) == SHOWN
    assert found.is_cut


def test_texts_are_the_same_by_their_marks_though_only_their_beginnings_were_read() -> None:
    one, other = "word " * 10_000, "word " * 9_999 + "other"

    assert differing(text(one, read=100), text(one, read=100), effort=Effort()).is_same
    found = differing(text(one, read=100), text(other, read=100), effort=Effort())
    assert not found.is_same
    assert found.is_cut
    assert found.note == FURTHER_ON


@pytest.mark.parametrize(
    "found", [alone(text("x" * 5_000)), differing(text("x" * 5_000), text("x" * 5_000), effort=Effort())]
)
def test_of_a_text_without_a_difference_the_beginning_is_shown(found: Differing) -> None:
    assert told(found) == [("same", "x" * GLIMPSE)]
    assert found.is_cut
    assert not found.is_empty


def test_two_texts_that_are_not_there_are_empty() -> None:
    assert differing(NO_TEXT, NO_TEXT, effort=Effort()).is_empty
    assert alone(NO_TEXT).pieces == []


def test_white_space_that_changed_is_something_to_be_seen() -> None:
    found = differing(text("a\n\nb"), text("a\nb"), effort=Effort())

    assert any(piece.is_blank for piece in found.pieces)
    assert not any(piece.is_blank for piece in differing(text("a b"), text("a c"), effort=Effort()).pieces)


def test_how_coarsely_they_were_compared_is_said() -> None:
    assert differing(text("a b"), text("a c"), effort=Effort()).note == ""
    assert differing(text("a b"), text("a c"), effort=Effort(0)).note.startswith("Too long")
