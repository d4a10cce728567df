from time import perf_counter

import networkx as nx
import pytest
from hypothesis import given

from apps.workflows.graph import (
    MAX_INSTRUCTION,
    Problem,
    ancestors,
    as_digraph,
    check,
    critical_path,
    dead_steps,
    descendants,
    errors,
    lost_by_removing,
    waves,
)
from apps.workflows.workflow import Step, Workflow

from .making import WORKERS, any_workflows, sound_workflows, workflow

DIAMOND = workflow(s1="", s2="s1", s3="s1", s4="s2 s3")


def problems_of(flow: Workflow, max_steps: int = 5) -> list[Problem]:
    return check(flow, workers=WORKERS, max_steps=max_steps)


def with_instruction(instruction: str) -> Workflow:
    return Workflow(steps=(Step(key="s1", instruction=instruction, worker="atlas"),))


def test_a_sound_workflow_has_no_problems():
    assert problems_of(DIAMOND) == []


def test_a_workflow_needs_a_step():
    [problem] = problems_of(Workflow(steps=()))

    assert (problem.code, problem.message) == ("empty", "The workflow has no steps; it needs at least one.")


@pytest.mark.parametrize(("limit", "allowed"), [(3, "at most 3 are allowed"), (1, "at most 1 is allowed")])
def test_more_steps_than_allowed_is_said_with_both_numbers(limit: int, allowed: str):
    [problem] = problems_of(DIAMOND, max_steps=limit)

    assert (problem.code, problem.message) == ("too-many-steps", f"The workflow has 4 steps; {allowed}.")


def test_steps_that_share_a_key_are_named_together():
    step = Step(key="a", instruction="x", worker="atlas")

    [problem] = problems_of(Workflow(steps=(step, step, step)))

    assert problem.code == "duplicate-key"
    assert problem.message == "Steps 1, 2 and 3 share the key “a”; every step needs its own."


@pytest.mark.parametrize(
    ("instruction", "code"),
    [
        (" \n", "empty-instruction"),
        ("x" * (MAX_INSTRUCTION + 1), "long-instruction"),
        ("a\x00b", "unstorable-instruction"),
        ("a\ud800b", "unstorable-instruction"),
    ],
)
def test_an_instruction_must_say_something_that_can_be_kept(instruction: str, code: str):
    [problem] = problems_of(with_instruction(instruction))

    assert (problem.code, problem.step) == (code, "s1")


def test_an_instruction_may_be_as_long_as_the_limit():
    assert problems_of(with_instruction("x" * MAX_INSTRUCTION)) == []


def test_the_length_of_an_instruction_is_said():
    [problem] = problems_of(with_instruction("x" * 20_001))

    assert problem.message == "Step 1 has an instruction of 20,001 characters; at most 20,000 are allowed."


def test_a_worker_outside_the_pool_is_named():
    flow = Workflow(
        steps=(
            Step(key="s1", instruction="x", worker="zebra"),
            Step(key="s2", instruction="x", worker="", access=("s1",)),
        )
    )

    assert [(problem.code, problem.message) for problem in problems_of(flow)] == [
        ("unknown-worker", "Step 1 is given to “zebra”, which is not a worker of this pool."),
        ("unknown-worker", "Step 2 has no worker."),
    ]


def test_unsound_reads_are_named_with_their_edge():
    flow = workflow(s1="s3", s2="s2", s3="s1 s2 ghost")

    assert [(problem.code, problem.message, problem.edge) for problem in problems_of(flow)] == [
        (
            "forward-reference",
            "Step 1 reads step 3, which comes later; a step may read only earlier steps.",
            ("s3", "s1"),
        ),
        ("self-reference", "Step 2 reads itself; a step may read only earlier steps.", ("s2", "s2")),
        ("unknown-reference", "Step 3 reads “ghost”, which is not a step of this workflow.", ("ghost", "s3")),
    ]


def test_a_read_listed_twice_is_said_once():
    [problem] = problems_of(workflow(s1="", s2="s1 s1 s1"))

    assert (problem.code, problem.edge) == ("doubled-reference", ("s1", "s2"))


def test_a_long_name_is_cut_in_messages():
    [problem] = problems_of(workflow(s1="x" * 10_000))

    assert len(problem.message) < 150


def test_dead_steps_are_warned_of_and_do_not_stop_the_run():
    problems = problems_of(workflow(s1="", s2="s1", s3=""))

    assert errors(problems) == []
    assert [problem.message for problem in problems] == [
        "Step 1 is read only by step 2, which the answer does not depend on: its result is not part of the answer.",
        "Step 2 is read by no later step: its result is not part of the answer.",
    ]


def test_everything_wrong_is_told_at_once():
    flow = Workflow(steps=(Step(key="a", instruction="", worker="x", access=("a",)),) * 2)

    codes = {problem.code for problem in check(flow, workers=[], max_steps=1)}

    assert codes == {"too-many-steps", "duplicate-key", "empty-instruction", "unknown-worker", "self-reference"}


def test_edges_run_from_the_step_read_to_its_reader():
    assert set(as_digraph(DIAMOND).edges) == {("s1", "s2"), ("s1", "s3"), ("s2", "s4"), ("s3", "s4")}


def test_steps_that_do_not_wait_for_each_other_share_a_wave():
    assert waves(DIAMOND) == [["s1"], ["s2", "s3"], ["s4"]]
    assert waves(workflow(s1="", s2="s1", s3="", s4="s3")) == [["s1", "s3"], ["s2", "s4"]]


def test_the_critical_path_is_the_heaviest_chain():
    assert critical_path(DIAMOND) == ["s1", "s2", "s4"]
    assert critical_path(DIAMOND, {"s1": 1, "s2": 2, "s3": 9, "s4": 1}) == ["s1", "s3", "s4"]
    assert critical_path(workflow(s1="", s2="", s3="s2"), {"s1": 10, "s2": 1, "s3": 2}) == ["s1"]


def test_the_critical_path_of_a_run_that_has_measured_nothing_yet_is_the_longest_chain():
    assert critical_path(DIAMOND, {}) == ["s1", "s2", "s4"]
    assert critical_path(Workflow(steps=())) == []


def test_a_step_is_dead_when_the_answer_does_not_depend_on_it():
    assert dead_steps(DIAMOND) == []
    assert dead_steps(workflow(s1="", s2="s1", s3="", s4="s3")) == ["s1", "s2"]
    assert dead_steps(Workflow(steps=())) == []


def test_what_shaped_a_step_and_what_it_shapes_are_told_apart():
    assert ancestors(DIAMOND, "s4") == {"s1", "s2", "s3"}
    assert descendants(DIAMOND, "s1") == {"s2", "s3", "s4"}
    assert ancestors(DIAMOND, "s1") == descendants(DIAMOND, "s4") == set()


@pytest.mark.parametrize("ask", [ancestors, descendants, lost_by_removing])
def test_asking_after_an_unknown_step_is_a_key_error(ask):
    with pytest.raises(KeyError):
        ask(DIAMOND, "ghost")


def test_removing_a_step_loses_what_its_readers_read_and_what_only_it_read():
    assert lost_by_removing(workflow(s1="", s2="s1", s3="", s4="s2 s3"), "s2") == [
        "Step 4 will no longer read step 2.",
        "Step 1 will be read by no step.",
    ]
    assert lost_by_removing(DIAMOND, "s2") == ["Step 4 will no longer read step 2."]


def test_removing_the_last_step_moves_the_answer():
    assert lost_by_removing(DIAMOND, "s4") == [
        "Step 2 will be read by no step.",
        "The answer will be the result of step 3.",
    ]
    assert lost_by_removing(workflow(s1=""), "s1") == []


@given(any_workflows())
def test_every_workflow_however_broken_has_an_acyclic_graph_with_answers(flow: Workflow):
    graph = as_digraph(flow)

    assert nx.is_directed_acyclic_graph(graph)
    assert sorted(key for wave in waves(flow) for key in wave) == sorted(set(flow.keys))
    assert set(critical_path(flow)) | set(dead_steps(flow)) <= set(flow.keys)
    for problem in problems_of(flow):
        assert problem.message.endswith(".")


@given(sound_workflows())
def test_no_sound_workflow_has_a_problem_with_its_reads(flow: Workflow):
    codes = {problem.code for problem in problems_of(flow, max_steps=10)}

    assert not codes & {"forward-reference", "self-reference", "unknown-reference", "doubled-reference"}


@given(sound_workflows())
def test_a_wave_holds_no_step_that_another_of_it_reads(flow: Workflow):
    number = {key: index for index, wave in enumerate(waves(flow)) for key in wave}

    assert all(number[source] < number[step.key] for step in flow.steps for source in step.access)
    assert len(critical_path(flow)) == len(waves(flow))


def test_a_huge_workflow_is_checked_in_reasonable_time():
    keys = [f"s{number}" for number in range(5_000)]
    flow = Workflow(
        steps=tuple(
            Step(key=key, instruction="x", worker="atlas", access=tuple(keys[max(0, at - 10) : at]))
            for at, key in enumerate(keys)
        )
    )

    started = perf_counter()
    problems = problems_of(flow)

    assert [problem.code for problem in problems] == ["too-many-steps"]
    assert perf_counter() - started < 5
