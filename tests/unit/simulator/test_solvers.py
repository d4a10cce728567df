"""What the workers can really do: the sample tasks, and others of their kinds."""

import json

import pytest

from apps.simulator.solvers import solve
from apps.simulator.solvers.arithmetic import NotArithmetic, evaluate
from apps.simulator.solvers.countdown import search, verdict
from apps.simulator.solvers.dates import find_dates
from apps.simulator.solvers.extraction import as_number
from apps.simulator.work import aim

from .tasks import COUNTDOWN, EVERY_TASK, NO_PUZZLES, SAMPLES, TWO_THINGS, VARIANTS


@pytest.mark.parametrize(("task", "answer"), SAMPLES.items())
def test_every_sample_task_with_an_answer_is_solved(task, answer):
    problem = solve(task)

    assert problem is not None
    assert problem.answer == answer


@pytest.mark.parametrize(("task", "answer"), VARIANTS.items())
def test_a_task_of_the_same_kind_with_other_numbers_is_solved_too(task, answer):
    problem = solve(task)

    assert problem is not None
    assert problem.answer == answer


@pytest.mark.parametrize("task", TWO_THINGS)
def test_half_of_what_is_asked_is_not_taken_for_all_of_it(task):
    assert solve(task) is None


@pytest.mark.parametrize("task", NO_PUZZLES)
def test_what_needs_a_real_model_is_not_taken_for_a_puzzle(task):
    assert solve(task) is None


@pytest.mark.parametrize("task", [*SAMPLES, *VARIANTS, COUNTDOWN])
def test_a_wrong_answer_is_never_the_right_one(task):
    problem = solve(task)

    assert problem is not None
    assert problem.wrong
    assert problem.answer not in problem.wrong
    assert all(part.answer not in part.wrong for part in problem.parts)


def test_a_misread_note_is_still_json():
    task = next(task for task in SAMPLES if "JSON" in task)

    problem = solve(task)

    assert problem is not None
    assert all(json.loads(wrong) != json.loads(problem.answer) for wrong in problem.wrong)


@pytest.mark.parametrize(
    ("numbers", "target"),
    [((3, 7, 25, 50), 372), ((1, 3, 7, 10, 25, 50), 765), ((3, 6, 25, 50, 75, 100), 952), ((2, 3), 1), ((4, 8), 2)],
)
def test_a_countdown_expression_gives_the_target_with_the_numbers_it_may_use(numbers, target):
    expression, misses = search(numbers, target, False)

    assert expression is not None
    assert (
        verdict(expression, f"Using {', '.join(map(str, numbers))} and the operations + - * /, reach {target}.") == ""
    )
    assert all(evaluate(miss) != target for miss in misses)


def test_a_countdown_without_a_solution_is_left_alone():
    assert solve("Using 2, 4, 6 at most once and the operations + - * /, reach 999.") is None


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        ("50*7+25-3", ""),
        ("50 × 7 + 25 − 3 = 372", ""),
        ("50*7+25+3", "it gives 378, not 372"),
        ("50*7+22", "22 is not among the numbers, or used twice"),
        ("7*50+25-3-3", "3 is not among the numbers, or used twice"),
        ("I could not find one", None),
    ],
)
def test_somebody_elses_expression_is_judged(claim, fault):
    assert verdict(claim, COUNTDOWN) == fault


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')",
        "1 / 0",
        "9**9**9",
        "[1, 2]",
        "x + 1",
        "1 if 1 else 2",
        "'a' * 9",
        "2 ** 0.5",
        "True + 1",
        "(",
    ],
)
def test_what_is_no_arithmetic_is_refused(expression):
    with pytest.raises(NotArithmetic):
        evaluate(expression)


def test_a_deep_expression_is_refused_and_not_followed():
    with pytest.raises(NotArithmetic):
        evaluate("(" * 5000 + "1" + ")" * 5000)


def test_dates_are_found_in_every_common_form():
    days = find_dates(
        "On 14 August 2025, August 15, 2025, 2025-08-16, 17.08.2025 and the 18th of Aug 2025; not 31.02.2025."
    )

    assert [day.isoformat() for day in days] == [f"2025-08-{day}" for day in (14, 15, 16, 17, 18)]


@pytest.mark.parametrize(
    ("text", "value"),
    [("12.480,50", 12480.5), ("12,480.50", 12480.5), ("12 480,50", 12480.5), ("1.200", 1200), ("99,5", 99.5), ("7", 7)],
)
def test_amounts_are_read_with_either_separator(text, value):
    assert as_number(text) == value


@pytest.mark.parametrize("task", EVERY_TASK)
def test_a_long_text_around_a_task_is_left_alone_quickly(task):
    assert solve(task + " padding" * 5000) is None


@pytest.mark.parametrize(
    "task",
    [
        "How many metres are 212 feet? Round to whole metres.",
        "Convert 39 miles to km. Round to one decimal place.",
        "How many kg are 196 pounds? (1 pound = 0.45359237 kg.) Give two decimals.",
        "A hall has 19 rows, each with 17 seats. How many seats are there?",
        "Take 7, 1, 9, 4: sort them in descending order.",
    ],
)
def test_whoever_is_told_to_solve_a_task_is_told_all_that_it_asks(task):
    problem = solve(task)
    assert problem is not None

    for instruction in (problem.ask, problem.check):
        found = aim(task, instruction)
        assert found is not None
        assert found.answer == problem.answer
