"""Runs as the tests of pages want them."""

from typing import Any
from uuid import uuid4

from apps.accounts.models import User
from apps.runs.models import Run
from tests.factories import Driving, chain, make_run


def a_run(by: User, task: str = "What is 6 times 7?", **changes: Any) -> Run:
    """A run handed in by somebody; `changes` are written over it afterwards."""
    run = make_run(by=by, task=task, submit_key=uuid4().hex)
    if changes:
        Run.objects.filter(pk=run.pk).update(**changes)
        run.refresh_from_db()
    return run


def finished(by: User, **plan: Any) -> Run:
    """A run of two steps, the second of which reads the first, carried out; `plan` goes with what was planned."""
    driving = Driving(make_run(by=by))
    driving.plan(chain("Compute the growth", "Answer the task"), **plan)
    return driving.carry({"s1": "South: 53 %", "s2": "**South** grew most."})
