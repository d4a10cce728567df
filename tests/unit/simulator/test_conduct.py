"""The workflows the simulated conductor writes."""

import ast
import json

import pytest

from apps.conductor.prompt_schema import json_schema, response_format
from apps.simulator.briefs import Brief, read_brief
from apps.simulator.conduct import make_plan
from apps.simulator.misspeak import misspeak
from apps.simulator.models import MODELS
from apps.simulator.speak import speak

from .prompts import POOL, asked_to_conduct
from .tasks import COUNTDOWN, EVERY_TASK, NO_PUZZLES, OPEN_ENDED, SAMPLES

CONDUCTOR = MODELS["sim-conductor"]


def lists_of(text):
    """The three lists of a reply, read as Python."""
    names = ("model_id", "subtasks", "access_list")
    body = ast.parse(text[text.index("model_id") :]).body
    found = {node.targets[0].id: ast.literal_eval(node.value) for node in body}
    return tuple(found[name] for name in names)


def plan_of(task, *, seed=0, max_steps=5, models=4):
    return make_plan(Brief(task, max_steps, ("",) * models), seed=seed)


@pytest.mark.parametrize("task", EVERY_TASK)
@pytest.mark.parametrize("max_steps", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("models", [1, 2, 4])
def test_a_plan_keeps_every_rule(task, max_steps, models):
    for seed in range(8):
        plan = plan_of(task, seed=seed, max_steps=max_steps, models=models)

        assert 1 <= len(plan.subtasks) == len(plan.models) == len(plan.reads) <= max_steps
        assert all(0 <= model < models for model in plan.models)
        assert all(read < at for at, reads in enumerate(plan.reads) for read in reads)
        assert all(subtask.strip() for subtask in plan.subtasks)


@pytest.mark.parametrize("task", EVERY_TASK)
def test_no_step_but_the_last_is_read_by_nobody(task):
    for seed in range(12):
        for max_steps in (2, 3, 5):
            plan = plan_of(task, seed=seed, max_steps=max_steps)
            read = {at for reads in plan.reads for at in reads}

            # a plan that was handed on is read by the step it was made for, if the checker leaves it aside
            assert read == set(range(len(plan.subtasks) - 1))


@pytest.mark.parametrize("task", EVERY_TASK)
@pytest.mark.parametrize("models", [1, 4])
def test_another_seed_gives_another_workflow(task, models):
    plans = [plan_of(task, seed=seed, models=models) for seed in range(4)]

    assert len(set(plans)) == 4


@pytest.mark.parametrize("task", EVERY_TASK)
def test_the_same_seed_gives_the_same_workflow(task):
    assert plan_of(task, seed=41) == plan_of(task, seed=41)


def test_an_easy_task_gets_one_step():
    for seed in range(12):
        assert len(plan_of("What is the capital of Japan?", seed=seed).subtasks) == 1
        assert len(plan_of("Compute (1847 - 392) * 16 / 5.", seed=seed).subtasks) == 1


def test_a_table_is_divided_by_its_rows_and_drawn_together_at_the_end():
    task = next(task for task in SAMPLES if task.startswith("Region,"))

    plans = [plan_of(task, seed=seed) for seed in range(4)]

    rows = "Compute the growth of region South from Q1 to Q4 in per cent (Q1 98, Q4 150), to 1 decimal place."
    assert any(rows in plan.subtasks and len(plan.subtasks) == 5 for plan in plans)
    assert all(plan.reads[-1] == tuple(range(len(plan.reads) - 1)) for plan in plans)


def test_attempts_at_a_puzzle_do_not_see_each_other():
    for seed in range(12):
        *attempts, last = plan_of(COUNTDOWN, seed=seed).reads

        assert len(last) >= 2
        assert all(set(attempts[at]) <= {0} - set(last) for at in last)


def test_a_comparison_gets_a_step_for_each_side():
    plan = plan_of(next(task for task in NO_PUZZLES if task.startswith("Compare")), seed=1)

    sides = [subtask.split()[1] for subtask in plan.subtasks if subtask.startswith("Describe")]
    assert sorted(sides) == ["PostgreSQL", "SQLite"]
    assert plan.subtasks[-1].endswith("End with a recommendation and the condition that would change it.")


@pytest.mark.parametrize("task", [task for task in OPEN_ENDED if task.startswith("Compare")])
@pytest.mark.parametrize("max_steps", [3, 5, 8])
def test_a_comparison_has_steps_side_by_side_whatever_the_seed(task, max_steps):
    for seed in range(100):
        plan = plan_of(task, seed=seed, max_steps=max_steps)

        assert len(plan.subtasks) >= 3
        assert plan.reads[:2] == ((), ())
        assert {0, 1} <= set(plan.reads[-1])


def test_code_is_planned_implemented_and_verified():
    plans = [plan_of(NO_PUZZLES[0], seed=seed) for seed in range(3)]

    shapes = {tuple(subtask.split()[0] for subtask in plan.subtasks) for plan in plans}
    assert ("Plan", "Implement", "Verify") in shapes
    assert all("`merge_intervals" in subtask for plan in plans for subtask in plan.subtasks)


def test_the_last_step_goes_to_the_strongest_model():
    revealed = read_brief(asked_to_conduct(COUNTDOWN, pool=POOL[::-1], reveal=True))

    assert make_plan(revealed, seed=5).models[-1] == 3
    assert plan_of(COUNTDOWN, seed=5).models[-1] == 0


def test_the_reply_is_prose_and_then_the_three_lists():
    reply = speak(CONDUCTOR, asked_to_conduct(COUNTDOWN), seed=3)

    model_id, subtasks, access_list = lists_of(reply.text)

    plan = make_plan(read_brief(asked_to_conduct(COUNTDOWN)), seed=3)
    assert reply.text.startswith(plan.thinking)
    assert (model_id, subtasks) == (list(plan.models), list(plan.subtasks))
    assert len(access_list) == len(subtasks)


@pytest.mark.parametrize("reveal", [False, True])
def test_a_schema_is_answered_with_json_that_names_the_workers_as_it_lists_them(reveal):
    texts = asked_to_conduct(COUNTDOWN, encoding="json", reveal=reveal)
    schema = response_format("workflow", json_schema(POOL, 5, reveal=reveal))

    written = json.loads(speak(CONDUCTOR, texts, seed=3, response_format=json.dumps(schema)).text)

    step = schema["json_schema"]["schema"]["properties"]["steps"]["items"]
    assert list(written) == ["thinking", "steps"]
    assert all(list(one) == step["required"] for one in written["steps"])
    assert all(one["worker"] in step["properties"]["worker"]["enum"] for one in written["steps"])
    assert written["steps"][-1]["worker"] == ("sim-atlas" if reveal else "Model 0")


def test_json_without_a_schema_holds_the_three_lists():
    written = json.loads(speak(CONDUCTOR, asked_to_conduct("Hi?"), response_format='{"type": "json_object"}').text)

    assert list(written) == ["model_id", "subtasks", "access_list"]


def test_a_task_with_quotes_and_brackets_survives_the_lists():
    task = "Say \"it's [done]\" \\ twice,\nand then ''' three\u2028times. How?"

    _, subtasks, _ = lists_of(speak(CONDUCTOR, asked_to_conduct(task), seed=1).text)

    assert all(subtasks)


def test_bad_plans_are_bad_in_the_way_that_was_asked_for():
    texts = asked_to_conduct(COUNTDOWN)

    assert misspeak("empty", texts).text == ""
    assert len(misspeak("million", texts).text) == 1_000_000
    assert "access_list" not in misspeak("nonsense", texts).text
    assert lists_of(misspeak("forward", texts).text)[2] == [[1], []]
    assert max(lists_of(misspeak("unknown", texts).text)[0]) >= 4
    assert len(lists_of(misspeak("forty", texts).text)[1]) == 40
    assert len({len(one) for one in lists_of(misspeak("lists", texts).text)}) == 3
    assert lists_of(misspeak("none", texts).text) == ([], [], [])
