from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.evals.graders import Countdown, Exact, Figures, Items, Letter, Number, numbers_in

RACE = Figures(names=("6.3 mile",), among=("10 km", "6.3 mile"), numbers=(Fraction(139),))
EXTREMES = Figures(
    names=("South", "East"),
    among=("North", "South", "East", "West"),
    numbers=(Fraction("53.1"), Fraction("-5.7"), Fraction("58.8")),
)
CHOICE = Letter("B", {"A": "38.4", "B": "84.1", "C": "118.9"})
PUZZLE = Countdown((3, 7, 25, 50), 372)


@pytest.mark.parametrize(
    ("grader", "reply"),
    [
        (Exact("2025-06-15"), "Counted back.\n\nAnswer: 2025-06-15"),
        (Exact("fig-date-kiwi"), "The answer is `fig-date-kiwi`."),
        (Number(Fraction(106560)), "Answer: 106,560 units"),
        (Number(Fraction(106560)), "37 * 48 * 12 * 5 = 106560"),
        (Number(Fraction(40)), "Answer: at least 40 (84 cars, 2,352 kWh)"),
        (Number(Fraction(-3)), "Answer: −3.0"),
        (Number(Fraction(1, 3), tolerance=Fraction(1, 100)), "It is about 0.33"),
        (Number(Fraction(1, 2)), "\\boxed{\\frac{1}{2}}"),
        (Items(("9", "7", "4", "1")), "Answer: 9, 7, 4, 1"),
        (Items(("9", "7", "4", "1")), "[9, 7, 4, 1]"),
        (Items(("oak", "elm", "ash")), "Answer: oak, elm and ash."),
        (Items(("oak", "elm"), ordered=False), "elm oak"),
        (CHOICE, "Answer: B"),
        (CHOICE, "Answer: (B) 84.1"),
        (CHOICE, "The answer is **B**."),
        (CHOICE, "Option B"),
        (CHOICE, "Answer: B – 84.1 tonnes"),
        (CHOICE, "Answer: 84.1"),
        (RACE, "Answer: the 6.3 mile race, by 139 m"),
        (RACE, "Answer: The 6.3-mile race is longer than the 10 km race by 139 metres."),
        (RACE, "Answer: 6.3 mile (10,139 m), 139 m more"),
        (EXTREMES, "Answer: most: South, 53.1 %; least: East, -5.7 %; difference: 58.8 points"),
        (EXTREMES, "South grew most, by 53.1%, while East fell by 5.7%: they lie 58.8 points apart."),
        (PUZZLE, "Answer: 50*7+25-3"),
        (PUZZLE, "Answer: 7 × 50 + 25 − 3 = 372"),
        (PUZZLE, "372 = (7 * 50) + (25 - 3)"),
    ],
)
def test_what_is_right_is_graded_right(grader, reply):
    grade = grader.grade(reply)

    assert grade.is_right, grade.why


@pytest.mark.parametrize(
    ("grader", "reply"),
    [
        (Exact("2025-06-15"), "Answer: 2025-06-16"),
        (Exact("Tokyo"), ""),
        (Number(Fraction(42)), "Answer: 43"),
        (Number(Fraction(42)), "Answer: forty-two"),
        (Number(Fraction(42)), "Answer: -42"),
        (Number(Fraction(2025)), "2025-06-15"),
        (Items(("9", "7", "4")), "Answer: 9, 4, 7"),
        (Items(("9", "7", "4")), "Answer: 9, 7"),
        (CHOICE, "Answer: A"),
        (CHOICE, "Answer: A big tonnage"),
        (CHOICE, "I do not know"),
        (RACE, "Answer: the 10 km race, by 139 m"),
        (RACE, "Answer: the 6.3 mile race, by 149 m"),
        (RACE, "Answer: the 16.3 mile race, by 139 m"),
        (EXTREMES, "Answer: most: East, -5.7 %; least: South, 53.1 %; difference: 58.8 points"),
        (EXTREMES, "Answer: most: South, 53.1 %; least: West, 34.7 %; difference: 18.5 points"),
        (EXTREMES, "Answer: South and East"),
        (PUZZLE, "Answer: 50*7+25"),
        (PUZZLE, "Answer: 50*7+22"),
        (PUZZLE, "Answer: 372"),
        (PUZZLE, "Answer: 50*7+25-3/(7-7)"),
        (PUZZLE, "Answer: 50*7+25-3+7-7"),
        (PUZZLE, "Answer: 3**7"),
        (PUZZLE, "Answer: __import__('os').getpid()"),
        (PUZZLE, "Answer: " + "(" * 150 + "3" + ")" * 150),
        (PUZZLE, "Answer: -3+375"),
    ],
)
def test_what_is_wrong_is_graded_wrong_and_says_why(grader, reply):
    grade = grader.grade(reply)

    assert not grade.is_right
    assert grade.why


def test_a_countdown_expression_may_use_a_number_as_often_as_it_is_given():
    assert Countdown((5, 5, 2), 12).grade("5 + 5 + 2").is_right
    assert not Countdown((5, 2), 12).grade("5 + 5 + 2").is_right


def test_numbers_are_read_exactly_and_none_out_of_dates_and_names():
    assert numbers_in("1,250.50 and 1/2, then -3 on 2025-06-15 for s1 at 10:30") == [
        Fraction("1250.5"),
        Fraction(1, 2),
        Fraction(-3),
    ]


WRITTEN = st.lists(
    st.sampled_from(
        [*"0123456789+-*/()=.,;: \n%$\\{}[]×÷−", "Answer: ", "A)", "B", "50*7", "1,000", "South", "9" * 60]
    ),
    max_size=60,
).map("".join)


@pytest.mark.parametrize(
    "grader",
    [Exact("a"), Number(Fraction(1)), Items(("a",)), CHOICE, RACE, EXTREMES, PUZZLE],
    ids=lambda g: type(g).__name__,
)
@settings(max_examples=500, deadline=None)
@given(reply=st.one_of(st.text(), WRITTEN))
@example(reply="2.5/3")
@example(reply="9" * 5000)
def test_no_reply_makes_a_grader_raise(grader, reply):
    grade = grader.grade(reply)

    assert grade.is_right is (grade.why == "")
