"""What tests of flow rules begin with: a task that carries a tag, workflows for it, and what is told of the run."""

from typing import Any

from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.audit.log import Read
from apps.runs.excepting import except_run, seal_of
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.runs.services import submit_run
from apps.workers.models import Conductor, Fallback, Profile, Worker
from apps.workflows.workflow import Workflow
from tests.pools import workflow
from tests.simulators import Simulator

TASK = "Compute (1847 - 392) * 16 / 5. Answer with the number."
CHAIN = workflow(
    ("s1", "Compute it.", "sim-atlas", []),
    ("s2", "Check it.", "sim-birch", ["s1"]),
    ("s3", "Say it.", "sim-atlas", ["s2"]),
)
SECRET = Labels(tags=("secret",))
NESTED = workflow(("s1", TASK, "sim-conductor", []))


def trust(*slugs: str) -> None:
    for table in (Worker, Conductor):
        table.objects.filter(slug__in=slugs).update(tags=["trusted"])


def submit(admin: User, profile: Profile, flow: Workflow | None = CHAIN, labels: Labels = SECRET, **more: Any) -> Run:
    now = timezone.now()
    return submit_run(task=TASK, profile=profile, by=admin, now=now, workflow=flow, labels=labels, **more)


def approve(run: Run, by: User, reason: str = "The client has agreed.") -> Run:
    seen = {seal_of(each) for each in run.held_by.get("rules", ())}
    return except_run(run=run, by=by, now=timezone.now(), reason=reason, seen=seen)


def paths(run: Run) -> list[list[str]]:
    return [each["path"] for each in run.held_by["rules"]]


def told(run: Run, verb: str) -> Read:
    return next(event for event in reversed(audit.read(run.trail)) if event.verb == verb)


def asked(simulator: Simulator) -> list[str]:
    return [row["model"].partition(":")[0] for row in simulator.log()]


def planned(run: Run) -> Run:
    """The run as though its workflow were its conductor's, who wrote the second round with the first in sight."""
    run.setup |= {"planner": "conductor", "conductor": Conductor.objects.get(slug="sim-conductor").freeze()}
    run.save()
    return run


def stand_ins(slug: str, *others: str) -> None:
    Fallback.objects.all().delete()
    for position, other in enumerate(others):
        instead = Worker.objects.get(slug=other)
        Fallback.objects.create(worker=Worker.objects.get(slug=slug), instead=instead, position=position)
