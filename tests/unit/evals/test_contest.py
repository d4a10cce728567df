import pytest

from apps.evals import stats
from apps.evals.contest import hold
from tests.unit.evals.making import GROUPS, contest, outcome


def of(found, name):
    return next(each for each in found.standings if each.entrant == name)


def test_figures_are_means_over_the_tasks_with_intervals():
    atlas = of(contest(), "direct: sim-atlas")
    delta = of(contest(), "direct: sim-delta")

    assert (atlas.accuracy.value, delta.accuracy.value) == (1.0, 0.5)
    assert delta.accuracy == stats.accuracy([True, False] * 20)
    assert (delta.tokens.value, delta.calls.value, delta.steps.value) == (150, 1, 1)
    assert delta.latency_s.value == pytest.approx(0.5)
    assert delta.by_kind["dates"].value == 1.0
    assert delta.by_kind["arithmetic"].value == 0.0


def test_the_best_single_worker_is_the_most_accurate_and_of_equals_the_cheapest():
    assert contest().best_single == "direct: sim-atlas"

    equals = [outcome("direct: sim-atlas", 1, cost_usd=0.01), outcome("direct: sim-delta", 1, cost_usd=0.001)]
    assert hold(equals, GROUPS).best_single == "direct: sim-delta"


def test_planners_are_held_against_the_best_single_worker_task_by_task():
    found = of(contest(), "conductor").over_single

    assert found is not None
    assert found.against == "direct: sim-atlas"
    assert (found.delta.wins, found.delta.losses) == (0, 4)
    assert found.cost_ratio == pytest.approx(0.0031 / 0.004)
    assert of(contest(), "direct: sim-atlas").over_single is None


def test_planners_are_held_against_the_self_consistency_their_own_money_buys():
    found = of(contest(), "conductor").over_samples

    assert found is not None
    assert found.against == "sim-delta × 3"
    assert (found.delta.wins, found.delta.losses) == (4, 4)
    assert found.verdict == "no difference shown"


def test_a_planner_cheaper_than_any_is_held_against_the_cheapest():
    found = of(contest(), "moa").over_samples

    assert found is not None
    assert found.against == "sim-delta × 1"
    assert found.cost_ratio == pytest.approx(0.5)


def test_p_values_are_corrected_among_planners_and_among_the_others():
    found = contest()
    planners = {name: of(found, name).over_single for name in ("conductor", "moa")}

    raw = {name: each.delta.p for name, each in planners.items() if each}

    assert {name: each.p for name, each in planners.items() if each} == pytest.approx(stats.holm(raw))
    assert planners["moa"] is not None
    assert planners["moa"].verdict == "worse"
    others = {name: of(found, name).over_single for name in GROUPS if "direct: sim-d" in name or "×" in name}
    assert {name: each.p for name, each in others.items() if each} == pytest.approx(
        stats.holm({name: each.delta.p for name, each in others.items() if each})
    )


def test_regret_counts_what_some_worker_could_have_answered():
    assert of(contest(), "direct: sim-delta").regret == 0.5
    assert of(contest(), "direct: sim-atlas").regret == 0


def test_routing_entropy_is_of_all_calls_together():
    assert of(contest(), "conductor").entropy_bits == pytest.approx(0.918, abs=1e-3)
    assert of(contest(), "direct: sim-atlas").entropy_bits == 0


def test_failed_runs_are_counted_and_wrong():
    failed = outcome("conductor", 1, right=False, status="failed", error="No reply.", planned=False)

    found = of(hold([failed, outcome("conductor", 2)], GROUPS), "conductor")

    assert (found.failed, found.accuracy.value) == (1, 0.5)


def test_a_contest_without_workers_or_samples_compares_nothing():
    found = contest(without=["direct: sim-atlas", "direct: sim-delta", "self-consistency: sim-delta × 3"])

    assert found.best_single is None
    assert all(each.over_single is None and each.over_samples is None for each in found.standings)


def test_where_no_task_was_finished_by_all_nothing_is_said():
    with pytest.raises(ValueError, match="no task"):
        hold([outcome("conductor", 1), outcome("moa", 2)], GROUPS)
