from math import comb, log2
from random import Random

import pytest

from apps.evals.stats import accuracy, entropy_bits, holm, mean, paired


def outcomes(*, both=0, wins=0, losses=0, neither=0):
    ours = [True] * both + [True] * wins + [False] * losses + [False] * neither
    theirs = [True] * both + [False] * wins + [True] * losses + [False] * neither
    return ours, theirs


def test_an_accuracy_has_wilsons_interval():
    found = accuracy([True] * 81 + [False] * 182)  # Newcombe 1998, "Two-sided confidence intervals", table I

    assert found.value == pytest.approx(81 / 263)
    assert (found.low, found.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_an_accuracy_of_one_is_not_certain():
    found = accuracy([True] * 20)

    assert found.high == pytest.approx(1)
    assert found.low == pytest.approx(0.8389, abs=5e-5)


def test_a_paired_difference_has_newcombes_interval():
    found = paired(*outcomes(both=59, wins=6, losses=16, neither=80))  # Cavo et al. 2012, by R's contingencytables

    assert found.value == pytest.approx(-0.0621, abs=5e-5)
    assert (found.low, found.high) == pytest.approx((-0.1186, -0.0046), abs=5e-5)


def test_a_paired_difference_is_tested_exactly_on_the_tasks_that_differ():
    found = paired(*outcomes(both=3, wins=8, losses=1, neither=2))

    assert found.p == pytest.approx(2 * (comb(9, 0) + comb(9, 1)) / 2**9)


def test_the_other_way_round_is_the_same_difference_with_the_other_sign():
    ours, theirs = outcomes(both=20, wins=7, losses=2, neither=11)

    one, other = paired(ours, theirs), paired(theirs, ours)

    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))
    assert one.p == other.p


def test_two_that_never_differ_may_still_differ_a_little():
    found = paired(*outcomes(both=20))

    assert found.value == 0
    assert found.p == 1
    assert found.low < -0.1 < 0.1 < found.high


def test_the_paired_interval_covers_the_truth_as_often_as_it_says():
    rng = Random(5)
    hits = 0
    for _ in range(300):
        ours = [rng.random() < 0.8 for _ in range(60)]
        theirs = [right if rng.random() < 0.7 else rng.random() < 0.5 for right in ours]
        found = paired(ours, theirs)
        hits += found.low <= 0.8 - (0.7 * 0.8 + 0.3 * 0.5) <= found.high

    assert 0.92 <= hits / 300 <= 0.99


def test_unequal_or_empty_sides_are_refused():
    with pytest.raises(ValueError, match="same tasks"):
        paired([True], [True, False])
    with pytest.raises(ValueError, match="same tasks"):
        paired([], [])
    with pytest.raises(ValueError, match="no answers"):
        accuracy([])
    with pytest.raises(ValueError, match="no values"):
        mean([])


def test_a_mean_has_a_bootstrap_interval_that_a_seed_repeats():
    rng = Random(3)
    values = [rng.gauss(100, 20) for _ in range(400)]

    found = mean(values, seed=1)

    assert found == mean(values, seed=1)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * 20 / 400**0.5, rel=0.15)


def test_one_value_has_no_interval_and_equal_values_a_point():
    assert (mean([7]).low, mean([7]).high) == (None, None)
    assert (mean([7, 7, 7]).low, mean([7, 7, 7]).high) == (7, 7)


def test_holm_corrects_the_smallest_most_and_keeps_the_order():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_entropy_is_told_in_bits():
    assert entropy_bits([10, 0, 0]) == 0
    assert entropy_bits([5, 5, 5, 5]) == pytest.approx(log2(4))
    assert entropy_bits([]) == 0
