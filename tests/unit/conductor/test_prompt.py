"""What a conductor is asked."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import pytest

from apps.conductor.examples import EXAMPLES
from apps.conductor.parse import parse
from apps.conductor.prompt import VERSION, VERSIONS, Encoding, PoolEntry, Previous, conductor_messages, prompt_of
from apps.conductor.prompt_schema import json_schema, response_format, turn_schema
from apps.conductor.prompt_turns import ROLES
from apps.core.errors import Invalid
from apps.workflows.graph import check
from apps.workflows.lists import ThreeLists, from_lists, to_lists

POOL = (
    PoolEntry("atlas", "Atlas", "strong\nand slow"),
    PoolEntry("birch", "Birch", ""),
    PoolEntry("cedar", "Cedar", "fast"),
)


def ask(task: str = "What is 2 + 2?", pool: Sequence[PoolEntry] = POOL, max_steps: int = 5, **options: Any) -> str:
    [message] = conductor_messages(task, pool, max_steps, **options)
    assert message["role"] == "user"
    return message["content"]


def test_it_says_the_role_the_limit_the_elements_and_the_lists() -> None:
    prompt = ask()

    assert "at most 5 steps" in prompt
    for word in ("a model", "a subtask", "an access list", "model_id holds", "subtasks holds", "access_list holds"):
        assert word in prompt
    assert "response of the last step is returned" in prompt


def test_the_question_stands_between_its_tags() -> None:
    assert "<question>\nWhat is 2 + 2?\n</question>" in ask()


def test_no_question_can_close_its_own_tags() -> None:
    prompt = ask("a</question>b</QUESTION-2>c")

    assert "<question-3>\na</question>b</QUESTION-2>c\n</question-3>" in prompt


def test_workers_are_numbers_and_nothing_else() -> None:
    prompt = ask()

    assert "<models>\nModel 0\nModel 1\nModel 2\n</models>" in prompt
    assert "Atlas" not in prompt
    assert "atlas" not in prompt


def test_names_and_strengths_are_revealed_on_request() -> None:
    prompt = ask(reveal=True)

    assert "<models>\nModel 0: Atlas. strong and slow\nModel 1: Birch\nModel 2: Cedar. fast\n</models>" in prompt


def test_it_does_not_speak_of_a_previous_reply_unless_there_was_one() -> None:
    assert "previous reply" not in ask()
    assert "Step 2 reads itself." in ask(previous_error="Step 2 reads itself.")


@pytest.mark.parametrize("max_steps", [1, 2, 3, 5])
def test_no_example_is_longer_than_the_workflow_may_be(max_steps: int) -> None:
    assert ask(max_steps=max_steps).count("<example>") == sum(len(e.subtasks) <= max_steps for e in EXAMPLES)


def test_examples_can_be_left_out() -> None:
    assert "<example>" not in ask(examples=())


def test_the_examples_differ_in_domain_and_shape() -> None:
    assert len({example.domain for example in EXAMPLES}) == 4
    assert len({example.reads for example in EXAMPLES}) == 4


@pytest.mark.parametrize("encoding", ["lists", "json"])
@pytest.mark.parametrize("reveal", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_example_is_a_workflow_that_this_pool_could_carry_out(
    encoding: Encoding, reveal: bool, size: int
) -> None:
    pool = POOL[:size]
    slugs = [entry.slug for entry in pool]
    prompt = ask(pool=pool, encoding=encoding, reveal=reveal)
    written = [part.partition("</example>")[0] for part in prompt.split("<example>\n")[1:]]

    assert len(written) == 4
    for text in written:
        lists = parse(text, names={slug: number for number, slug in enumerate(slugs)}).lists
        assert lists is not None
        workflow = from_lists(lists.model_id, lists.subtasks, lists.access_list, pool=slugs)
        assert check(workflow, workers=slugs, max_steps=5) == []
        assert to_lists(workflow, pool=slugs).subtasks == lists.subtasks


def test_the_same_words_come_first_for_every_task() -> None:
    one, other = ask("One?"), ask("Another, quite different one?", pool=POOL[::-1])

    assert one.partition("<question>")[0] == other.partition("<question>")[0]


def test_the_schema_names_the_workers_and_the_limit() -> None:
    steps = json_schema(POOL, 4)["properties"]["steps"]

    assert steps["maxItems"] == 4
    assert steps["items"]["properties"]["worker"]["enum"] == ["atlas", "birch", "cedar"]
    assert steps["items"]["properties"]["access"]["items"]["maximum"] == 2


def test_the_schema_bounds_every_text_and_stays_below_what_servers_refuse() -> None:
    properties = json_schema(POOL, 4)["properties"]
    instruction, thinking = properties["steps"]["items"]["properties"]["instruction"], properties["thinking"]

    assert (instruction["minLength"], instruction["maxLength"]) == (1, 1_500)
    assert thinking["maxLength"] == 1_900


def test_the_schema_of_the_first_round_wants_a_step_and_that_of_a_later_one_does_not() -> None:
    first, later = (json_schema(POOL, 4, later=later)["properties"]["steps"] for later in (False, True))

    assert (first["minItems"], later["minItems"]) == (1, 0)
    assert (first["maxItems"], later["maxItems"]) == (4, 4)
    assert later["items"]["properties"]["access"]["items"]["anyOf"][1] == {"type": "string", "enum": ["all"]}


@pytest.mark.parametrize("later", [False, True])
def test_even_a_workflow_of_one_step_can_say_what_it_may_read(later: bool) -> None:
    access = json_schema(POOL, 1, later=later)["properties"]["steps"]["items"]["properties"]["access"]

    assert access["maxItems"] == int(later)  # the answer so far, in a later round


def test_the_schema_asks_for_what_strict_servers_want_of_every_object() -> None:
    for schema in (json_schema(POOL, 4), json_schema(POOL, 4, later=True), turn_schema(POOL, ROLES)):
        for each in (schema, schema["properties"].get("steps", {}).get("items", schema)):
            assert each["required"] == list(each["properties"])
            assert each["additionalProperties"] is False
        assert response_format("x", schema)["json_schema"]["strict"] is True


def test_the_schema_of_a_turn_names_the_workers_and_the_roles_of_that_turn() -> None:
    properties = turn_schema(POOL, ROLES[:2], reveal=False)["properties"]

    assert properties["worker"]["enum"] == ["Model 0", "Model 1", "Model 2"]
    assert properties["role"]["enum"] == ["thinker", "worker"]


def test_the_words_of_a_version_stay_as_they_are() -> None:
    """A run names the version it was planned with. To reword a prompt give the new wording a version of its own."""
    previous = Previous(lists=ThreeLists([0], ["Do it."], [[]]), answer="4", round=1)
    asked = [
        prompt_of("1")(
            "What is 2 + 2?", POOL, 5, encoding=encoding, reveal=reveal, previous=before, previous_error=error
        )
        for encoding in ("lists", "json")
        for reveal in (False, True)
        for before in (None, previous)
        for error in (None, "It was empty.")
    ]

    assert sha256(json.dumps(asked).encode()).hexdigest()[:16] == "21e236b1443fd898"
    assert list(VERSIONS) == ["1"] == [VERSION]


def test_a_version_that_never_was_is_refused_by_name() -> None:
    with pytest.raises(Invalid, match="no prompt version “2”; there are: 1"):
        prompt_of("2")


def test_the_schema_keeps_names_back_where_the_prompt_does() -> None:
    schema = json_schema(POOL, 4, reveal=False)

    assert "atlas" not in json.dumps(schema)
    assert "Model 2" in json.dumps(schema)
    assert '"worker": "Model 2"' in ask(encoding="json")
