import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.workflows.answers import final_answer, normalised


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Answer: 42", "42"),
        ("Working it out:\n\n- 6 * 7 = 42\n\nAnswer: 42", "42"),
        ("**Answer:** 42", "42"),
        ("**Final Answer**: the 6.3 mile race, by 139 m", "the 6.3 mile race, by 139 m"),
        ("Answer: **South, 53.1 %**", "South, 53.1 %"),
        ("### Final answer\n\nfig-date-kiwi\n\nAsk me for the working.", "fig-date-kiwi"),
        ('Answer:\n```json\n{\n  "due": "2026-03-03"\n}\n```', '{\n  "due": "2026-03-03"\n}'),
        ('Answer: {\n  "due": 1\n}', '{\n  "due": 1\n}'),
        ("So the answer is 42.", "42."),
        ("The answer is **42**, which is even.", "42"),
        ("The answer is **42** metres.", "42** metres."),
        ("After all this, the answer is Tokyo. It has many inhabitants.", "Tokyo"),
        ("The answer is St. Gallen", "St. Gallen"),
        ("The answer to the question is 7", "7"),
        ("Thus we get \\boxed{42}.", "42"),
        ("Thus $\\boxed{\\frac{1}{2}}$", "\\frac{1}{2}"),
        ("Answer: \\boxed{5}", "5"),
        ("It comes to\n\n**170**", "170"),
        ("So it is **170** in all.", "170"),
        ("It is long work.\nMany lines of it.\n\nTokyo", "Tokyo"),
        ("Tokyo", "Tokyo"),
        ('Here it is:\n\n```json\n{"a": 1}\n```', '{"a": 1}'),
        ('{"answer": "42", "working": "6 * 7"}', "42"),
        ('{"answer": [1, 2]}', "[1, 2]"),
        ("<think>The answer is 5, or so.</think>The answer is 6", "6"),
        ("Answer: 41\n\nNo: I slipped.\n\nAnswer: 42", "42"),
        ("The answer is 41.\n\nChecked: \\boxed{42}", "42"),
        ("- Answer: `desserts`", "desserts"),
        ("", ""),
        ("   \n", ""),
    ],
)
def test_the_answer_a_reply_states_is_taken_out_of_it(reply, answer):
    assert final_answer(reply) == answer


def test_a_reply_that_states_no_answer_stays_whole():
    essay = "One thing is this.\nAnother is that.\nAnd so they go on."

    assert final_answer(essay) == essay


def test_a_question_about_answers_is_not_taken_for_one():
    assert final_answer("I was asked for the ground only.\nSo I give no result.") != "I give no result."


@pytest.mark.parametrize(
    "forms",
    [
        ("1,000", "1000", "1000.0", "1000.", "+1000", "1\u202f000", "$1000$", "**1000**", " 1000\n"),
        ("0.5", ".5", "0.50"),
        ("-3", "−3", "-3.00"),
        ("0", "-0", "0.0"),
        ("1/2", "\\frac{1}{2}", "\\dfrac{1}{2}", "$\\frac{1}{2}$"),
        ("South, 53.1 %", "south,53.1%", "South, 53.1 %.", "“South, 53.1 %”", "South,  53.10 %"),
        ("B", "b", "(B)", "B)", "B.", "B) 84.1", "(B) 84.1", "**B**", "\\text{B}"),
        ("Tokyo", "tokyo!", "'Tokyo'", "`Tokyo`", "_Tokyo_", "TOKYO."),
        ('{"a": 1, "b": [2]}', '{"b":[2],"a":1}', '{\n "a": 1,\n "b": [2]\n}'),
        ("9, 7, 4, 1", "9,7,4,1", "9 , 7 , 4 , 1"),
        ("106,560 units", "106560 units", "106560  Units."),
    ],
)
def test_forms_of_one_answer_are_equal(forms):
    once = {normalised(form) for form in forms}

    assert once == {normalised(forms[0])}
    assert {normalised(form) for form in once} == once


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1/2", "0.5"),
        ("2025-06-15", "2025-6-15"),
        ("1.10.0", "1.1.0"),
        ("10:30", "10:3"),
        ("5", "-5"),
        ("5!", "5"),
        ("1000", "100"),
        ("12,5", "125"),
        ("A) one; B) two", "A"),
        ("J. Smith", "J"),
        ("50*7+25-3", "50*7+253"),
        ("53.1 %", "53.1"),
    ],
)
def test_different_answers_stay_different(one, other):
    assert normalised(one) != normalised(other)


def test_what_cannot_be_simplified_stays():
    assert normalised("fig-date-kiwi") == "fig-date-kiwi"
    assert normalised("2025-06-15") == "2025-06-15"
    assert normalised("at least 40 (84 cars, 2,352 kWh)") == "at least 40 (84 cars, 2352 kwh)"


ANSWERISH = st.lists(
    st.sampled_from(
        [*"0123456789.,-+/*%:;!?()[]{}\"'`$_#> \n\\", "Answer:", "the answer is ", "\\boxed{", "\\frac{", "```", "**",
         "a)", "1,000", "<think>", "</think>", "word", "Ä", "\u202f", "\ud800", "\x00"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(st.one_of(st.text(), ANSWERISH))
def test_no_reply_makes_it_raise(reply):
    answer = normalised(final_answer(reply))

    assert answer == answer.strip()
    assert normalised(reply) == normalised(f"  {reply}\n")


@pytest.mark.parametrize(
    "unit",
    [" ", "\n", "*", "answer ", "Answer:\n", "1,000", "((", "[", "{", "\\boxed{", "**a", "a)", "`", "```\n", ".!"],
)
def test_a_megabyte_of_anything_is_read_in_a_moment(unit):
    reply = unit * (1_000_000 // len(unit))
    began = time.process_time()

    normalised(final_answer(reply))

    assert time.process_time() - began < 2.0
