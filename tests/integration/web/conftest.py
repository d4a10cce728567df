"""People, their browsers and a run; what a test writes is rolled back."""

import pytest

from apps.accounts.models import Membership, Project, User
from apps.runs.flow import Flow
from apps.runs.guard import held_by
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.workers.models import FlowRule
from apps.workers.rules import add_rule, add_tag
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.web.given import a_run
from tests.people import ada, bob, browser, other_browser, rung

__all__ = ["ada", "bob", "browser", "other_browser", "rung"]


@pytest.fixture
def database(db: None) -> None:
    """A transaction that is rolled back."""


@pytest.fixture
def run(ada: User) -> Run:
    """A run of Ada's."""
    return a_run(ada)


@pytest.fixture
def project(ada: User) -> Project:
    assert ada.home_project is not None
    return ada.home_project


@pytest.fixture
def admin(ada: User, project: Project) -> User:
    Membership.objects.filter(user=ada).update(role=Membership.Role.ADMIN)
    return ada


@pytest.fixture
def rule(admin: User, project: Project) -> FlowRule:
    """What carries `secret` may only be read by models with `trusted`."""
    for name in ("secret", "trusted"):
        add_tag(project=project, name=name, by=admin, now=NOON)
    given = {"carries": "secret", "needs": "trusted", "words": "The client asked for it."}
    return add_rule(project=project, by=admin, now=NOON, **given)


@pytest.fixture
def held(admin: User, rule: FlowRule) -> Run:
    """A run of three steps, each of which reads those before it, held by the rule."""
    driving = Driving(make_run(by=admin, labels=Labels(tags=("secret",))))
    driving.plan(chain("Compute the growth", "Check it", "Answer the task"))
    assert driving.run.workflow is not None
    stop = held_by(Flow.of(driving.run).of_workflow(driving.run.workflow), run=driving.run)
    driving.write(driving.desk.hold, reason=stop.reason, about=stop.about, steps=["s1", "s2", "s3"])
    return driving.told()
