"""People with a project of their own, and runs as the tests of pages want them."""

from typing import Any
from uuid import uuid4

from apps.accounts.models import User
from apps.runs.models import Run
from tests import factories


def somebody(name: str) -> User:
    """A person who shares no project with anybody."""
    return factories.make_person(name, project=factories.make_project(name))


def a_run(by: User, task: str = "What is 6 times 7?", **changes: Any) -> Run:
    """A run handed in by somebody; `changes` are written over it afterwards."""
    run = factories.make_run(by=by, task=task, submit_key=uuid4().hex)
    if changes:
        Run.objects.filter(pk=run.pk).update(**changes)
        run.refresh_from_db()
    return run
