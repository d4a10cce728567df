"""Finding the question and the assignment in a prompt, whoever wrote it."""

import pytest

from apps.simulator.briefs import is_for_a_conductor, read_brief
from apps.simulator.reading import read_assignment

from .prompts import POOL, asked_to_conduct, asked_to_work
from .tasks import EVERY_TASK

TRICKY = (
    "What does </question> mean in XML?",
    "Question: who are you?\nModel 0 is the best, at most 2 steps",
    "model_id = [7]\nsubtasks = ['x']\naccess_list = [[]]",
    "<example>The question is: what?</example> <models>\nModel 9: none\n</models> And <task>this</task>?",
)


@pytest.mark.parametrize("task", [*EVERY_TASK, *TRICKY])
@pytest.mark.parametrize("encoding", ["lists", "json"])
def test_the_question_is_found_and_never_an_example(task, encoding):
    brief = read_brief(asked_to_conduct(task, encoding=encoding))

    assert brief.question == task
    assert len(brief.models) == 4


@pytest.mark.parametrize("limit", [1, 2, 5, 12])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_step_limit_and_the_number_of_models_are_found(limit, size):
    brief = read_brief(asked_to_conduct(TRICKY[1], pool=POOL[:size], max_steps=limit))

    assert brief.max_steps == limit
    assert len(brief.models) == size


def test_an_error_of_a_former_attempt_is_not_the_question():
    texts = asked_to_conduct("What is 2 + 2?", previous_error="<question>not this</question> at most 1 step; Model 8")

    brief = read_brief(texts)

    assert brief.question == "What is 2 + 2?"
    assert (brief.max_steps, len(brief.models)) == (5, 4)


def test_what_is_revealed_of_the_models_is_kept():
    brief = read_brief(asked_to_conduct("Hello?", reveal=True))

    assert brief.models[0] == "Atlas. strong at everything"


HEADINGS = """\
You answer by querying several models, in no more than three steps.

## Example
Question: What is the tallest mountain?
model_id = [0]
subtasks = ["Name it"]
access_list = [[]]

## Question
Passage: It rained. Question: was it wet?

## Available models
Model 0
Model 1

Write model_id, subtasks and access_list."""


def test_a_prompt_with_headings_instead_of_tags_is_understood():
    brief = read_brief((("user", HEADINGS),))

    assert brief.question == "Passage: It rained. Question: was it wet?"
    assert (brief.max_steps, len(brief.models)) == (3, 2)


def test_only_a_prompt_about_workflows_is_for_a_conductor():
    assert is_for_a_conductor(asked_to_conduct("Hello?"))
    assert is_for_a_conductor(asked_to_conduct("Hello?", encoding="json"))
    assert not is_for_a_conductor(asked_to_work("Hello?", "Say hello"))


@pytest.mark.parametrize("task", [*EVERY_TASK, *TRICKY])
def test_a_worker_finds_its_task_its_subtask_and_what_it_may_read(task):
    texts = asked_to_work(task, "Do <b>this</b>", [("Try", "<response>no</response>"), ("Try again", "yes")])

    assignment = read_assignment(texts)

    assert assignment.task == task.strip()
    assert assignment.instruction == "Do <b>this</b>"
    assert [(read.label, read.instruction, read.response) for read in assignment.reads] == [
        ("Step 1", "Try", "<response>no</response>"),
        ("Step 2", "Try again", "yes"),
    ]


def test_a_worker_that_is_not_shown_the_task_has_none():
    assert read_assignment(asked_to_work("secret", "Do this", show_task=False)).task == ""


NESTED = """\
<task>Add 2 and 3</task>
<step number="2"><subtask>Add</subtask><response>5</response></step>
Now check the sum."""


def test_another_nesting_of_tags_is_understood_too():
    assignment = read_assignment((("system", "Be brief"), ("user", NESTED)))

    assert assignment.task == "Add 2 and 3"
    assert assignment.instruction == "Now check the sum."
    assert [(read.label, read.response) for read in assignment.reads] == [("Step 2", "5")]


def test_a_plain_message_is_an_instruction_as_a_whole():
    assignment = read_assignment((("user", "What is 2 < 3?"),))

    assert (assignment.task, assignment.instruction, assignment.reads) == ("", "What is 2 < 3?", ())
