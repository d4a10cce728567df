"""The engine: what each step is shown, what runs beside what, and what a failure does to the others."""

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.runs.engine import Outcome, StepFailed, execute
from apps.workflows.workflow import Step, Workflow


def workflow(on_failure: str = "skip", **access: list[str]) -> Workflow:
    steps = [Step(key=key, instruction=key, worker="w", access=tuple(reads)) for key, reads in access.items()]
    return Workflow.model_validate({"steps": [step.model_dump() for step in steps], "on_failure": on_failure})


class FakeWorkers:
    """Answers each step with a given text, fails where the text is None, and remembers what each step was shown."""

    def __init__(self, **answers: str | None) -> None:
        self.answers = answers
        self.shown: dict[str, dict[str, str]] = {}
        self.skipped: dict[str, tuple[str, ...]] = {}
        self.open = 0
        self.most_open = 0

    async def __call__(self, step: Step, results: Mapping[str, str]) -> str:
        self.shown[step.key] = dict(results)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(0)
        self.open -= 1
        answer = self.answers[step.key]
        if answer is None:
            raise StepFailed(f"{step.key} broke")
        return answer

    async def skip(self, step: Step, because: tuple[str, ...]) -> None:
        self.skipped[step.key] = because


async def carry_out(flow: Workflow, workers: FakeWorkers, **done: str) -> Outcome:
    return await execute(flow, call=workers, skip=workers.skip, done=done)


async def test_a_step_sees_exactly_what_it_was_allowed_to_read() -> None:
    workers = FakeWorkers(a="A", b="B", c="C")

    await carry_out(workflow(a=[], b=[], c=["a"]), workers)

    assert workers.shown == {"a": {}, "b": {}, "c": {"a": "A"}}


async def test_independent_steps_run_at_once() -> None:
    workers = FakeWorkers(a="A", b="B", c="C", d="D")

    await carry_out(workflow(a=[], b=[], c=[], d=["a", "b", "c"]), workers)

    assert workers.most_open == 3


async def test_a_finished_step_is_not_called_again() -> None:
    workers = FakeWorkers(b="B")

    outcome = await carry_out(workflow(a=[], b=["a"]), workers, a="A before")

    assert workers.shown == {"b": {"a": "A before"}}
    assert outcome.results == {"a": "A before", "b": "B"}


async def test_what_reads_a_failed_step_is_skipped_and_the_rest_goes_on() -> None:
    workers = FakeWorkers(a=None, b="B", c="C", d="D")

    outcome = await carry_out(workflow(a=[], b=[], c=["a", "b"], d=["b"], e=["c"]), workers)

    assert outcome.results == {"b": "B", "d": "D"}
    assert set(outcome.failed) == {"a"}
    assert workers.skipped == {"c": ("a",), "e": ("c",)}
    assert not outcome.is_whole


async def test_with_on_failure_empty_the_readers_go_on_as_in_the_paper() -> None:
    workers = FakeWorkers(a=None, b="B")

    outcome = await carry_out(workflow("empty", a=[], b=["a"]), workers)

    assert workers.shown["b"] == {"a": ""}
    assert outcome.results == {"a": "", "b": "B"}


async def test_a_bug_in_a_call_stops_everything() -> None:
    async def call(step: Step, results: Mapping[str, str]) -> str:
        if step.key == "a":
            raise ZeroDivisionError
        await asyncio.sleep(60)
        return ""

    async def skip(step: Step, because: tuple[str, ...]) -> None: ...

    with pytest.raises(ExceptionGroup) as caught:
        await asyncio.wait_for(execute(workflow(a=[], b=[]), call=call, skip=skip), 5)

    assert caught.group_contains(ZeroDivisionError)


async def test_cancelling_cuts_every_open_call() -> None:
    cut: list[str] = []

    async def call(step: Step, results: Mapping[str, str]) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cut.append(step.key)
            raise
        return ""

    async def skip(step: Step, because: tuple[str, ...]) -> None: ...

    task = asyncio.ensure_future(execute(workflow(a=[], b=[], c=["a"]), call=call, skip=skip))
    await asyncio.sleep(0.01)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(cut) == ["a", "b"]


@st.composite
def random_workflows(draw: st.DrawFn) -> Workflow:
    size = draw(st.integers(1, 8))
    keys = [f"s{number}" for number in range(1, size + 1)]
    reads = {key: draw(st.lists(st.sampled_from(keys[:at]), unique=True)) if at else [] for at, key in enumerate(keys)}
    return workflow("skip", **reads)


@given(random_workflows(), st.data())
def test_no_step_of_any_workflow_is_ever_shown_anything_outside_its_access_list(
    flow: Workflow, data: st.DataObject
) -> None:
    fails = data.draw(st.sets(st.sampled_from(flow.keys)))
    workers = FakeWorkers(**{key: None if key in fails else key.upper() for key in flow.keys})

    outcome = asyncio.run(carry_out(flow, workers))

    for key, shown in workers.shown.items():
        assert shown == {source: source.upper() for source in flow.step(key).access}
    assert set(outcome.results) | set(outcome.failed) | set(outcome.skipped) == set(flow.keys)
