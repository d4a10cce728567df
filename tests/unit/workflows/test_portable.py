"""Workflows as files: written and read back without loss, and whatever is wrong with one is said where it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.workflows.lists import ListsInvalid
from apps.workflows.portable import MOST_CHARS, FileInvalid, Portable, as_json, as_lists, read_json, with_workers
from apps.workflows.workflow import Step, Vote, Workflow


def workflow() -> Workflow:
    return Workflow(
        steps=(
            Step(key="s1", instruction="Think { about } it\n</script>", worker="sim-atlas", role="thinker"),
            Step(key="s2", instruction="Ünïcode \u2028 line", worker="sim-birch", access=("s1",), round=2),
            Step(key="s3", instruction="Answer", worker="sim-atlas", access=("s1", "s2")),
        ),
        sink=Vote(over=("s2", "s3")),
        show_task=False,
    )


def portable(**changes: Any) -> Portable:
    return Portable(
        **({"name": "Growth", "task": "Which {what}?", "placeholders": True, "workflow": workflow()} | changes)
    )


def problems(text: str) -> str:
    with pytest.raises(FileInvalid) as refusal:
        read_json(text)
    return " | ".join(problem.message for problem in refusal.value.problems)


def outcome(text: str) -> object:
    """What a file was read as, or what was wrong with it."""
    try:
        return read_json(text)
    except FileInvalid as refusal:
        return refusal.problems


def test_the_studios_own_form_is_read_back_without_loss() -> None:
    assert read_json(as_json(portable())) == portable()


def test_lists_are_read_back_with_their_workers_and_their_reads() -> None:
    plain = workflow().model_copy(update={"sink": Workflow(steps=()).sink, "show_task": True})
    back = read_json(as_lists(portable(workflow=plain)))

    assert [(step.instruction, step.worker, step.access) for step in back.workflow.steps] == [
        (step.instruction, step.worker, step.access) for step in plain.steps
    ]
    assert (back.name, back.task, back.placeholders) == ("Growth", "Which {what}?", True)


def test_lists_without_names_call_their_workers_by_number() -> None:
    back = read_json('{"model_id": [0, 3, "0"], "subtasks": ["a", "b", "c"], "access_list": [[], ["all"], [1]]}')

    assert back.workers == ("worker 0", "worker 3")
    assert [step.access for step in back.workflow.steps] == [(), ("s1",), ("s2",)]


def test_lists_may_call_their_workers_by_any_name() -> None:
    back = read_json('{"model_id": ["gpt-9", "claude"], "subtasks": ["a", "b"], "access_list": [[], [0]]}')

    assert back.workers == ("gpt-9", "claude")


def test_other_workers_take_the_places_of_those_that_are_named() -> None:
    changed = with_workers(workflow(), {"sim-atlas": "sim-delta"})

    assert [step.worker for step in changed.steps] == ["sim-delta", "sim-birch", "sim-delta"]
    assert changed.model_copy(update={"steps": workflow().steps}) == workflow()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Line 1, column 2"),
        ('{\n"model_id": [1,\n}', "Line 3, column 1"),
        ("[]", "one JSON object"),
        ("{}", "“missing”"),
        ('{"format": "n8n"}', "“n8n”"),
        ('{"format": "conductor-studio/workflow", "version": 2}', "version 1"),
        ('{"model_id": 1, "subtasks": [], "access_list": []}', "model_id is not a list"),
        ('{"model_id": [0], "subtasks": ["a", "b"], "access_list": [[], []]}', "equally long"),
        ('{"model_id": [0, 0], "subtasks": ["a", "b"], "access_list": [[1], []]}', "access_list[0]"),
        ('{"model_id": [0], "subtasks": [""], "access_list": [[]]}', "subtasks[0]"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_step_or_edge(text: str, said: str) -> None:
    assert said in problems(text)


def test_a_fault_in_a_step_names_the_step_and_its_field() -> None:
    body = json.loads(as_json(portable()))
    body["workflow"]["steps"][1]["worker"] = 7
    body["workflow"]["steps"][2]["nonsense"] = True

    said = problems(json.dumps(body))

    assert "Step 2, worker:" in said
    assert "Step 3, nonsense:" in said


def test_what_no_database_can_hold_is_left_out() -> None:
    body = json.loads(as_json(portable()))
    body["workflow"]["steps"][0]["instruction"] = "a\0b\ud800c"

    assert "\0" not in read_json(json.dumps(body)).workflow.steps[0].instruction


def test_a_file_that_is_too_long_or_too_deep_is_refused() -> None:
    assert "at most" in problems(" " * (MOST_CHARS + 1))
    assert "deeply" in problems('{"a":' + "[" * 200_000)


def test_lists_cannot_say_a_read_of_a_later_step() -> None:
    steps = (Step(key="a", instruction="x", worker="w", access=("b",)), Step(key="b", instruction="y", worker="w"))

    with pytest.raises(ListsInvalid):
        as_lists(portable(workflow=Workflow(steps=steps)))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@given(values, values, values)
def test_whatever_is_sent_as_lists_is_read_or_refused(model_id: Any, subtasks: Any, access_list: Any) -> None:
    assert outcome(json.dumps({"model_id": model_id, "subtasks": subtasks, "access_list": access_list}))


@given(values)
def test_whatever_is_sent_as_a_workflow_is_read_or_refused(body: Any) -> None:
    file = {"format": "conductor-studio/workflow", "version": 1, "workflow": body}
    assert outcome(json.dumps(file))
