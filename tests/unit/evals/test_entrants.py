from typing import Any

import pytest

from apps.conductor.planners import PLANNERS
from apps.evals.entrants import UnknownEntrant, entrants, solve_then_check
from apps.evals.rehearsal import hurried
from apps.workflows import graph

WORKERS = ("sim-atlas", "sim-birch", "sim-cedar")


def test_every_worker_enters_alone_and_with_its_self_consistency():
    found = entrants([], workers=WORKERS, samples=7)

    assert [(each.name, each.group) for each in found] == [
        *((f"direct: {worker}", "worker") for worker in WORKERS),
        *((f"self-consistency: {worker} × 7", "samples") for worker in WORKERS),
    ]
    assert found[-1].options == {"worker": "sim-cedar", "n": 7}


def test_all_stands_for_every_planner_there_is():
    found = entrants(["all"], workers=WORKERS, samples=3)

    assert {each.planner for each in found} == set(PLANNERS)
    assert len({each.name for each in found}) == len(found)
    assert {each.rounds for each in found if each.planner == "conductor"} == {1, 2}


def test_named_planners_enter_once_each():
    found = [each.name for each in entrants(["moa", "random", "moa"], workers=WORKERS, samples=3)]

    assert found.count("moa") == found.count("random") == 1
    assert "trinity" not in found


def test_an_unknown_planner_is_refused_by_name():
    with pytest.raises(UnknownEntrant, match="oracle"):
        entrants(["oracle"], workers=WORKERS, samples=3)


def test_who_needs_to_have_learnt_is_known():
    learns = {each.name: each.learns for each in entrants(["smoothie", "moa", "saved"], workers=WORKERS, samples=3)}

    assert (learns["smoothie, local"], learns["smoothie, global"]) == (False, True)
    assert not learns["moa"]
    assert not learns["saved: solve, then check"]


@pytest.mark.parametrize("workers", [WORKERS, WORKERS[:1]])
def test_the_saved_workflow_can_be_run_by_any_pool(workers):
    assert graph.check(solve_then_check(workers), workers=workers, max_steps=5) == []


SETUP: dict[str, Any] = {
    "pool": [{"slug": "a", "identity": {"model": "sim-atlas", "params": {}}}],
    "conductor": {"slug": "c", "identity": {"model": "sim-conductor:seed=3", "params": {}}},
    "rounds": 2,
}


def test_a_run_is_hurried_by_its_models_names_and_nothing_else_changes():
    found = hurried(SETUP, 10)

    assert found["pool"][0] == {"slug": "a", "identity": {"model": "sim-atlas:speed=10", "params": {}}}
    assert found["conductor"]["identity"]["model"] == "sim-conductor:seed=3,speed=10"
    assert found["rounds"] == 2
    assert SETUP["pool"][0]["identity"]["model"] == "sim-atlas"


def test_a_run_at_its_own_pace_or_without_a_conductor_stays_as_it_is():
    assert hurried(SETUP, 1) is SETUP
    assert hurried(SETUP | {"conductor": None}, 0.5)["conductor"] is None
