"""What a preview says a fork will cost: by what was answered lately, and by the worst that can come."""

from decimal import Decimal

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.runs.estimates import Preview, changes_since, preview_of_fork, preview_of_review
from apps.runs.lineage import lineages_of
from apps.runs.models import Run
from apps.runs.purse import Purse
from apps.runs.services import fork_run
from apps.spend.worst_case import most_output_tokens
from apps.workers.models import Worker
from apps.workflows.workflow import Workflow
from tests.factories import Driving, chain, failure, make_person, make_run

STEPS = ("Compute the growth", "Check the table", "Answer the task")


@pytest.fixture
def ada(db: None, redis_url: str) -> User:
    return make_person("ada")


@pytest.fixture
def parent(ada: User) -> Run:
    """Three steps, each of which reads all before it, answered with 10, 20 and 30 tokens."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain(*STEPS))
    for number, key in enumerate(("s1", "s2", "s3"), start=1):
        driving.finish(key, f"answer {number}", output_tokens=number * 10)
    return driving.succeed("answer 3", step="s3")


def workflow_of(run: Run) -> Workflow:
    assert run.workflow is not None
    return run.workflow


def rewritten(run: Run, key: str, instruction: str) -> Workflow:
    workflow = workflow_of(run)
    steps = [
        step.model_copy(update={"instruction": instruction}) if step.key == key else step for step in workflow.steps
    ]
    return workflow.model_copy(update={"steps": tuple(steps)})


def previewed(run: Run, workflow: Workflow | None = None, *, fresh: tuple[str, ...] = ()) -> Preview:
    return preview_of_fork(parent=run, workflow=workflow or workflow_of(run), fresh=fresh)


def test_what_is_reused_costs_nothing_and_is_not_estimated(parent: Run) -> None:
    preview = previewed(parent)

    assert [fate.verdict for fate in preview.fates] == ["reuse"] * 3
    assert preview.estimates == {}
    assert preview.likely_usd == 0
    assert preview.most_usd == 0


def test_a_step_that_runs_again_will_likely_write_what_it_wrote_before(parent: Run) -> None:
    preview = previewed(parent, fresh=("s3",))

    estimate = preview.estimates["s3"]
    output = Decimal(4) * 30 / 1_000_000
    assert estimate.basis == "as this step answered before"
    assert estimate.likely_usd is not None
    assert output < estimate.likely_usd < output + Decimal(1) * 1_000 / 1_000_000
    assert preview.likely_usd == estimate.likely_usd


def test_a_new_step_will_likely_write_what_its_worker_usually_does(parent: Run) -> None:
    workflow = workflow_of(parent)
    new = workflow.steps[2].model_copy(update={"key": "s4", "instruction": "Say it in French"})

    preview = previewed(parent, workflow.model_copy(update={"steps": (*workflow.steps, new)}))

    assert preview.estimates["s4"].basis == "as Birch usually answers"
    assert preview.not_estimated == 0


def test_a_worker_that_has_never_answered_is_said_to_be_unknown(parent: Run) -> None:
    workflow = workflow_of(parent)
    steps = (*workflow.steps[:2], workflow.steps[2].model_copy(update={"worker": "sim-cedar"}))

    preview = previewed(parent, workflow.model_copy(update={"steps": steps}))

    assert preview.estimates["s3"].likely_usd is None
    assert preview.estimates["s3"].unknown == "never answered yet"
    assert (preview.likely_usd, preview.not_estimated) == (None, 1)
    assert preview.most_usd is not None


def test_at_most_is_no_less_than_what_is_set_aside_for_all_tries(parent: Run) -> None:
    preview = previewed(parent, fresh=("s1",))
    frozen = preview.pool["sim-birch"]
    sent = parent.attempts.get(step__key="s1").sent

    set_aside = Purse(parent).worst_usd(frozen, sent)

    assert set_aside is not None
    assert preview.estimates["s1"].most_usd is not None
    assert preview.estimates["s1"].most_usd >= set_aside * parent.setup["tries"]
    assert preview.estimates["s1"].calls == parent.setup["tries"]


def test_a_step_whose_context_is_not_there_yet_is_reckoned_with_the_longest_there_can_be(parent: Run) -> None:
    alone = previewed(parent, fresh=("s3",)).estimates["s3"].most_usd
    after = previewed(parent, fresh=("s1", "s2", "s3"))
    longest = most_output_tokens(after.pool["sim-birch"]["max_output_tokens"], {})

    assert alone is not None
    assert after.estimates["s3"].most_usd is not None
    read = 2 * longest * parent.setup["tries"] * Decimal(1) / 1_000_000  # two results, at a dollar a million
    assert after.estimates["s3"].most_usd > alone + read


def test_an_unknown_price_leaves_no_figure(parent: Run) -> None:
    Worker.objects.filter(slug="sim-birch").update(output_price_usd=None)

    preview = previewed(parent, fresh=("s3",))

    assert preview.estimates["s3"].unknown == "price unknown"
    assert (preview.likely_usd, preview.most_usd) == (None, None)


def test_a_free_worker_costs_nothing_whatever_it_writes(parent: Run) -> None:
    Worker.objects.filter(slug="sim-birch").update(free=True, input_price_usd=None, output_price_usd=None)

    preview = previewed(parent, fresh=("s3",))

    assert preview.likely_usd == 0
    assert preview.most_usd == 0


def test_nothing_costs_more_than_the_runs_own_limit(ada: User) -> None:
    driving = Driving(make_run(by=ada, limit_usd=Decimal("0.1000")))
    driving.plan(chain(*STEPS))
    run = driving.carry({"s1": "a", "s2": "b", "s3": "c"})

    assert previewed(run, fresh=("s1", "s2", "s3")).most_usd == Decimal("0.1000")


def test_what_follows_a_step_that_runs_may_still_be_reused(parent: Run) -> None:
    fates = {fate.step: fate for fate in previewed(parent, rewritten(parent, "s2", "Check it twice")).fates}

    assert (fates["s2"].verdict, fates["s2"].may_reuse) == ("run", False)
    # s3 is shown the instruction of s2, which is another one: no answer of s2 makes the request the same.
    assert (fates["s3"].verdict, fates["s3"].may_reuse) == ("run", False)

    fates = {fate.step: fate for fate in previewed(parent, fresh=("s2",)).fates}
    assert (fates["s3"].verdict, fates["s3"].may_reuse) == ("run", True)


def test_a_run_held_for_review_is_reckoned_with_the_workers_it_has_frozen(ada: User) -> None:
    driving = Driving(make_run(by=ada, review=True))
    driving.plan(chain(*STEPS), hold=True)
    run = driving.told()
    Worker.objects.filter(slug="sim-birch").update(input_price_usd=1_000, output_price_usd=1_000)

    preview = preview_of_review(run=run, workflow=workflow_of(run))

    assert [fate.verdict for fate in preview.fates] == ["run"] * 3
    assert preview.most_usd is not None
    assert preview.most_usd < 100


# --- what has changed since ------------------------------------------------------------------------------------------


def test_a_preview_that_still_holds_has_not_changed(parent: Run) -> None:
    assert changes_since(previewed(parent, fresh=("s3",)).seal, previewed(parent, fresh=("s3",))) == []


def test_a_price_that_rose_is_a_change_of_the_steps_that_run(parent: Run) -> None:
    before = previewed(parent, fresh=("s3",))
    Worker.objects.filter(slug="sim-birch").update(output_price_usd=40)

    (change,) = changes_since(before.seal, previewed(parent, fresh=("s3",)))

    assert (change.step, change.was, change.now, change.terms) == ("s3", "run", "run", True)
    assert change.most_was == before.estimates["s3"].most_usd


def test_a_result_that_came_in_meanwhile_is_a_change(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain(*STEPS))
    driving.finish("s1", "53 %")
    before = previewed(driving.told())
    driving.finish("s2", "It is right.")

    changes = changes_since(before.seal, previewed(driving.told()))

    assert [(change.step, change.was, change.now) for change in changes if change.was != change.now] == [
        ("s2", "run", "reuse")
    ]


@pytest.mark.parametrize("seal", ["", "x", "x s3=run:", "x s3", "= = =", "\0", "s3=run:a:NaN s1=:::::"])
def test_a_forged_seal_is_a_change_and_no_fault(parent: Run, seal: str) -> None:
    preview = previewed(parent, fresh=("s3",))
    whole = preview.seal.partition(" ")[0]

    assert changes_since(seal, preview)
    assert changes_since(f"{whole} {seal}", preview)


# --- lineage ---------------------------------------------------------------------------------------------------------


def test_a_failure_is_fixed_by_the_first_run_that_grew_from_it_and_succeeded(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute"))
    driving.fail("s1", failure("busy"))
    failed = driving.give_up("busy", step="s1", code="step-failed")

    def forked(of: Run) -> Run:
        return fork_run(parent=of, workflow=workflow_of(of), by=ada, now=timezone.now())

    again, aside = forked(failed), forked(failed)
    assert lineages_of([failed])[failed.pk].fixed_in == ""
    child = Driving(again)
    child.fail("s1", failure("busy again"))
    again = child.give_up("busy again", step="s1", code="step-failed")
    grandchild = Driving(forked(again)).carry({"s1": "53 %"})
    aside = Driving(aside).carry({"s1": "54 %"})

    told = lineages_of([failed, again, aside, grandchild])

    assert [(told[run.pk].place, told[run.pk].size) for run in (failed, again, aside, grandchild)] == [
        (1, 4),
        (2, 4),
        (3, 4),
        (4, 4),
    ]
    assert {each.latest for each in told.values()} == {grandchild.code}
    assert told[failed.pk].fixed_in == aside.code
    assert told[again.pk].fixed_in == grandchild.code
    assert told[aside.pk].fixed_in == ""
    assert told[failed.pk].is_latest_ok
