import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.workflows.diff import Alignment, Change, Pair, SinkChange, align, change_of, likeness, sink_change
from apps.workflows.edits import AddStep, Allow, Deny, Edit, EditRefused, MoveStep, RemoveStep, SetInstruction, apply
from apps.workflows.workflow import Last, Select, Step, Vote, Workflow

from .making import sound_workflows, workflow

FOUR = [
    "Compute the growth of the north",
    "Compute the growth of the south",
    "Compare the two regions",
    "Say which grew",
]


def told(*steps: tuple[str, str], worker: str = "atlas") -> Workflow:
    """A workflow of (key, instruction)."""
    return Workflow(steps=tuple(Step(key=key, instruction=text, worker=worker) for key, text in steps))


def pairs(alignment: Alignment) -> list[tuple[str | None, str | None]]:
    return [(pair.a, pair.b) for pair in alignment.pairs]


def edits(flow: Workflow) -> st.SearchStrategy[Edit]:
    keys = st.sampled_from([*flow.keys, "s1"])
    return st.one_of(
        st.builds(AddStep, after=st.one_of(st.none(), keys), instruction=st.text(max_size=8), worker=st.just("atlas")),
        st.builds(RemoveStep, key=keys),
        st.builds(MoveStep, key=keys, to=st.integers(0, 5)),
        st.builds(SetInstruction, key=keys, instruction=st.sampled_from([s.instruction for s in flow.steps] or ["x"])),
        st.builds(Allow, reader=keys, source=keys),
        st.builds(Deny, reader=keys, source=keys),
    )


# --- alignment -----------------------------------------------------------------------------------------------------


@given(sound_workflows(), st.booleans())
def test_a_workflow_beside_itself_is_the_same_step_by_step(flow: Workflow, kin: bool) -> None:
    alignment = align(flow, flow, kin=kin)

    assert alignment.pairs == tuple(Pair(key, key) for key in flow.keys)
    assert all(change_of(step, step, alignment.became).is_none for step in flow.steps)
    assert sink_change(flow, flow, alignment.became).is_none


@given(st.data(), sound_workflows(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_after_an_edit_every_step_that_it_did_not_touch_is_still_itself(
    data: st.DataObject, flow: Workflow, kin: bool
) -> None:
    edited = flow
    for _ in range(data.draw(st.integers(1, 3))):
        with suppress(EditRefused):
            edited = apply(edited, data.draw(edits(flow)), used=flow.keys).workflow

    became = align(flow, edited, kin=kin).became

    for step in flow.steps:
        if step.key in edited.keys and edited.step(step.key).model_copy(update={"access": step.access}) == step:
            assert became[step.key] == step.key


@given(sound_workflows(), sound_workflows(), st.booleans())
@settings(deadline=None)
def test_every_step_of_either_stands_there_once_and_the_second_keeps_its_order(
    a: Workflow, b: Workflow, kin: bool
) -> None:
    alignment = align(a, b, kin=kin)

    assert sorted(pair.a for pair in alignment.pairs if pair.a is not None) == sorted(a.keys)
    assert tuple(pair.b for pair in alignment.pairs if pair.b is not None) == b.keys
    assert all(pair != Pair(None, None) for pair in alignment.pairs)
    assert align(a, b, kin=kin) == alignment


def test_a_step_that_was_rewritten_is_still_the_step_of_its_key() -> None:
    a = told(("s1", FOUR[0]), ("s2", FOUR[2]))
    b = told(("s1", "Work out by how many percent the north grew"), ("s2", FOUR[2]))

    assert pairs(align(a, b, kin=True)) == [("s1", "s1"), ("s2", "s2")]


def test_a_key_of_a_lineage_weighs_more_than_any_likeness() -> None:
    a = told(("s1", FOUR[0]), ("s2", FOUR[2]))
    b = told(("s1", "Compute nothing"), ("s3", FOUR[0]), ("s2", FOUR[2]))

    assert pairs(align(a, b, kin=True)) == [("s1", "s1"), (None, "s3"), ("s2", "s2")]
    assert pairs(align(a, b, kin=False)) == [(None, "s1"), ("s1", "s3"), ("s2", "s2")]


def test_steps_of_another_plan_are_found_by_their_likeness_whatever_their_keys() -> None:
    a = told(*zip(["s1", "s2", "s3", "s4"], FOUR, strict=True))
    b = told(("s1", FOUR[1]), ("s2", FOUR[0] + ", in percent"), ("s3", "Look for the data first"), ("s4", FOUR[3]))

    alignment = align(a, b, kin=False)

    assert pairs(alignment) == [("s2", "s1"), ("s3", None), ("s1", "s2"), (None, "s3"), ("s4", "s4")]


def test_the_same_key_does_not_make_one_step_of_two_that_have_nothing_in_common() -> None:
    a = Workflow(steps=(Step(key="s1", instruction="Compute growth", worker="atlas"),))
    b = Workflow(steps=(Step(key="s1", instruction="Write a poem", worker="birch"),))

    for kin in (True, False):
        assert pairs(align(a, b, kin=kin)) == [("s1", None), (None, "s1")]


def test_of_steps_that_are_all_alike_each_keeps_its_place() -> None:
    a = told(*((f"a{number}", "Solve the task") for number in range(5)))
    b = told(*((f"b{number}", "Solve the task") for number in range(5)))

    assert pairs(align(a, b, kin=False)) == [(f"a{number}", f"b{number}") for number in range(5)]


def test_what_is_gone_stands_behind_the_step_it_stood_behind() -> None:
    a = told(("s1", "one"), ("s2", "two"), ("s3", "three"), ("s4", "four"))
    b = told(("s1", "one"), ("s4", "four"))

    assert pairs(align(a, b, kin=True)) == [("s1", "s1"), ("s2", None), ("s3", None), ("s4", "s4")]
    assert pairs(align(told(("s0", "zero"), ("s1", "one")), b, kin=True))[0] == ("s0", None)


@pytest.mark.parametrize("empty", [Workflow(steps=())])
def test_beside_a_workflow_without_steps_every_step_is_of_one_only(empty: Workflow) -> None:
    flow = workflow(s1="", s2="s1")

    assert pairs(align(flow, empty, kin=False)) == [("s1", None), ("s2", None)]
    assert pairs(align(empty, flow, kin=False)) == [(None, "s1"), (None, "s2")]
    assert pairs(align(empty, empty, kin=False)) == []


def test_150_steps_are_aligned_with_150_others_in_a_moment() -> None:
    a = told(*((f"a{number}", f"Work out part {number} of the task. " * 20) for number in range(150)))
    b = told(*((f"b{number}", f"Work out part {number} of the whole task. " * 20) for number in range(150)))
    began = time.process_time()

    alignment = align(a, b, kin=False)

    assert time.process_time() - began < 5, "a tenth of that is usual"
    assert alignment.became == {f"a{number}": f"b{number}" for number in range(150)}


def test_likeness_is_that_of_words_and_of_their_order() -> None:
    assert likeness("Compute the growth", "compute the GROWTH") == 1
    assert likeness("", "") == 1
    assert likeness("Compute the growth", "Write a poem") == 0
    assert 0 < likeness("growth the compute", "compute the growth") < 1


# --- changes -------------------------------------------------------------------------------------------------------


def test_reads_are_told_by_what_the_steps_read_became() -> None:
    a = Workflow(
        steps=(
            Step(key="s1", instruction=FOUR[0], worker="atlas"),
            Step(key="s2", instruction=FOUR[1], worker="atlas"),
            Step(key="s3", instruction=FOUR[2], worker="atlas", access=("s1", "s2")),
        )
    )
    b = Workflow(
        steps=(
            Step(key="x", instruction="Gather what is known about it", worker="birch"),
            Step(key="y", instruction=FOUR[0], worker="atlas"),
            Step(key="z", instruction=FOUR[2], worker="birch", access=("x", "y"), role="judge", round=2),
        )
    )
    became = align(a, b, kin=False).became

    assert became == {"s1": "y", "s3": "z"}
    assert change_of(a.step("s1"), b.step("y"), became).is_none
    assert change_of(a.step("s3"), b.step("z"), became) == Change(
        worker=("atlas", "birch"), lost=("s2",), gained=("x",), role=("", "judge"), round=(1, 2)
    )


def test_an_instruction_that_changed_is_told() -> None:
    a, b = workflow(s1="").step("s1"), told(("s1", "do it otherwise")).step("s1")

    assert change_of(a, b, {"s1": "s1"}) == Change(instruction=True)


@given(sound_workflows(), sound_workflows())
@settings(deadline=None)
def test_changes_turned_round_are_those_the_other_way(a: Workflow, b: Workflow) -> None:
    became = align(a, b, kin=True).became
    back = {there: here for here, there in became.items()}

    for here, there in became.items():
        forth = change_of(a.step(here), b.step(there), became)
        again = change_of(b.step(there), a.step(here), back)
        assert (forth.lost, forth.gained, forth.instruction) == (again.gained, again.lost, again.instruction)


BOTH = {"s1": "t1", "s2": "t2"}


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        (Vote(over=("s1", "s2")), Vote(over=("t2", "t1")), SinkChange()),
        (Vote(over=("s1", "s2")), Vote(over=("t1", "t3")), SinkChange(lost=("s2",), gained=("t3",))),
        (Last(), Last(), SinkChange(lost=("s3",), gained=("t3",))),
        (Vote(over=("s1",)), Select(over=("t1",)), SinkChange(kind=("vote", "select"))),
        (
            Select(over=("s1", "s2"), weights=(1, 2)),
            Select(over=("t1", "t2"), weights=(1, 2)),
            SinkChange(),
        ),
        (
            Select(over=("s1", "s2"), weights=(1, 2)),
            Select(over=("t1", "t2"), weights=(2, 1)),
            SinkChange(weights=True),
        ),
        (Select(over=("s1",), weights=(1,)), Select(over=("t1",)), SinkChange(weights=True)),
    ],
)
def test_how_the_answer_is_taken_is_compared_by_what_the_steps_became(
    before: Last | Vote | Select, now: Last | Vote | Select, change: SinkChange
) -> None:
    a = workflow(s1="", s2="", s3="").model_copy(update={"sink": before})
    b = workflow(t1="", t2="", t3="").model_copy(update={"sink": now})

    assert sink_change(a, b, BOTH) == change
