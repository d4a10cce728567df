from collections import Counter
from fractions import Fraction

import pytest

from apps.evals.generators import KINDS, SETS, TooManyTasks, UnknownSet, generate, make_task
from apps.evals.generators.lists import is_prime
from apps.evals.generators.task import is_short, rounded, shown, with_article
from apps.evals.graders import Countdown, Figures, Number
from apps.simulator.solvers import solve


@pytest.mark.parametrize("kind", KINDS)
def test_every_generated_task_is_one_the_simulated_workers_solve_to_the_same_answer(kind):
    for seed in range(150):
        task = make_task(kind, seed)
        problem = solve(task.text)

        assert problem is not None, task.text
        grade = task.grader.grade(f"Working it out.\n\nAnswer: {problem.answer}")
        assert grade.is_right, (task.text, task.answer, problem.answer, grade.why)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_weak_worker_says_instead_is_graded_wrong(kind):
    slips = 0
    for seed in range(150):
        task = make_task(kind, seed)
        problem = solve(task.text)
        assert problem is not None
        for wrong in problem.wrong:
            slips += 1
            assert not task.grader.grade(f"Answer: {wrong}").is_right, (task.text, task.answer, wrong)

    assert slips > 100


@pytest.mark.parametrize("kind", KINDS)
def test_the_known_answer_passes_its_own_grader_and_an_empty_one_does_not(kind):
    for seed in range(100):
        task = make_task(kind, seed)

        assert task.grader.grade(f"The answer is {task.answer}").is_right, task
        assert not task.grader.grade("").is_right


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_worded_in_several_ways(kind):
    openings = {" ".join(make_task(kind, seed).text.split()[:2]) for seed in range(100)}

    assert len(openings) > 3


@pytest.mark.parametrize("name", SETS)
def test_a_seed_repeats_a_set_and_another_makes_another(name):
    tasks = generate(name, 30, seed=4)

    assert tasks == generate(name, 30, seed=4)
    assert tasks != generate(name, 30, seed=5)
    assert len({task.text for task in tasks}) == 30


def test_a_task_can_be_made_again_from_its_kind_and_seed():
    for task in generate("mixed", 33, seed=1):
        assert make_task(task.kind, task.seed) == task


def test_the_mixed_set_holds_as_many_of_each_kind():
    counts = Counter(task.kind for task in generate("mixed", 3 * len(KINDS), seed=2))

    assert counts == dict.fromkeys(KINDS, 3)


def test_a_set_of_one_kind_holds_that_kind_alone():
    assert {task.kind for task in generate("countdown", 10, seed=2)} == {"countdown"}


def test_the_first_tasks_of_a_longer_list_are_those_of_a_shorter_one():
    assert generate("mixed", 50, seed=9)[:20] == generate("mixed", 20, seed=9)


@pytest.mark.parametrize("n", [0, -1, 10**9])
def test_a_senseless_number_of_tasks_is_refused(n):
    with pytest.raises(TooManyTasks):
        generate("mixed", n, seed=1)


def test_an_unknown_set_is_refused_by_name():
    with pytest.raises(UnknownSet, match="poetry"):
        generate("poetry", 3, seed=1)
    with pytest.raises(UnknownSet, match="mixed"):
        make_task("mixed", 1)


def test_a_countdown_puzzle_is_solved_by_the_expression_it_was_made_from_and_takes_three_numbers():
    for seed in range(200):
        task = make_task("countdown", seed)

        assert isinstance(task.grader, Countdown)
        assert task.grader.grade(task.answer).is_right
        assert sum(sign in "+-*" for sign in task.answer) >= 2


def test_a_table_question_names_its_rows_to_the_grader():
    tasks = [make_task("comparison", seed) for seed in range(60)]

    for grader in (task.grader for task in tasks if isinstance(task.grader, Figures)):
        assert set(grader.names) <= set(grader.among)
        assert len(grader.among) >= 2


def test_numbers_are_rounded_as_people_round_and_shown_without_idle_zeros():
    assert shown(rounded(Fraction("2.25"), 1)) == "2.3"
    assert shown(rounded(Fraction("-2.25"), 1)) == "-2.3"
    assert shown(Fraction(7, 2)) == "3.5"
    assert shown(Fraction(3), 2) == "3.00"
    assert shown(Fraction(1, 3)) == "0.3333333333"
    assert is_short(Fraction("0.25"))
    assert not is_short(Fraction(1, 3))


def test_small_words_and_primes_are_right():
    assert [with_article(words) for words in ("8 km", "12 km", "11.5 kg", "18 m", "110 m")] == [
        "an 8 km",
        "a 12 km",
        "an 11.5 kg",
        "an 18 m",
        "a 110 m",
    ]
    assert [n for n in range(20) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19]


def test_answers_that_need_rounding_are_asked_for_with_it():
    for seed in range(200):
        task = make_task("units", seed)
        assert isinstance(task.grader, Number)

        if "mile" in task.text or "feet" in task.text or "pound" in task.text:
            assert any(word in task.text for word in ("Round to", "decimals")), task.text
