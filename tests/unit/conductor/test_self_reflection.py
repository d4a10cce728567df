"""One worker that improves its own answer until it no longer changes."""

from typing import Any

import pytest

from apps.conductor.planners import planner
from apps.conductor.planners.self_reflection import SelfReflection
from apps.conductor.proposal import Extending, Proposal
from apps.core.errors import Invalid

from .fakes import FakeConductor, FakeWatch, brief, progress, steps_of

NOBODY = FakeConductor()


@pytest.fixture
def watch() -> FakeWatch:
    return FakeWatch()


async def carried_out(watch: FakeWatch, *said: str, **options: Any) -> Proposal:
    """The planner's last workflow, when its worker says one thing after the other."""
    proposal = await SelfReflection().plan(brief(**options), ask=NOBODY, watch=watch)
    for count in range(1, len(said) + 1):
        before = progress(proposal.workflow, *said[:count])
        more = await SelfReflection().extend(brief(**options), before, ask=NOBODY, watch=watch)
        if more is None:
            break
        assert steps_of(more)[:-1] == steps_of(proposal)
        proposal = more
    return proposal


def test_it_is_a_planner_that_goes_on_from_results() -> None:
    assert isinstance(planner("self-reflection"), Extending)


async def test_every_step_is_the_same_workers_and_reads_all_before_it(watch: FakeWatch) -> None:
    proposal = await carried_out(watch, "1", "2", "3", "4", "5", "6")

    steps = steps_of(proposal)
    assert [step.worker for step in steps] == ["atlas"] * 5
    assert [step.access for step in steps] == [tuple(f"s{n}" for n in range(1, k)) for k in range(1, 6)]
    assert [step.role for step in steps] == ["answer", *["reflection"] * 4]
    assert proposal.workflow is not None
    assert proposal.workflow.answered_by == ("s5",)
    assert (proposal.problems, watch.proposals) == ((), [])


async def test_it_stops_when_the_answer_no_longer_changes(watch: FakeWatch) -> None:
    proposal = await carried_out(
        watch, "So it is\n\nAnswer: 12", "Better:\n\n**Answer:** 13", "Indeed.\n\nAnswer: 13.0", "14"
    )

    assert len(steps_of(proposal)) == 3


async def test_two_silent_replies_are_no_answer_that_stays(watch: FakeWatch) -> None:
    assert len(steps_of(await carried_out(watch, "", "", "1", "1"))) == 4


async def test_early_stopping_can_be_turned_off_as_in_the_paper(watch: FakeWatch) -> None:
    assert len(steps_of(await carried_out(watch, *["1"] * 9, early_stop=False))) == 5


@pytest.mark.parametrize(("turns", "steps"), [(1, 1), (3, 3), (8, 8)])
async def test_the_number_of_turns_is_an_option_of_its_own(turns: int, steps: int, watch: FakeWatch) -> None:
    assert len(steps_of(await carried_out(watch, *"abcdefghij", turns=turns))) == steps


async def test_the_worker_can_be_chosen_and_must_be_in_the_pool(watch: FakeWatch) -> None:
    chosen = await carried_out(watch, "1", "2", worker="birch", turns=2)
    unknown = await SelfReflection().plan(brief(worker="oak"), ask=NOBODY, watch=watch)

    assert [step.worker for step in steps_of(chosen)] == ["birch", "birch"]
    assert "oak" in unknown.error


@pytest.mark.parametrize(("options", "why"), [({"turns": 0}, "“turns”"), ({"early_stop": "no"}, "“early_stop”")])
async def test_an_option_that_cannot_be_used_is_refused(options: Any, why: str, watch: FakeWatch) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        await carried_out(watch, "1", "2", **options)

    assert refused.value.field == "options"


async def test_without_a_pool_there_is_nothing_to_plan(watch: FakeWatch) -> None:
    with pytest.raises(Invalid, match="no worker"):
        await SelfReflection().plan(brief(pool=()), ask=NOBODY, watch=watch)
