"""Tokens, lengths and limits of a reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.simulator.reply import LONGEST_DELTA, Reply, cut_to, of_length, tokens


@given(st.text())
def test_tokens_joined_are_the_text(text):
    assert "".join(tokens(text)) == text


@given(st.text(min_size=2))
def test_a_hurried_reply_still_has_its_text_and_more_than_one_delta(text):
    reply = Reply(text)

    assert "".join(reply.bulk) == text
    assert len(reply.bulk) >= min(2, len(reply.pieces))


def test_no_delta_is_huge():
    assert max(map(len, Reply("x" * 1_000_000).bulk)) <= LONGEST_DELTA


@pytest.mark.parametrize("wished", [0, 1, 3, 5, 40, 500])
def test_a_reply_has_the_length_that_was_asked_for(wished):
    reply = of_length(Reply("Some working, step by step.", "\n\nAnswer: 42"), wished)

    assert len(reply.pieces) == wished
    assert "".join(reply.pieces) == reply.text


def test_a_longer_and_a_shorter_reply_keep_their_answer():
    reply = Reply("Some working, step by step.", "\n\nAnswer: 42")

    assert of_length(reply, 300).text.endswith("\n\nAnswer: 42")
    assert of_length(reply, 7).text.endswith("\n\nAnswer: 42")


def test_a_limit_cuts_and_says_so():
    cut = cut_to(Reply("one two three four"), 2)

    assert (cut.text, cut.finish_reason) == ("one two", "length")
    assert cut_to(Reply("one"), 2).finish_reason == "stop"
