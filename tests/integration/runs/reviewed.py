"""People with roles in a project, and runs that have ended there: for the tests of reviews and ratings."""

from typing import Any
from uuid import uuid4

from apps.accounts.models import Membership, User
from apps.audit import log
from apps.audit.log import Read
from apps.runs.models import Run
from tests.factories import Driving, chain, make_person, make_project, make_run

ROLES = Membership.Role


def member(name: str, role: str, project: str = "default") -> User:
    """A person with `role` in a project."""
    person = make_person(name, project=make_project(project))
    Membership.objects.filter(user=person).update(role=role)
    return person


def carried_out(by: User, **more: Any) -> Run:
    """A run of two steps, the second of which reads the first, that has succeeded."""
    driving = Driving(make_run(by=by, submit_key=uuid4().hex, **more))
    driving.plan(chain("Compute the growth", "Answer the task"))
    return driving.carry({"s1": "South: 53 %", "s2": "South grew most."})


def told(run: Run, *verbs: str) -> list[Read]:
    """The events of a run with one of these verbs."""
    return log.read(run.trail, verbs=verbs)
