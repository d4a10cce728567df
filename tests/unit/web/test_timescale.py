"""The line of a run's timeline: where moments stand on it, its ticks, and its idle stretches."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from apps.web.run.timescale import MOST_TICKS, Scale, told
from tests.factories import NOON


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def scale(end: float, *busy: tuple[float, float], cut: bool = False) -> Scale:
    return Scale(NOON, after(end), [(after(a), after(b)) for a, b in busy], cut=cut)


def test_a_moment_stands_as_far_along_as_time_has_gone() -> None:
    line = scale(10, (0, 10))

    assert [line.at(after(s)) for s in (0, 2.5, 10)] == [0, 25, 100]
    assert line.between(after(2), after(5)) == (20, 30)


def test_what_lies_outside_is_put_at_the_edge() -> None:
    line = scale(10, (0, 10))

    assert (line.at(after(-3)), line.at(after(99))) == (0, 100)


def test_a_run_that_has_just_begun_has_a_line_too() -> None:
    assert Scale(NOON, NOON, [], cut=True).at(NOON) == 0


@pytest.mark.parametrize(
    ("busy", "idle"),
    [
        ([(0, 10)], []),
        ([(0, 4), (6, 10)], [(4, 6)]),
        ([(0, 5), (1, 7), (7.2, 10)], []),  # 0.2 of 10 s is no more than 5 %
        ([(2, 3), (2.5, 9)], [(0, 2), (9, 10)]),
        ([(-5, 3), (9, 20)], [(3, 9)]),
        ([], [(0, 10)]),
    ],
)
def test_idle_is_what_is_long_and_covered_by_nothing(
    busy: list[tuple[float, float]], idle: list[tuple[float, float]]
) -> None:
    assert scale(10, *busy).idle == [(after(a), after(b)) for a, b in idle]


def test_a_gap_that_is_cut_is_narrow_and_what_is_left_has_the_room() -> None:
    whole, cut = scale(100, (0, 5), (95, 100)), scale(100, (0, 5), (95, 100), cut=True)

    assert whole.gaps[0].width == 90
    assert 2 < cut.gaps[0].width < 4
    assert cut.gaps[0].ms == 90_000
    assert cut.between(NOON, after(5))[1] == cut.between(after(95), after(100))[1] > 48
    assert cut.at(after(100)) == 100


def test_no_moment_overtakes_another_however_much_is_cut() -> None:
    line = scale(1000, (0, 1), (300, 310), (700, 705), (999, 1000), cut=True)

    places = [line.at(after(s)) for s in range(1001)]

    assert all(a <= b for a, b in pairwise(places))
    assert (places[0], places[-1]) == (0, 100)


@pytest.mark.parametrize("end", [0.3, 1, 7, 59, 61, 3_599, 90_000, 900_000])
def test_ticks_are_few_and_none_touches_another(end: float) -> None:
    ticks = scale(end, (0, end)).ticks

    assert 1 <= len(ticks) <= MOST_TICKS + 4
    assert ticks[0].label == "0 s"
    assert all(b.at - a.at >= 4 for a, b in pairwise(ticks))


def test_no_tick_stands_in_what_is_cut() -> None:
    line = scale(86_400, (0, 4), (86_396, 86_400), cut=True)

    inside = [tick for tick in line.ticks if line.gaps[0].start < tick.at < line.gaps[0].start + line.gaps[0].width]

    assert inside == []
    assert next(tick.label for tick in line.ticks) == "0 s"
    assert any(tick.label.startswith("23:59:") for tick in line.ticks)


@pytest.mark.parametrize(
    ("s", "words"),
    [
        (0, "0 s"),
        (0.2, "0.2 s"),
        (3 * 0.5, "1.5 s"),
        (3 * 0.1, "0.3 s"),
        (45, "45 s"),
        (90, "1:30"),
        (7_505, "2:05:05"),
    ],
)
def test_time_gone_is_told_as_a_clock_would(s: float, words: str) -> None:
    assert told(s) == words
