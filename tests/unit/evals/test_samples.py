import pytest

from apps.evals.samples import curve, rival
from tests.unit.evals.making import outcome, votes


def test_a_curve_has_a_point_for_every_number_of_attempts():
    outcomes = [outcome("sc", 1, votes=votes(True, False, True)), outcome("sc", 2, votes=votes(False, False, True))]

    found = curve("sim-delta", outcomes)

    assert [(each.n, each.right, each.name) for each in found] == [
        (1, (True, False), "sim-delta × 1"),
        (2, (False, False), "sim-delta × 2"),
        (3, (True, True), "sim-delta × 3"),
    ]
    assert [each.cost_usd for each in found] == pytest.approx([0.001, 0.002, 0.003])
    assert [each.accuracy for each in found] == [0.5, 0.0, 1.0]


def test_attempts_that_some_run_has_no_vote_for_are_left_out():
    assert len(curve("w", [outcome("sc", 1, votes=votes(True, True)), outcome("sc", 2, votes=votes(True))])) == 1
    assert curve("w", [outcome("sc", 1)]) == []
    assert curve("w", []) == []


CURVES = {
    "dear": curve("dear", [outcome("a", 1, votes=votes(True, True, each_usd=0.010))]),
    "cheap": curve("cheap", [outcome("b", 1, votes=votes(False, False, True, True, each_usd=0.001))]),
}


@pytest.mark.parametrize(
    ("cost_usd", "name"),
    [
        (0.0022, "cheap × 2"),  # nothing affordable is right: the dearest of equals
        (0.0031, "cheap × 3"),
        (0.0039, "cheap × 4"),  # five per cent over are let pass
        (0.0100, "dear × 1"),  # of equally accurate ones the nearest in cost
        (1.0, "dear × 2"),
        (0.0001, "cheap × 1"),  # nothing is as cheap: the cheapest there is
    ],
)
def test_the_rival_is_the_best_that_the_same_money_buys(cost_usd, name):
    found = rival(CURVES, cost_usd)

    assert found is not None
    assert found.name == name


def test_without_samples_there_is_no_rival():
    assert rival({}, 1.0) is None
