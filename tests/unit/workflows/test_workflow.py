import pytest
from pydantic import ValidationError

from apps.workflows.workflow import Step, Workflow

from .making import workflow


def test_a_step_is_found_by_its_key_and_stands_where_it_was_put():
    flow = workflow(s1="", s2="s1")

    assert flow.step("s2").access == ("s1",)
    assert flow.position("s2") == 1
    assert flow.keys == ("s1", "s2")


def test_a_copy_with_other_steps_knows_its_own_keys():
    flow = workflow(s1="", s2="s1")
    assert flow.keys == ("s1", "s2")

    assert flow.model_copy(update={"steps": flow.steps[:1]}).keys == ("s1",)


def test_an_unknown_key_is_a_key_error():
    with pytest.raises(KeyError, match="s9"):
        workflow(s1="").position("s9")


@pytest.mark.parametrize("key", ["", "S1", "-a", "a b", "a\n", "a" * 41])
def test_a_key_is_a_short_slug(key: str):
    with pytest.raises(ValidationError):
        Step(key=key, instruction="x", worker="atlas")


def test_a_workflow_survives_json():
    flow = workflow(s1="", s2="s1")

    assert Workflow.model_validate_json(flow.model_dump_json()) == flow
