from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from apps.core.errors import Invalid
from apps.workflows.edits import (
    AddStep,
    Allow,
    Deny,
    Duplicate,
    Edit,
    EditRefused,
    MoveStep,
    RemoveStep,
    SetAccess,
    SetInstruction,
    SetWorker,
    apply,
    fresh_key,
)
from apps.workflows.graph import Problem, dead_steps, reference_problems
from apps.workflows.workflow import Step, Workflow

from .making import any_workflows, sound_workflows, workflow

DIAMOND = workflow(s1="", s2="s1", s3="s1", s4="s2 s3")


def refusal(flow: Workflow, edit: Edit) -> Problem:
    with pytest.raises(EditRefused) as refused:
        apply(flow, edit)
    assert isinstance(refused.value, Invalid)
    assert refused.value.message == refused.value.problem.message
    return refused.value.problem


def access(flow: Workflow) -> dict[str, tuple[str, ...]]:
    return {step.key: step.access for step in flow.steps}


# Adding and copying


def test_a_new_step_stands_behind_the_one_named_and_reads_what_it_was_given():
    edit = AddStep(after="s2", instruction="check", worker="birch", access=("s2", "s1", "s2"))

    edited = apply(DIAMOND, edit)

    assert edited.workflow.keys == ("s1", "s2", "s5", "s3", "s4")
    assert edited.workflow.step("s5") == Step(key="s5", instruction="check", worker="birch", access=("s1", "s2"))
    assert edited.notes == ()


def test_a_new_step_behind_none_stands_in_front():
    assert apply(DIAMOND, AddStep(after=None, worker="atlas")).workflow.keys == ("s5", "s1", "s2", "s3", "s4")


def test_the_first_step_of_an_empty_workflow_is_s1():
    edited = apply(Workflow(steps=()), AddStep(after=None, worker="atlas"))

    assert edited.workflow.keys == ("s1",)
    assert edited.notes == ()


def test_a_new_last_step_gives_the_answer_and_the_note_says_so():
    edited = apply(DIAMOND, AddStep(after="s4", worker="atlas", access=("s4",)))

    assert edited.notes == ("The answer is now the result of step 5.",)


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ("s3", "forward-reference", "The new step cannot read step 3, which it stands before."),
        ("ghost", "unknown-reference", "The new step cannot read “ghost”, which is not a step of this workflow."),
        ("s5", "unknown-reference", "The new step cannot read “s5”, which is not a step of this workflow."),
    ],
)
def test_a_new_step_reads_only_steps_before_it(source: str, code: str, message: str):
    problem = refusal(DIAMOND, AddStep(after="s2", worker="atlas", access=(source,)))

    assert (problem.code, problem.message) == (code, message)


def test_a_new_key_does_not_reopen_that_of_a_removed_step():
    without = apply(DIAMOND, RemoveStep(key="s3")).workflow

    assert apply(without, AddStep(after="s4", worker="atlas")).workflow.keys[-1] == "s5"


def test_a_new_key_is_none_that_an_earlier_run_of_the_lineage_used():
    edited = apply(workflow(s1=""), AddStep(after="s1", worker="atlas"), used=["s2", "s7"])

    assert edited.workflow.keys == ("s1", "s8")


def test_a_new_key_is_none_that_a_dangling_read_names():
    edited = apply(workflow(s1="s2"), AddStep(after=None, worker="atlas"))

    assert edited.workflow.keys == ("s3", "s1")
    assert edited.notes == ("Step 2 no longer reads “s2”, which is not a step of this workflow.",)


@given(st.sets(st.sampled_from(["s1", "s2", "s10", "s999999999", "s1000000000", "s01", "sx", "a"])))
def test_a_fresh_key_is_valid_and_taken_by_nobody(taken: set[str]):
    key = fresh_key(taken)

    assert key not in taken
    assert Step(key=key, instruction="", worker="")


def test_a_copy_stands_behind_its_original_and_is_read_by_nobody():
    edited = apply(DIAMOND, Duplicate(key="s2"))

    assert edited.workflow.keys == ("s1", "s2", "s5", "s3", "s4")
    assert edited.workflow.step("s5") == DIAMOND.step("s2").model_copy(update={"key": "s5"})
    assert dead_steps(edited.workflow) == ["s5"]


# Removing


def test_removing_a_step_that_is_read_says_who_no_longer_reads_it():
    edited = apply(DIAMOND, RemoveStep(key="s1"))

    assert access(edited.workflow) == {"s2": (), "s3": (), "s4": ("s2", "s3")}
    assert edited.notes == (
        "Step 2 (now step 1) no longer reads step 1.",
        "Step 3 (now step 2) no longer reads step 1.",
    )


def test_removing_the_last_step_says_where_the_answer_comes_from():
    assert apply(DIAMOND, RemoveStep(key="s4")).notes == ("The answer is now the result of step 3.",)


def test_the_only_step_stays():
    problem = refusal(workflow(s1=""), RemoveStep(key="s1"))

    assert (problem.code, problem.step) == ("only-step", "s1")


# Moving


def test_a_step_moves_to_its_place_and_access_lists_follow_the_new_order():
    edited = apply(DIAMOND, MoveStep(key="s3", to=1))

    assert edited.workflow.keys == ("s1", "s3", "s2", "s4")
    assert edited.workflow.step("s4").access == ("s3", "s2")


def test_a_move_to_its_own_place_changes_nothing():
    assert apply(DIAMOND, MoveStep(key="s2", to=1)).workflow == DIAMOND


def test_a_step_does_not_move_before_what_it_reads():
    problem = refusal(DIAMOND, MoveStep(key="s2", to=0))

    assert problem.message == "Step 2 cannot move to place 1: it reads step 1, which must stay before it."
    assert (problem.code, problem.step, problem.edge) == ("forward-reference", "s2", ("s1", "s2"))


def test_a_step_does_not_move_behind_what_reads_it():
    problem = refusal(DIAMOND, MoveStep(key="s1", to=2))

    assert problem.message == "Step 1 cannot move to place 3: step 2 reads it and must stay after it."
    assert problem.edge == ("s1", "s2")


@pytest.mark.parametrize("to", [-1, 4])
def test_a_step_moves_only_to_a_place_there_is(to: int):
    assert refusal(DIAMOND, MoveStep(key="s2", to=to)).code == "no-such-place"


def test_a_move_can_mend_a_forward_read():
    edited = apply(workflow(s1="s2", s2=""), MoveStep(key="s2", to=0))

    assert access(edited.workflow) == {"s2": (), "s1": ("s2",)}
    assert edited.notes == ("The answer is now the result of step 2.",)


def test_a_read_named_twice_still_keeps_a_step_from_moving():
    assert refusal(workflow(s1="", s2="s1 s1"), MoveStep(key="s2", to=0)).code == "forward-reference"


# Texts, workers and reads


def test_an_instruction_and_a_worker_change_and_nothing_else():
    edited = apply(DIAMOND, SetInstruction(key="s2", instruction="")).workflow
    edited = apply(edited, SetWorker(key="s2", worker="cedar")).workflow

    assert edited.step("s2") == Step(key="s2", instruction="", worker="cedar", access=("s1",))
    assert [step for step in edited.steps if step.key != "s2"] == [step for step in DIAMOND.steps if step.key != "s2"]


def test_the_settings_of_the_workflow_survive_an_edit():
    flow = DIAMOND.model_copy(update={"show_task": False, "on_failure": "empty"})

    edited = apply(flow, RemoveStep(key="s1")).workflow

    assert (edited.show_task, edited.on_failure, edited.sink) == (False, "empty", flow.sink)


def test_an_allowed_read_takes_its_place_in_order():
    edited = apply(workflow(s1="", s2="", s3="s2"), Allow(reader="s3", source="s1"))

    assert edited.workflow.step("s3").access == ("s1", "s2")


def test_allowing_what_is_allowed_changes_nothing_and_says_so():
    edited = apply(DIAMOND, Allow(reader="s2", source="s1"))

    assert edited.workflow == DIAMOND
    assert edited.notes == ("Step 2 already reads step 1.",)


def test_a_denied_read_is_gone():
    assert apply(DIAMOND, Deny(reader="s4", source="s2")).workflow.step("s4").access == ("s3",)


def test_denying_what_is_not_read_changes_nothing_and_says_so():
    edited = apply(DIAMOND, Deny(reader="s3", source="s2"))

    assert edited.workflow == DIAMOND
    assert edited.notes == ("Step 3 does not read step 2.",)


def test_denying_a_dangling_read_mends_it():
    edited = apply(workflow(s1="ghost"), Deny(reader="s1", source="ghost"))

    assert access(edited.workflow) == {"s1": ()}
    assert edited.notes == ()


def test_an_access_list_is_set_whole_in_order_and_without_doubles():
    edited = apply(DIAMOND, SetAccess(key="s4", access=("s3", "s1", "s3")))

    assert edited.workflow.step("s4").access == ("s1", "s3")


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        (
            "s4",
            "forward-reference",
            "Step 2 cannot read step 4, which comes later; a step may read only earlier steps.",
        ),
        ("s2", "self-reference", "Step 2 cannot read itself; a step may read only earlier steps."),
        ("ghost", "unknown-reference", "Step 2 cannot read “ghost”, which is not a step of this workflow."),
    ],
)
def test_no_edit_lets_a_step_read_what_is_not_before_it(source: str, code: str, message: str):
    expected = Problem(code, message, "s2", (source, "s2"))

    assert refusal(DIAMOND, Allow(reader="s2", source=source)) == expected
    assert refusal(DIAMOND, SetAccess(key="s2", access=("s1", source))) == expected


@pytest.mark.parametrize(
    "edit",
    [
        AddStep(after="ghost", worker="atlas"),
        RemoveStep(key="ghost"),
        MoveStep(key="ghost", to=0),
        SetInstruction(key="ghost", instruction="x"),
        SetWorker(key="ghost", worker="atlas"),
        Allow(reader="ghost", source="s1"),
        Deny(reader="ghost", source="s1"),
        Deny(reader="s2", source="ghost"),
        SetAccess(key="ghost", access=()),
        Duplicate(key="ghost"),
    ],
    ids=lambda edit: edit.op,
)
def test_an_edit_of_a_step_that_is_not_there_is_refused_by_name(edit: Edit):
    problem = refusal(DIAMOND, edit)

    assert (problem.code, problem.message) == ("unknown-step", "There is no step “ghost” in this workflow.")


def test_a_workflow_in_which_keys_are_doubled_is_not_edited():
    step = Step(key="a", instruction="x", worker="atlas")

    assert refusal(Workflow(steps=(step, step)), RemoveStep(key="a")).code == "duplicate-key"


# Reading edits


def test_an_edit_is_told_by_its_op():
    read = TypeAdapter(Edit).validate_json

    assert read('{"op": "allow", "reader": "s3", "source": "s1"}') == Allow(reader="s3", source="s1")
    assert read('{"op": "add", "after": null, "worker": "atlas"}') == AddStep(after=None, worker="atlas")
    with pytest.raises(ValidationError):
        read('{"op": "conquer", "key": "s1"}')
    with pytest.raises(ValidationError):
        read('{"op": "remove", "key": "s1", "also": "s2"}')


# Whatever is edited

NAMES = st.sampled_from(["s1", "s2", "s3", "s4", "s9", "a", "b-2", "ghost"])
ACCESS = st.lists(NAMES, max_size=4).map(tuple)
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(AddStep, after=st.none() | NAMES, worker=st.just("atlas"), access=ACCESS),
    st.builds(RemoveStep, key=NAMES),
    st.builds(MoveStep, key=NAMES, to=st.integers(-1, 7)),
    st.builds(SetInstruction, key=NAMES, instruction=st.text(max_size=5)),
    st.builds(SetWorker, key=NAMES, worker=st.just("birch")),
    st.builds(Allow, reader=NAMES, source=NAMES),
    st.builds(Deny, reader=NAMES, source=NAMES),
    st.builds(SetAccess, key=NAMES, access=ACCESS),
    st.builds(Duplicate, key=NAMES),
)


def assert_sound(flow: Workflow) -> None:
    assert list(reference_problems(flow)) == []
    assert len(set(flow.keys)) == len(flow.keys)
    for step in flow.steps:
        assert list(step.access) == sorted(step.access, key=flow.position)


@settings(max_examples=300)
@given(sound_workflows(), st.lists(EDITS, max_size=12))
def test_no_row_of_edits_makes_a_sound_workflow_unsound(flow: Workflow, edits: list[Edit]):
    for edit in edits:
        with suppress(EditRefused):
            flow = apply(flow, edit).workflow
        assert_sound(flow)


@settings(max_examples=300)
@given(any_workflows(), EDITS)
def test_an_edit_of_a_broken_workflow_mends_its_reads_or_is_refused(flow: Workflow, edit: Edit):
    try:
        edited = apply(flow, edit)
    except EditRefused:
        return
    assert_sound(edited.workflow)


@given(sound_workflows(), st.data())
def test_edits_never_change_the_key_or_the_text_of_other_steps(flow: Workflow, data: st.DataObject):
    edit = data.draw(EDITS)
    try:
        edited = apply(flow, edit).workflow
    except EditRefused:
        return

    before = {step.key: (step.instruction, step.worker) for step in flow.steps}
    after = {step.key: (step.instruction, step.worker) for step in edited.steps}
    changed = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    assert changed <= {getattr(edit, "key", None)}


@given(sound_workflows(), st.data())
def test_a_denied_read_can_be_allowed_again(flow: Workflow, data: st.DataObject):
    edges = [(source, step.key) for step in flow.steps for source in step.access]
    if not edges:
        return
    source, reader = data.draw(st.sampled_from(edges))

    without = apply(flow, Deny(reader=reader, source=source)).workflow

    assert without != flow
    assert apply(without, Allow(reader=reader, source=source)).workflow == flow
