"""The critical path: what a run had to wait for, back from what ended last."""

from datetime import timedelta

from apps.web.run.critical import Work, critical
from tests.factories import NOON


def work(ended: float, *needs: str) -> Work:
    return Work(NOON + timedelta(seconds=ended), needs)


def test_of_what_a_step_reads_the_one_that_came_last_is_what_it_waited_for() -> None:
    works = {"s1": work(1), "s2": work(3), "s3": work(5, "s1", "s2")}

    assert critical(works) == {"s2", "s3"}


def test_it_begins_at_what_ended_last_even_if_nobody_reads_that() -> None:
    works = {"s1": work(1), "s2": work(9, "s1"), "s3": work(4, "s1")}

    assert critical(works) == {"s1", "s2"}


def test_a_plan_is_waited_for_like_a_step() -> None:
    works = {"plan 1": work(2), "plan 2": work(4, "plan 1"), "s1": work(6, "plan 1", "plan 2")}

    assert critical(works) == {"plan 1", "plan 2", "s1"}


def test_what_is_not_there_is_passed_over_and_a_circle_ends() -> None:
    assert critical({"s2": work(2, "s1")}) == {"s2"}
    assert critical({"a": work(1, "b"), "b": work(2, "a")}) == {"a", "b"}
    assert critical({}) == frozenset()
