"""What the benchmarks run: workers of the simulator with set speeds, and workflows made of them."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.runs import tasks
from apps.runs.models import Run
from apps.runs.services import stop_run, submit_run
from apps.workers.models import Profile, Worker
from apps.workflows.workflow import Step, Workflow


class Setting:
    """A pool with one worker without any latency and one that writes 50 tokens a second."""

    fast = "bench-fast"
    steady = "bench-steady"
    fast_model = "sim-cedar:ttft=0,rate=0,tokens=40"
    steady_model = "sim-cedar:ttft=100,rate=50,tokens=250,trace=1"

    def __init__(self, simulator: str) -> None:
        self.simulator = simulator
        self.person = User.objects.get(username="admin")
        self.profile = Profile.objects.get(slug="studio-ultra")
        common: dict[str, Any] = {"base_url": simulator, "simulated": True, "provider": "simulator", "free": True}
        for slug, model in ((self.fast, self.fast_model), (self.steady, self.steady_model)):
            Worker.objects.update_or_create(slug=slug, defaults=common | {"name": slug, "model": model})

    def add(self, slug: str, model: str, *, concurrency: int) -> None:
        """One more worker, which takes so many calls at once."""
        fields: dict[str, Any] = {"base_url": self.simulator, "simulated": True, "provider": "simulator", "free": True}
        fields |= {"name": slug, "model": model, "concurrency": concurrency}
        Worker.objects.update_or_create(slug=slug, defaults=fields)

    def stop(self, run: Run) -> None:
        run.refresh_from_db()
        if not run.is_ended:
            stop_run(run=run, by=self.person, now=timezone.now())

    def workflow(self, steps: Sequence[tuple[str, str, Sequence[str]]]) -> Workflow:
        return Workflow(
            steps=tuple(
                Step(key=key, instruction=f"Write about part {key}.", worker=worker, access=tuple(access))
                for key, worker, access in steps
            )
        )

    def submit(self, workflow: Workflow, task: str = "Describe a warehouse.", *, ring: bool = True) -> Run:
        """Submit a run; without `ring` its driver is asked for later, so that a viewer can be there from the start."""
        asked = tasks.ring_driver
        tasks.ring_driver = asked if ring else lambda run_id: None
        try:
            return submit_run(task=task, profile=self.profile, by=self.person, now=timezone.now(), workflow=workflow)
        finally:
            tasks.ring_driver = asked

    def ring(self, run: Run) -> None:
        tasks.ring_driver(run.pk)

    def sent(self, run: Run) -> list[Any]:
        """What the workers of a run were sent, in the order of its steps."""
        return [attempt.sent for attempt in run.attempts.order_by("step__position")]

    def commits(self) -> int:
        """Transactions committed in the database so far, reading ones among them."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
            (commits,) = cursor.fetchone()
        return int(commits)
