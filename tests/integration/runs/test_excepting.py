"""What an approval covers: exactly what was shown, in the run that it was shown of, for as long as that is the same."""

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.core.errors import Conflict, Invalid
from apps.runs.excepting import OtherwiseHeld, except_run, seal_of
from apps.runs.flow import MOST_TOLD, problems_of
from apps.runs.guard import held_within, together
from apps.runs.holding import revise_run
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.runs.services import go_on, submit_run
from apps.workers.models import FlowRule, Profile, Worker
from apps.workers.rules import add_rule, add_tag
from tests.integration.runs.ruled import TASK, submit, trust
from tests.integration.runs.test_driving import Drive
from tests.pools import workflow

CHAIN = workflow(
    ("s1", "Compute it.", "sim-atlas", []),
    ("s2", "Check it.", "sim-birch", ["s1"]),
)
TWO_NESTED = workflow(("s1", TASK, "sim-conductor", []), ("s2", TASK, "sim-conductor", []))


@pytest.fixture
def rule(admin: User, pool: str) -> FlowRule:
    """What carries `secret` may only be read by models with `trusted`."""
    project = admin.home_project
    assert project is not None
    for name in ("secret", "trusted", "local"):
        add_tag(project=project, name=name, by=admin, now=timezone.now())
    return add_rule(project=project, carries="secret", needs="trusted", by=admin, now=timezone.now())


def shown(run: Run) -> list[str]:
    return [seal_of(each) for each in run.held_by["rules"]]


def approve(run: Run, by: User, seen: list[str], reason: str = "They agreed.") -> Run:
    return except_run(run=run, by=by, now=timezone.now(), reason=reason, seen=seen)


def names(run: Run) -> set[str]:
    return {each["name"] for each in run.held_by["rules"]}


# --- one run, and those within it ------------------------------------------------------------------------------------


def test_what_is_approved_of_a_run_within_is_approved_of_that_one_alone(
    admin: User, nesting: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-conductor")

    run = drive(submit(admin, nesting, TWO_NESTED))

    one, two = Run.objects.filter(nested_in__run=run).order_by("pk")
    assert (one.hold, two.hold) == (Run.Hold.RULES, Run.Hold.RULES)
    assert {each["run"] for each in run.held_by["rules"]} == {one.code, two.code}
    assert set(run.held_by["within"]) == {one.code, two.code}

    approve(run, admin, shown(run))

    for nested in (one, two):
        of_it = {each["name"] for each in nested.held_by["rules"]}
        nested.refresh_from_db()
        assert set(nested.excepted) == of_it
    assert run.excepted == [], "its own steps have the same keys, and nobody was asked about them"
    assert set(audit.read(run.trail)[-1].data["within"]) == {one.code, two.code}
    drive(run)
    assert run.status == Run.Status.SUCCEEDED, run.error


def test_what_was_not_shown_of_a_run_within_holds_it_again(
    admin: User, nesting: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-conductor")
    run = drive(submit(admin, nesting, TWO_NESTED))
    one, two = Run.objects.filter(nested_in__run=run).order_by("pk")
    told = [each for each in run.held_by["rules"] if each["run"] == one.code]
    Run.objects.filter(pk=run.pk).update(held_by=run.held_by | {"rules": told})  # as where there are too many to tell
    run.refresh_from_db()

    approve(run, admin, shown(run))

    two.refresh_from_db()
    assert two.excepted == []
    drive(run)
    assert {each["run"] for each in run.held_by["rules"]} == {two.code}


def test_what_holds_several_runs_within_is_told_of_each() -> None:
    def nested(code: str, count: int) -> Run:
        rules: list[dict[str, Any]] = [{"run": code, "name": f"{code} {number}"} for number in range(count)]
        return Run(code=code, hold=Run.Hold.RULES, held_by={"rules": rules, "step": "s1", "steps": ["s1"]})

    one, two = nested("one", 3), nested("two", MOST_TOLD)
    deep = Run(code="deep", hold=Run.Hold.RULES, held_by=held_within(two).about)

    held = together({"s1": held_within(one), "s2": held_within(deep)})

    assert held.about["within"] == ["one", "deep", "two"]
    assert [each["run"] for each in held.about["rules"]] == 3 * ["one"] + (MOST_TOLD - 3) * ["two"]


# --- exactly what was shown ------------------------------------------------------------------------------------------


def test_what_came_to_be_held_since_it_was_shown_is_not_approved(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-atlas")
    run = drive(submit(admin, mini, CHAIN))
    seen = shown(run)
    assert len(seen) == 1
    assert admin.home_project is not None
    add_rule(project=admin.home_project, carries="secret", needs="local", by=admin, now=timezone.now())
    go_on(run=run, by=admin, now=timezone.now())
    drive(run)
    assert len(shown(run)) == 3

    with pytest.raises(OtherwiseHeld, match="2 calls are new"):
        approve(run, admin, seen)
    with pytest.raises(OtherwiseHeld, match="1 call is gone"):
        approve(run, admin, [*shown(run), "another"])
    with pytest.raises(OtherwiseHeld, match="2 calls are new and 1 call is gone"):
        approve(run, admin, [seen[0], "another"], reason="")

    run.refresh_from_db()
    assert (run.status, run.excepted) == (Run.Status.HELD, [])
    with pytest.raises(Invalid, match="Say why"):
        approve(run, admin, shown(run), reason=" ")
    assert len(approve(run, admin, shown(run)).excepted) == 3


def test_what_is_held_again_as_it_was_may_be_approved_as_it_was_shown(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    run = drive(submit(admin, mini, CHAIN))
    seen = shown(run)
    go_on(run=run, by=admin, now=timezone.now())
    with pytest.raises(Conflict, match="No rules hold run"):
        approve(run, admin, seen)
    drive(run)

    approve(run, admin, seen)

    assert drive(run).status == Run.Status.SUCCEEDED


# --- as long as it is the same ---------------------------------------------------------------------------------------


def test_what_was_approved_of_a_step_is_not_of_another_that_takes_its_place(
    admin: User, mini: Profile, rule: FlowRule, drive: Drive
) -> None:
    trust("sim-atlas")
    run = drive(submit(admin, mini, CHAIN))
    approve(run, admin, shown(run))
    Worker.objects.filter(slug="sim-atlas").update(tags=[])
    drive(run)
    assert names(run) == {"secret>trusted s1 sim-atlas task:"}, "of what was approved nothing is said again"
    other = CHAIN.model_copy(
        update={"steps": (CHAIN.steps[0], CHAIN.steps[1].model_copy(update={"instruction": "Send it."}))}
    )
    warned = [problem.step for problem in problems_of(run, other, list(run.pool.values()), is_fork=False)]
    assert warned == ["s1", "s2"]
    unchanged = [problem.step for problem in problems_of(run, CHAIN, list(run.pool.values()), is_fork=False)]
    assert unchanged == ["s1"]

    run = revise_run(run=run, workflow=other, by=admin, now=timezone.now())

    assert run.excepted == []
    Run.objects.filter(pk=run.pk).update(status=Run.Status.QUEUED)
    drive(run)
    assert names(run) == {"secret>trusted s1 sim-atlas task:", "secret>trusted s2 sim-birch task:"}


def test_what_was_approved_of_the_planner_outlasts_a_revision(
    admin: User, ultra: Profile, rule: FlowRule, drive: Drive
) -> None:
    planned = submit_run(task=TASK, profile=ultra, by=admin, now=timezone.now(), labels=Labels(tags=("secret",)))
    run = drive(planned)
    approve(run, admin, shown(run))
    drive(run)
    assert run.hold == Run.Hold.RULES
    assert run.excepted == ["secret>trusted plan: sim-conductor task:"]
    approve(run, admin, shown(run))
    assert run.workflow is not None
    Run.objects.filter(pk=run.pk).update(status=Run.Status.HELD, hold=Run.Hold.REVIEW)

    revised = revise_run(run=Run.objects.get(pk=run.pk), workflow=run.workflow, by=admin, now=timezone.now())

    assert revised.excepted == ["secret>trusted plan: sim-conductor task:"]
