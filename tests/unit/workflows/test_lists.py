import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.workflows.graph import Problem, check
from apps.workflows.lists import MAX_LISTED, ListsInvalid, ThreeLists, from_lists, to_lists
from apps.workflows.workflow import Step, Workflow

from .making import WORKERS, sound_workflows, workflow

POOL = list(WORKERS)


def read(*access: object) -> list[tuple[str, ...]]:
    """What the steps may read when the access list is `access`."""
    flow = from_lists([0] * len(access), ["x"] * len(access), list(access), pool=POOL)
    return [step.access for step in flow.steps]


def problems(model_id: list, subtasks: list, access_list: list, pool: list[str] = POOL) -> tuple[Problem, ...]:
    with pytest.raises(ListsInvalid) as refused:
        from_lists(model_id, subtasks, access_list, pool=pool)
    return refused.value.problems


def codes(*lists: list) -> list[str]:
    return [problem.code for problem in problems(*lists)]


def test_three_lists_become_steps_with_keys_in_order():
    flow = from_lists([1, 0, 2], ["plan", "write", "check"], [[], ["all"], [0, 1]], pool=POOL)

    assert flow.steps == (
        Step(key="s1", instruction="plan", worker="birch"),
        Step(key="s2", instruction="write", worker="atlas", access=("s1",)),
        Step(key="s3", instruction="check", worker="cedar", access=("s1", "s2")),
    )


@pytest.mark.parametrize("spelling", ["all", "ALL", " All ", ["all"], ["ALL"], [["all"]], ("all",), [0, "all"]])
def test_all_is_every_earlier_step_however_it_is_spelt(spelling: object):
    assert read([], [], spelling)[2] == ("s1", "s2")


@pytest.mark.parametrize("spelling", [[], ["all"], "all", [["all"]], None, [[]]])
def test_the_first_step_reads_nothing_even_where_it_says_all(spelling: object):
    assert read(spelling) == [()]


@pytest.mark.parametrize("spelling", [[1, 0], ["1", "0"], [" 0", 1, 1], [[0], [1]], (0, 1), {0, 1}])
def test_positions_are_read_in_any_spelling_and_sorted(spelling: object):
    assert read([], [], spelling)[2] == ("s1", "s2")


@pytest.mark.parametrize("spelling", [1, "1"])
def test_a_single_position_needs_no_list(spelling: object):
    assert read([], [], spelling)[2] == ("s2",)


def test_a_worker_may_be_a_numeric_string():
    assert from_lists(["2"], ["x"], [[]], pool=POOL).steps[0].worker == "cedar"


def test_lists_nested_deeper_than_python_recurses_are_read():
    nested: list = ["all"]
    for _ in range(5_000):
        nested = [nested]

    assert read([], nested)[1] == ("s1",)


def test_lists_of_different_lengths_are_told_with_their_lengths():
    [problem] = problems([0], ["x", "y"], [])

    assert problem.code == "lengths-differ"
    assert "model_id has 1, subtasks has 2 and access_list has 0 entries" in problem.message


def test_three_empty_lists_are_no_workflow():
    assert codes([], [], []) == ["empty"]


def test_more_steps_than_anyone_plans_are_refused_before_they_are_written_out():
    count = MAX_LISTED + 1

    assert codes([0] * count, ["x"] * count, ["all"] * count) == ["too-many-steps"]


@pytest.mark.parametrize("model", [3, -1, "3", "atlas", True, None, 1.5, [0], pytest.param(10**5000, id="huge")])
def test_a_worker_must_be_a_number_of_the_pool(model: object):
    [problem] = problems([model], ["x"], [[]])

    assert (problem.code, problem.step) == ("unknown-worker", "s1")
    assert problem.message.startswith("Step 1 (model_id[0]) names worker ")
    assert problem.message.endswith("; the workers are numbered from 0 to 2.")


def test_an_empty_pool_has_no_workers():
    [problem] = problems([0], ["x"], [[]], [])

    assert problem.message == "Step 1 (model_id[0]) names worker 0; there are no workers."


@pytest.mark.parametrize("subtask", ["", " \n", None, 7, ["x"]])
def test_a_subtask_must_say_something(subtask: object):
    [problem] = problems([0], [subtask], [[]])

    assert (problem.code, problem.step) == ("empty-instruction", "s1")


def test_a_read_of_itself_or_of_a_later_step_is_told_in_positions():
    itself, later = problems([0, 0, 0], ["x", "y", "z"], [[0], [2], [1]])

    assert itself.code == "self-reference"
    assert itself.message == (
        "Step 1 (access_list[0]) reads position 0, which is itself; it may read nothing, as no step is earlier."
    )
    assert (later.code, later.edge) == ("forward-reference", ("s3", "s2"))
    assert later.message == (
        "Step 2 (access_list[1]) reads position 2, which comes later; it may read position 0 only."
    )


@pytest.mark.parametrize(
    "entry",
    [
        9,
        -1,
        "first",
        0.5,
        True,
        {"step": 0},
        pytest.param(10**5000, id="huge"),
        pytest.param("9" * 5000, id="long"),
        b"x",
    ],
)
def test_a_read_of_what_is_no_step_is_refused(entry: object):
    [problem] = problems([0, 0], ["x", "y"], [[], [entry]])

    assert (problem.code, problem.step, problem.edge) == ("unknown-reference", "s2", None)
    assert len(problem.message) < 200


def test_everything_wrong_is_told_at_once_and_only_once():
    found = problems([9, 0], ["", "y"], [[5, 5, 5], ["x"]])

    assert [problem.code for problem in found] == [
        "unknown-worker",
        "empty-instruction",
        "unknown-reference",
        "unknown-reference",
    ]


def test_the_refusal_says_the_first_problems_and_how_many_more_there_are():
    with pytest.raises(ListsInvalid) as refused:
        from_lists([9] * 5, ["x"] * 5, [[]] * 5, pool=POOL)

    assert refused.value.message.count("names worker 9") == 3
    assert refused.value.message.endswith("(and 2 more)")


def test_an_instruction_is_made_storable():
    flow = from_lists([0], ["a\x00b \ud83d\ude00 \ud800"], [[]], pool=POOL)

    assert flow.steps[0].instruction == "ab 😀 \ufffd"


def test_export_says_all_where_a_step_reads_every_earlier_one():
    flow = workflow(s1="", s2="s1", s3="s2", s4="s1 s2 s3", s5="")

    assert to_lists(flow, pool=POOL).access_list == [[], ["all"], [1], ["all"], []]


def test_export_goes_by_position_not_by_key():
    flow = workflow(z="", a="z", m="z")

    assert to_lists(flow, pool=["birch", "atlas"]) == ThreeLists(
        model_id=[1, 1, 1], subtasks=["do z", "do a", "do m"], access_list=[[], ["all"], [0]]
    )


def test_a_workflow_that_the_lists_cannot_say_is_not_exported():
    flow = workflow(s1="s2", s2="ghost")

    with pytest.raises(ListsInvalid) as refused:
        to_lists(flow, pool=["birch"])

    assert [problem.code for problem in refused.value.problems] == [
        "unknown-worker",
        "forward-reference",
        "unknown-worker",
        "unknown-reference",
    ]


def numbered(flow: Workflow) -> Workflow:
    """The workflow under the keys that lists give."""
    name = {key: f"s{number}" for number, key in enumerate(flow.keys, start=1)}
    return Workflow(
        steps=tuple(
            Step(
                key=name[step.key],
                instruction=step.instruction,
                worker=step.worker,
                access=tuple(name[source] for source in step.access),
            )
            for step in flow.steps
        )
    )


@given(sound_workflows().filter(lambda flow: flow.steps and all(s.instruction.strip("\0 ") for s in flow.steps)))
def test_lists_round_trip(flow: Workflow):
    if any(problem.code.endswith("-instruction") for problem in check(flow, workers=POOL, max_steps=9)):
        return
    written = to_lists(flow, pool=POOL)

    again = from_lists(written.model_id, written.subtasks, written.access_list, pool=POOL)

    assert again == numbered(flow)
    assert to_lists(again, pool=POOL) == written


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["all", "0", "1"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(ANYTHING, ANYTHING, ANYTHING), max_size=4))
def test_whatever_is_in_the_lists_gives_a_sound_workflow_or_is_refused(rows: list[tuple[object, object, object]]):
    try:
        flow = from_lists([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], pool=POOL)
    except ListsInvalid:
        return
    assert [problem for problem in check(flow, workers=POOL, max_steps=9) if problem.severity == "error"] == []
