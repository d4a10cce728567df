"""A text's track: marks that tell when it was how long, however long it was written."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

import pytest

from apps.runs.tracks import FINEST_MS, MOST, Heard
from tests.factories import NOON


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


def heard_at(clock: Clock, *pieces: tuple[float, str]) -> Heard:
    """A text whose pieces came so many seconds after its call began."""
    heard = Heard(since=NOON, now=NOON, clock=clock)
    for second, piece in pieces:
        clock.at = 100.0 + second
        heard.hear(piece)
    return heard


def evenly(count: int, every_s: float) -> Iterator[tuple[float, str]]:
    return ((number * every_s, "ab ") for number in range(1, count + 1))


def test_a_mark_tells_how_long_the_text_was(clock: Clock) -> None:
    heard = heard_at(clock, (0.4, "South "), (0.5, "grew "), (1.25, "most."))

    assert heard.text == "South grew most."
    assert heard.track == [[400, 6], [500, 11], [1250, 16]]


def test_time_counts_from_when_the_call_was_begun_and_not_from_when_it_was_listened_to(clock: Clock) -> None:
    heard = Heard(since=NOON, now=NOON + timedelta(milliseconds=35), clock=clock)
    clock.at += 0.1
    heard.hear("A")

    assert heard.track == [[135, 1]]


def test_code_points_are_counted_as_the_offsets_of_pieces_are(clock: Clock) -> None:
    assert heard_at(clock, (0.1, "😀é")).track == [[100, 2]]


def test_of_pieces_that_come_all_at_once_the_first_and_the_last_are_kept(clock: Clock) -> None:
    heard = heard_at(clock, *((0.2, "a") for _ in range(50)))

    assert heard.track == [[200, 1], [200, 50]]


def test_nothing_heard_leaves_no_marks(clock: Clock) -> None:
    assert heard_at(clock).track == []


@pytest.mark.parametrize("pieces", [150, 1_000, 50_000])
def test_however_long_it_was_written_the_marks_are_few_and_spread_over_all_of_it(clock: Clock, pieces: int) -> None:
    heard = heard_at(clock, *evenly(pieces, 0.02))
    track = heard.track

    assert len(track) <= MOST
    assert track[0] == [20, 3]
    assert track[-1] == [round(pieces * 20), pieces * 3]
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(track))
    widest = max(b[0] - a[0] for a, b in pairwise(track))
    assert widest <= max(2 * FINEST_MS, 4 * pieces * 20 / MOST)
