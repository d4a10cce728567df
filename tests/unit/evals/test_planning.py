import pytest

from apps.evals.planning import habits
from tests.unit.evals.making import outcome


def test_habits_are_counted_over_the_workflows_that_came():
    found = habits(
        [
            outcome("c", 1, valid_at_once=True, steps=2, widths=(1, 1), distinct_instructions=2, workers={"a": 2}),
            outcome("c", 2, valid_at_once=False, steps=3, widths=(2, 1), distinct_instructions=3, workers={"b": 3}),
            outcome("c", 3, valid_at_once=True, steps=3, widths=(2, 1), distinct_instructions=1, right=False, rounds=2),
            outcome("c", 4, valid_at_once=False, steps=0, widths=(), planned=False, right=False, workers={}),
        ]
    )

    assert (found.planned, found.valid_at_once) == (0.75, 0.5)
    assert found.right_when_planned == pytest.approx(2 / 3)
    assert found.steps == {2: 1, 3: 2}
    assert list(found.shapes.items()) == [("2 → 1", 2), ("1 → 1", 1)]
    assert found.shares == {"a": 2 / 6, "b": 3 / 6, "sim-atlas": 1 / 6}
    assert found.changed == pytest.approx(1 / 3)
    assert found.distinct_instructions == pytest.approx((1 + 1 + 1 / 3) / 3)


def test_a_planner_that_asks_no_model_has_no_valid_rate():
    found = habits([outcome("moa", 1)])

    assert found.valid_at_once is None
    assert found.changed is None


def test_where_nothing_was_planned_nothing_is_said_of_it():
    found = habits([outcome("c", 1, planned=False, valid_at_once=False, workers={}, steps=0)])

    assert found.right_when_planned is None
    assert (len(found.steps), len(found.shapes), len(found.shares)) == (0, 0, 0)
    with pytest.raises(ValueError, match="no plans"):
        habits([])
