"""Planners that learn, from a file of recorded results to a run that is planned by what was learnt."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.conductor.models import Learnt
from apps.runs.models import Run
from apps.runs.services import submit_run
from apps.workers.models import Profile
from apps.workflows.workflow import Select
from tests.integration.runs.test_driving import Drive

SUM = "Compute ({} - 392) * 16 / 5. Answer with the number."
SORT = "Sort the words pear, apple, plum and fig number {} by the alphabet."
WORKERS = ("sim-atlas", "sim-birch", "sim-cedar", "sim-delta")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """Birch computes, Cedar sorts, and nobody else does either."""
    rows = [
        {"task": words.format(number), "worker": worker, "correct": int(worker == expert), "cost_usd": 0.001}
        | {"answer": f"{number} it is" if worker == expert else f"{worker} cannot tell"}
        for number in range(20)
        for words, expert in ((SUM, "sim-birch"), (SORT, "sim-cedar"))
        for worker in WORKERS
    ]
    (tmp_path / "scores.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return tmp_path


def train(planner: str, scores: Path, *options: str) -> str:
    said = StringIO()
    call_command("train_planner", planner, "--from", str(scores), *options, stdout=said)
    return said.getvalue()


@pytest.mark.parametrize("name", ["routerdc", "masrouter"])
def test_a_run_is_planned_by_what_was_learnt_and_keeps_its_digest(
    admin: User, ultra: Profile, drive: Drive, scores: Path, name: str
) -> None:
    said = train(name, scores)
    ultra.planner = name
    run = submit_run(task=SUM.format(1847), profile=ultra, by=admin, now=timezone.now())
    train(name, scores)  # what is learnt later does not reach it

    run = drive(run)

    first = Learnt.objects.filter(planner=name).order_by("pk")[0]
    assert "learnt from 40 tasks and 4 workers" in said
    assert run.status == Run.Status.SUCCEEDED, run.error
    assert run.setup["learnt"] == {"id": first.pk, "digest": first.digest}
    assert {step.worker for step in run.steps.all()} == {"sim-birch"}
    trained = [event for event in audit.read("pool") if event.verb == "planner.trained"]
    assert trained[0].data["digest"] == first.digest


def test_smoothies_global_weights_are_in_the_runs_workflow(
    admin: User, ultra: Profile, drive: Drive, scores: Path
) -> None:
    train("smoothie", scores)
    ultra.planner, ultra.options = "smoothie", {"variant": "global"}

    run = drive(submit_run(task=SUM.format(1), profile=ultra, by=admin, now=timezone.now()))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert run.workflow is not None
    assert isinstance(run.workflow.sink, Select)
    assert len(run.workflow.sink.weights or ()) == 4
    assert run.answer_rule == "select"


def test_a_planner_that_was_not_trained_fails_its_run_with_the_command_to_train_it(
    admin: User, ultra: Profile, drive: Drive
) -> None:
    ultra.planner = "routerdc"

    run = drive(submit_run(task=SUM.format(1), profile=ultra, by=admin, now=timezone.now()))

    assert run.status == Run.Status.FAILED
    assert "train_planner routerdc" in run.error


def test_what_cannot_be_learnt_from_is_said(admin: User, tmp_path: Path, scores: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        train("routerdc", tmp_path / "nothing")
    with pytest.raises(CommandError, match="“direct” does not learn"):
        train("direct", scores)
    (scores / "scores.jsonl").write_text((scores / "scores.jsonl").read_text().replace('"answer"', '"reply"'))
    with pytest.raises(CommandError, match="learns from the “answer”"):
        train("smoothie", scores)
