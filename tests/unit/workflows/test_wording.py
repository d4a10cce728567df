import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.workflows.wording import ENOUGH, Effort, compare, words

FEW_WORDS = st.lists(st.sampled_from(["a", "b", "the", " ", "\n", "\n\n", "—", "53.1", "日本", "é"]), max_size=60)


def written(first: str, second: str) -> str:
    """The difference on one line: `[gone]`, `{new}`."""
    marks = {"same": "{}", "gone": "[{}]", "new": "{{{}}}"}
    return "".join(marks[op].format(text) for op, text in compare(first, second).pieces)


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ("", "", ""),
        ("South", "South", "South"),
        ("", "South", "{South}"),
        ("South", "", "[South]"),
        ("South grew most.", "South grew least.", "South grew [most]{least}."),
        ("by 1,204.50 dollars", "by 1,304.50 dollars", "by [1,204.50]{1,304.50} dollars"),
        ("one\ntwo\nthree\n", "one\nthree\n", "one\n[two\n]three\n"),
        ("one\ntwo words\nthree", "one\ntwo birds\nthree", "one\ntwo [words]{birds}\nthree"),
        ("日本語の文", "日本の文", "日本[語]の文"),
    ],
)
def test_words_are_compared_and_stay_whole(first: str, second: str, difference: str) -> None:
    assert written(first, second) == difference


def test_a_word_in_common_amid_what_was_rewritten_is_no_sameness() -> None:
    assert written("South grew the most of all", "Nowhere in the data") == (
        "[South grew the most of all]{Nowhere in the data}"
    )


def test_the_words_of_a_text_joined_are_the_text() -> None:
    text = "x_1 = 3.5\t# «é»\r\n\u2028日本 \ud800"

    assert "".join(words(text)) == text


@given(st.text(), st.text())
def test_any_difference_gives_both_texts_back(first: str, second: str) -> None:
    difference = compare(first, second)

    assert (difference.first, difference.second) == (first, second)


@given(FEW_WORDS.map("".join), FEW_WORDS.map("".join), st.integers(0, 400))
def test_also_where_the_effort_reaches_only_for_a_part_of_it(first: str, second: str, left: int) -> None:
    effort = Effort(left)

    difference = compare(first, second, effort=effort)

    assert (difference.first, difference.second) == (first, second)
    assert effort.left >= 0
    assert difference.is_none == (first == second)


@given(FEW_WORDS.map("".join), FEW_WORDS.map("".join))
def test_no_piece_is_empty_and_none_could_be_joined_with_the_one_before(first: str, second: str) -> None:
    pieces = compare(first, second).pieces

    assert all(text for _, text in pieces)
    ops = [op for op, _ in pieces]
    assert all(one != other for one, other in pairwise(ops))
    assert ("new", "gone") not in pairwise(ops)


@given(st.text(min_size=1))
def test_a_text_differs_in_nothing_from_itself(text: str) -> None:
    assert compare(text, text).pieces == (("same", text),)


# --- long texts ----------------------------------------------------------------------------------------------------


def numbers(count: int, of: int, seed: int, between: str = " ") -> str:
    draw = random.Random(seed)
    return between.join(str(draw.randrange(of)) for _ in range(count))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (numbers(60_000, 3_000, seed=1), numbers(60_000, 3_000, seed=2)),
        (numbers(100_000, 2, seed=1), numbers(100_000, 2, seed=2)),
        (numbers(100_000, 2, seed=1, between="\n"), numbers(100_000, 2, seed=2, between="\n")),
        ("0 1 " * 500, numbers(1_000, 2, seed=1)),
        ("{" * 200_000, "}" * 100_000 + "{" * 100_000),
        ("a" * 200_000, "a" * 199_000 + "b"),
    ],
    ids=["words", "digits", "lines of a digit", "few words", "signs", "one word"],
)
def test_texts_of_200_kb_take_no_more_than_the_effort(first: str, second: str) -> None:
    began = time.process_time()

    difference = compare(first, second)

    assert time.process_time() - began < 4, "a tenth of that is usual"
    assert (difference.first, difference.second) == (first, second)


def test_a_few_edits_in_a_long_text_are_found_word_by_word() -> None:
    lines = numbers(20_000, 10_000, seed=3, between=" ").split(" ")
    text = "\n".join(" ".join(lines[at : at + 10]) for at in range(0, len(lines), 10))
    edited = text.replace(lines[5_003], "edited", 1)

    difference = compare(text, edited)

    assert difference.grain == "words"
    assert [piece for piece in difference.pieces if piece[0] != "same"] == [("gone", lines[5_003]), ("new", "edited")]


def test_what_is_too_long_for_words_is_compared_by_lines_and_says_so() -> None:
    first, second = numbers(2_000, 2, seed=1), numbers(2_000, 2, seed=2)

    difference = compare(f"before\n{first}\nafter", f"before\n{second}\nafter", effort=Effort(10_000))

    assert difference.grain == "lines"
    assert difference.pieces == (
        ("same", "before\n"),
        ("gone", f"{first}\n"),
        ("new", f"{second}\n"),
        ("same", "after"),
    )


def test_what_is_too_long_even_for_lines_is_not_compared_and_says_so() -> None:
    first, second = numbers(2_000, 2, seed=1, between="\n"), numbers(2_000, 2, seed=2, between="\n")

    assert compare(f"x\n{first}", f"y\n{second}", effort=Effort(100)).grain == "whole"


def test_one_effort_is_shared_by_several_texts() -> None:
    effort = Effort(ENOUGH)

    compare("South grew most", "South grew least", effort=effort)
    once = ENOUGH - effort.left
    compare("South grew most", "South grew least", effort=effort)

    assert once > 0
    assert ENOUGH - effort.left == 2 * once
