"""A run tried against rules: what holds it, held it or would have, and nothing else."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.runs.labels import Labels
from apps.runs.models import Proposal, Run
from apps.web.rules.trial import trial_of
from apps.workers.models import Conductor, FlowRule, Profile, Worker
from tests.integration.runs import ruled as given
from tests.integration.runs.test_driving import Drive
from tests.pools import workflow

UNTAGGED = Labels()


def tried(run: Run) -> list[tuple[str, list[str]]]:
    """The runs and paths of all that the rule would have held it for."""
    [verdict] = trial_of(run.code, run.project, list(FlowRule.objects.all())).verdicts
    return [(each["run"], each["path"]) for each in verdict.ruled.told] if verdict.ruled else []


def test_a_run_that_is_held_before_its_planner_plans_again_would_have_been(
    admin: User, ultra: Profile, rule: FlowRule, drive: Drive
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    ultra.rounds = 2
    ultra.save()
    Worker.objects.update(tags=["secret", "trusted"])
    run = drive(given.submit(admin, ultra, None, UNTAGGED))

    assert given.paths(run) == [["s1", "plan:2"]]
    assert tried(run) == [(run.code, ["s1", "plan:2"])]
    FlowRule.objects.update(enabled=False)
    assert tried(run) == [(run.code, ["s1", "plan:2"])], "whether it is in force or not"


@pytest.mark.parametrize("asked", [1, 2])
def test_where_its_planner_was_shown_results_in_turns_they_count(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, asked: int
) -> None:
    Worker.objects.filter(slug="sim-atlas").update(tags=["secret"])
    run = drive(given.planned(given.submit(admin, mini, workflow(("s1", "Compute it.", "sim-atlas", [])), UNTAGGED)))
    assert run.status == Run.Status.SUCCEEDED, run.error
    Proposal.objects.create(
        run=run, number=1, round=asked, sent=[], status=Proposal.Status.VALID, started_at=timezone.now()
    )

    assert tried(run) == ([(run.code, ["s1", "plan:2"])] if asked == 2 else [])


def test_whoever_answered_in_anothers_stead_is_taken_for_who_did(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, knobs: Callable[..., None]
) -> None:
    given.stand_ins("sim-birch", "sim-cedar")
    Worker.objects.filter(slug="sim-cedar").update(tags=["secret"])
    knobs("sim-birch", "fail=400")
    run = drive(given.submit(admin, mini, labels=UNTAGGED))

    assert given.paths(run) == [["s2", "s3"]]
    assert tried(run) == [(run.code, ["s2", "s3"])]


def test_stand_ins_none_of_whom_may_read_it_hold_it_here_too(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive, knobs: Callable[..., None]
) -> None:
    given.stand_ins("sim-birch", "sim-cedar")
    given.trust("sim-atlas", "sim-birch")
    knobs("sim-birch", "fail=400")
    run = drive(given.submit(admin, mini))

    assert given.paths(run) == [["task:", "s2"]]
    assert tried(run) == [(run.code, ["task:", "s2"])]


def test_a_run_within_the_run_is_tried_along_with_it(admin: User, ultra: Profile, rule: FlowRule, drive: Drive) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,seed=1")
    ultra.nesting = 1
    ultra.save()
    given.trust("sim-conductor")
    run = drive(given.submit(admin, ultra, given.NESTED))
    nested = Run.objects.get(nested_in__run=run)

    assert run.hold == Run.Hold.RULES
    assert sorted(tried(run)) == sorted((nested.code, path) for path in given.paths(run))
    assert tried(nested) == tried(run)


def test_a_run_that_goes_to_its_end_under_a_rule_would_not_have_been_held_by_it(
    admin: User, ultra: Profile, rule: FlowRule, drive: Drive
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0")
    ultra.rounds = 2
    ultra.save()
    given.trust("sim-conductor", *Worker.objects.values_list("slug", flat=True))

    run = drive(given.submit(admin, ultra, None))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert tried(run) == []
