"""The graph as a picture for paper: every step and read is in it, nothing overlaps, and it is no wider than a page."""

import re
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.runs.models import Step
from apps.web.reviewing.picture import CARDS, MARGIN, MOST_CARDS, NUMBERS, Picture, picture_of
from apps.web.words.looks import Look
from apps.workflows.workflow import Step as Planned
from apps.workflows.workflow import Workflow

WIDEST = 2 * MARGIN + CARDS.columns * CARDS.width + (CARDS.columns - 1) * CARDS.gap_x


def workflow(*reads: list[int], instruction: str = "Do it") -> Workflow:
    """A step for each list of what it reads, by place."""
    return Workflow(
        steps=tuple(
            Planned(
                key=f"s{at}", instruction=instruction, worker="sim-a", access=tuple(f"s{source}" for source in sources)
            )
            for at, sources in enumerate(reads)
        )
    )


def drawn(workflow: Workflow, **given: str) -> Picture:
    """The picture of a workflow whose steps are in these states, by their keys."""
    steps = {key: Step(key=key, status=status) for key, status in given.items()}
    looks = {"sim-a": Look("sim-a", "Atlas", "A", "b", True)}
    return picture_of(workflow, steps, looks, tokens={})


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    size = draw(st.integers(1, 60))
    return workflow(*(sorted(draw(st.sets(st.integers(0, at - 1), max_size=4))) if at else [] for at in range(size)))


@settings(max_examples=60, deadline=None)
@given(workflows())
def test_every_step_has_a_place_of_its_own_on_a_page(workflow):
    picture = drawn(workflow)

    assert [card.number for card in picture.cards] == list(range(1, len(workflow.steps) + 1))
    assert len(picture.edges) == sum(len(step.access) for step in workflow.steps)
    assert picture.width <= WIDEST
    size = picture.size
    for card in picture.cards:
        assert card.x >= 0
        assert card.x + size.width <= picture.width
        assert card.y + size.height <= picture.height
    for one, other in combinations(picture.cards, 2):
        assert abs(one.x - other.x) >= size.width or abs(one.y - other.y) >= size.height


def test_what_is_read_stands_before_its_reader_or_in_a_band_above():
    picture = drawn(workflow([], [0], [1], [2], [3]))

    *first, fifth = picture.cards
    assert [card.x for card in first] == sorted({card.x for card in first})
    assert {card.y for card in first} == {MARGIN}
    assert fifth.x == first[0].x
    assert fifth.y > first[0].y


def test_a_line_begins_at_the_card_that_is_read_and_ends_at_its_reader():
    picture = drawn(workflow([], [0]))

    [edge] = picture.edges
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", edge.path)]
    assert numbers[:2] == [MARGIN + CARDS.width, MARGIN + CARDS.height / 2]
    assert numbers[-2:] == [picture.cards[1].x, picture.cards[1].y + CARDS.height / 2]


def test_a_line_is_the_wider_the_more_passed():
    two = workflow([], [0], [0])
    narrow, wide = (picture_of(two, {}, {}, tokens={"s0": tokens}).edges[0].width for tokens in (10, 2_000))

    assert 1 <= narrow < wide <= 4
    assert picture_of(two, {}, {}, tokens={"s0": 10**9}).edges[0].width == 4


def test_of_very_many_steps_only_the_numbers_are_drawn():
    many = workflow(*([] for _ in range(MOST_CARDS + 1)))

    assert drawn(many).size == NUMBERS
    assert not drawn(many).has_titles
    assert drawn(workflow([], [0])).has_titles


def test_a_card_says_what_became_of_its_step_where_it_did_not_just_answer():
    picture = drawn(workflow([], [], [], []), s0="succeeded", s1="failed", s2="written")

    assert [card.says for card in picture.cards] == ["", "failed", "by hand", "waiting"]
    assert [card.state for card in picture.cards] == ["succeeded", "failed", "written", "waiting"]


def test_a_title_fits_its_card():
    picture = drawn(workflow([], instruction="Compare the sales of every region of the world with each other"))

    assert picture.cards[0].title.endswith("…")
    assert len(picture.cards[0].title) <= 20
