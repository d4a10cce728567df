"""What an approval covers: what holds a run, in that run alone."""

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.runs.excepting import except_run
from apps.runs.flow import MOST_TOLD
from apps.runs.guard import held_within, together
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.runs.services import submit_run
from apps.workers.models import Conductor, FlowRule, Profile, Worker
from apps.workers.rules import add_rule, add_tag
from apps.workflows.workflow import Workflow
from tests.integration.runs.test_driving import Drive
from tests.pools import workflow

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."
TWO_NESTED = workflow(("s1", SUM, "sim-conductor", []), ("s2", SUM, "sim-conductor", []))


@pytest.fixture
def rule(admin: User, pool: str) -> FlowRule:
    """What carries `secret` may only be read by models with `trusted`."""
    project = admin.home_project
    assert project is not None
    for name in ("secret", "trusted"):
        add_tag(project=project, name=name, by=admin, now=timezone.now())
    return add_rule(project=project, carries="secret", needs="trusted", by=admin, now=timezone.now())


@pytest.fixture
def nesting(ultra: Profile) -> Profile:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,seed=1")
    ultra.nesting = 1
    ultra.save()
    return ultra


def trust(*slugs: str) -> None:
    for table in (Worker, Conductor):
        table.objects.filter(slug__in=slugs).update(tags=["trusted"])


def submit(admin: User, profile: Profile, flow: Workflow) -> Run:
    labels = Labels(tags=("secret",))
    return submit_run(task=SUM, profile=profile, by=admin, now=timezone.now(), workflow=flow, labels=labels)


def approve(run: Run, by: User) -> Run:
    return except_run(run=run, by=by, now=timezone.now(), reason="They agreed.")


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

    approve(run, admin)

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

    approve(run, admin)

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
