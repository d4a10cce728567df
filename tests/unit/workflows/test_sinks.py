"""Taking the answer: the last step's, the majority's, the most central one's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.workflows.sinks import Answer, smoothie_weights, take_answer
from apps.workflows.workflow import Select, Vote, Workflow
from tests.unit.workflows.making import workflow


def voting(*keys: str) -> Workflow:
    return workflow(**dict.fromkeys(keys, "")).model_copy(update={"sink": Vote(over=keys)})


def selecting(*keys: str, weights: tuple[float, ...] | None = None) -> Workflow:
    return workflow(**dict.fromkeys(keys, "")).model_copy(update={"sink": Select(over=keys, weights=weights)})


def test_the_last_steps_result_is_the_answer() -> None:
    assert take_answer(workflow(a="", b="a"), {"a": "A", "b": "B"}) == Answer("B", "b", "last")


def test_an_empty_last_result_leaves_the_answer_to_the_one_before_and_the_rule_says_so() -> None:
    assert take_answer(workflow(a="", b="a"), {"a": "A", "b": " \n"}) == Answer("A", "a", "last-non-empty")


def test_there_is_no_answer_where_every_result_is_empty() -> None:
    assert take_answer(workflow(a=""), {"a": ""}) is None
    assert take_answer(voting("a", "b"), {"a": " ", "b": ""}) is None
    assert take_answer(selecting("a", "b"), {}, vectors={}) is None


def test_the_majority_wins_whatever_the_words_around_its_answer() -> None:
    said = {"a": "So it is.\n\nAnswer: 1,000", "b": "Answer: 7", "c": "I get **1000.0**"}

    answer = take_answer(voting("a", "b", "c"), said)

    assert answer is not None
    assert (answer.step, answer.rule, answer.text) == ("a", "vote", said["a"])
    assert answer.detail == {"counts": {"1000": ["a", "c"], "7": ["b"]}, "tie": False}


def test_a_tie_goes_to_the_answer_that_was_said_first_and_is_said() -> None:
    answer = take_answer(voting("a", "b"), {"a": "Answer: 1", "b": "Answer: 2"})

    assert answer is not None
    assert (answer.step, answer.rule, answer.detail["tie"]) == ("a", "vote-tie", True)


def test_who_says_nothing_has_no_vote() -> None:
    answer = take_answer(voting("a", "b", "c"), {"a": "", "b": "", "c": "Answer: 5"})

    assert answer is not None
    assert (answer.step, answer.detail["counts"]) == ("c", {"5": ["c"]})


def test_smoothies_weights_are_those_of_the_worked_example() -> None:
    # Distances squared: a-b 1, a-c 16, b-c 9. err_a = ½(1 + 16 − 9) = 4, err_b = ½(1 + 9 − 16) = −3 (so the smallest),
    # err_c = ½(16 + 9 − 1) = 12; with two dimensions the weight is 2 / (2·err).
    weights = smoothie_weights({"a": [0, 0], "b": [1, 0], "c": [4, 0]})

    assert weights["a"] == pytest.approx(1 / 4)
    assert weights["c"] == pytest.approx(1 / 12)
    assert weights["b"] == pytest.approx(1 / 1e-9)


def test_smoothie_averages_over_every_pair_of_the_others() -> None:
    # The corners of a square of side 1 and its centre: for the centre ½(½ + ½ − d²) with d² = 1 four times and 2 twice:
    # mean (4·0 + 2·(−½)) / 6 < 0. For a corner: pairs of the two neighbours 0, neighbour and opposite ½(1 + 2 − 1) = 1
    # twice, neighbour and centre ½(1 + ½ − ½) = ½ twice, opposite and centre ½(2 + ½ − ½) = 1: mean 4 / 6.
    square: dict[str, list[float]] = {"n": [0, 1], "e": [1, 1], "s": [1, 0], "w": [0, 0], "centre": [0.5, 0.5]}

    weights = smoothie_weights(square)

    assert weights["n"] == pytest.approx(2 / (2 * 4 / 6))
    assert max(weights, key=lambda key: weights[key]) == "centre"


def test_the_selection_takes_the_answer_nearest_to_the_others() -> None:
    vectors = {"a": [1.0, 0.0], "b": [0.9, 0.1], "c": [0.0, 1.0]}
    said = {"a": "A", "b": "B", "c": "C"}

    answer = take_answer(selecting("a", "b", "c"), said, vectors=vectors)

    assert answer is not None
    assert answer.rule == "select"
    assert answer.step in ("a", "b")
    assert set(answer.detail["weights"]) == {"a", "b", "c"}


def test_given_weights_choose_without_vectors_and_pass_over_who_said_nothing() -> None:
    answer = take_answer(selecting("a", "b", weights=(0.2, 0.8)), {"a": "A", "b": ""})

    assert answer == Answer("A", "a", "select", {"weights": {"a": 0.2}})


def test_a_selection_without_weights_or_vectors_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="vectors"):
        take_answer(selecting("a"), {"a": "A"})


@given(st.dictionaries(st.sampled_from("abcde"), st.text(max_size=30), min_size=1))
def test_a_vote_never_fails_and_counts_everybody_once(said: dict[str, str]) -> None:
    answer = take_answer(voting(*"abcde"), said)

    spoke = [key for key, text in said.items() if text.strip()]
    counted = [key for keys in answer.detail["counts"].values() for key in keys] if answer else []
    assert sorted(counted) == sorted(spoke)


@given(st.dictionaries(st.sampled_from("abcde"), st.tuples(*[st.floats(-10, 10)] * 3), min_size=1))
def test_every_answer_weighs_something(vectors: dict[str, tuple[float, ...]]) -> None:
    weights = smoothie_weights(vectors)

    assert all(weight > 0 for weight in weights.values())
    assert set(weights) == set(vectors)
