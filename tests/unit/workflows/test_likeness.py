import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.workflows.likeness import is_same_answer, likeness


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I did it twice.\n\nAnswer: 1,000", "Answer: 1000.0"),
        ("So the answer is **South**.", "Checked line by line.\n\nAnswer: south"),
        ("(B) 84", "b)"),
    ],
)
def test_two_replies_that_state_the_same_are_the_same_answer_whatever_surrounds_it(first: str, second: str) -> None:
    assert is_same_answer(first, second)
    assert likeness(first, second) < 1


def test_another_answer_in_the_same_words_is_another_answer() -> None:
    first, second = "I computed it step by step.\n\nAnswer: 53", "I computed it step by step.\n\nAnswer: 54"

    assert not is_same_answer(first, second)
    assert 0.8 < likeness(first, second) < 1


def test_case_and_white_space_do_not_count() -> None:
    assert likeness("South  grew\n\n most", "south grew\nMOST ") == 1


def test_texts_with_no_word_in_common_are_not_alike_at_all() -> None:
    assert likeness("apples pears", "seven eight") == 0
    assert likeness("", "something") == 0


def test_two_empty_texts_are_the_same() -> None:
    assert likeness("", " \n") == 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_it_is_a_share_and_the_same_text_is_wholly_alike(first: str, second: str) -> None:
    assert 0 <= likeness(first, second) <= 1
    assert likeness(first, first) == 1
