"""Runs and what happened in them: projections of the trail, kept for queries and for whoever drives a run.

The trail says what happened; these rows say how things stand. Both change in one transaction, through `log`.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any, ClassVar

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from apps.accounts.models import Project, User
from apps.workflows.workflow import Workflow

# Letters and digits that nobody confuses when reading a code aloud.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"

HEART_STOPPED_AFTER = timedelta(seconds=8)

# What runs that only try a worker have in the place of a profile's name, which cannot be written like this.
TRIAL = "(test)"


def new_code() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(8))


class RunQuerySet(models.QuerySet["Run"]):
    def visible_to(self, user: User | AnonymousUser) -> RunQuerySet:
        return self.filter(project__in=Project.objects.visible_to(user))

    def live(self) -> RunQuerySet:
        """Held by a driver, or meant to be."""
        return self.filter(status__in=Run.LIVE)

    def ended(self) -> RunQuerySet:
        return self.filter(status__in=Run.ENDED)

    def asked_for(self) -> RunQuerySet:
        """Those that people and programs asked for: not the ones nested in others."""
        return self.filter(nested_in=None)


class Run(models.Model):
    """One carrying-out of one task, frozen as it was started."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        PLANNING = "planning", "Planning"
        HELD = "held", "Held"
        RUNNING = "running", "Running"
        SUCCEEDED = "succeeded", "Succeeded"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Stopped"

    class Hold(models.TextChoices):
        REVIEW = "review", "for review"
        LIMIT = "limit", "limit"
        PAUSE = "pause", "paused"
        RULES = "rules", "flow rules"

    # Every legal move. Ended runs move nowhere: a run that was stopped is never later shown as succeeded.
    MOVES: ClassVar[dict[str, frozenset[str]]] = {
        Status.QUEUED: frozenset({Status.PLANNING, Status.RUNNING, Status.FAILED, Status.CANCELLED}),
        Status.PLANNING: frozenset({Status.HELD, Status.RUNNING, Status.FAILED, Status.CANCELLED}),
        Status.HELD: frozenset({Status.QUEUED, Status.CANCELLED}),
        Status.RUNNING: frozenset({Status.HELD, Status.SUCCEEDED, Status.FAILED, Status.CANCELLED}),
        Status.SUCCEEDED: frozenset(),
        Status.FAILED: frozenset(),
        Status.CANCELLED: frozenset(),
    }
    LIVE: ClassVar[tuple[str, ...]] = (Status.PLANNING, Status.RUNNING)
    ENDED: ClassVar[tuple[str, ...]] = (Status.SUCCEEDED, Status.FAILED, Status.CANCELLED)

    code = models.CharField(max_length=12, unique=True, default=new_code, editable=False)
    project = models.ForeignKey(Project, models.PROTECT)
    owner = models.ForeignKey(User, models.PROTECT)
    task = models.TextField()
    title = models.CharField(max_length=200)
    profile = models.CharField(max_length=63)
    # Planner, conductor, pool and limits as they were when the run was started: later changes do not reach it.
    setup = models.JSONField()
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    workflow_body = models.JSONField(null=True)
    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="children")
    # The first run of the lineage; null on that run itself.
    root = models.ForeignKey("self", models.PROTECT, null=True, related_name="lineage")
    # The call of a step that was given to a conductor: this run is what it made of it. Null: a person asked.
    nested_in = models.OneToOneField("Attempt", models.PROTECT, null=True, related_name="nested")
    # The run beside which its task was planned once more, for somebody to pick one of the plans.
    beside = models.ForeignKey("self", models.PROTECT, null=True, related_name="plans")
    # Steps whose recorded results a fork must not take.
    fresh = models.JSONField(default=list)
    submit_key = models.CharField(max_length=64, null=True)  # noqa: DJ001 - null is "none given", which is not unique

    planned_by = models.CharField(max_length=40, blank=True)  # the planner whose workflow it is
    # Why a held run is held: for somebody's review, because a limit of money would be crossed, or by flow rules.
    hold = models.CharField(max_length=10, choices=Hold, blank=True)
    held_by = models.JSONField(default=dict)  # the limit, and what the next call could cost; or what rules forbid
    pause_asked = models.BooleanField(default=False)  # no more steps begin until somebody lets it go on
    breakpoints = models.JSONField(default=list)  # steps before which it pauses,
    passed = models.JSONField(default=list)  # and those of them that were gone past
    # What flow rules forbid and somebody has approved, by the names of `flow.Offence`.
    excepted = models.JSONField(default=list)
    limit_usd = models.DecimalField(max_digits=16, decimal_places=4, null=True)  # of this run alone; null: none
    notice = models.TextField(blank=True)  # what people must know of the planning: that another planner stood in

    driver = models.CharField(max_length=100, blank=True)
    claim = models.PositiveIntegerField(
        default=0
    )  # grows with every claim, so that a driver that was given up on can tell
    heart_at = models.DateTimeField(null=True)

    answer = models.TextField(blank=True)
    answer_step = models.CharField(max_length=40, blank=True)
    answer_rule = models.CharField(max_length=20, blank=True)
    answer_detail = models.JSONField(default=dict)  # votes or weights, where the sink counts
    error = models.TextField(blank=True)
    error_step = models.CharField(max_length=40, blank=True)

    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    cost_unknown = models.BooleanField(default=False)  # a call was made whose price nobody knows

    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    erased_at = models.DateTimeField(null=True)  # its texts were erased then; see `retention`
    # The state of its review, for lists: empty where nobody has reviewed it or is to. See `reviewing`.
    reviewed = models.CharField(max_length=10, blank=True, db_default="", default="")

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            # Pressed twice, one run.
            models.UniqueConstraint(fields=["owner", "submit_key"], name="a_submit_key_makes_one_run"),
            models.CheckConstraint(
                condition=Q(status__in=["queued", "planning", "held", "running"], finished_at=None)
                | Q(status__in=["succeeded", "failed", "cancelled"], finished_at__isnull=False),
                name="a_run_has_an_end_exactly_when_it_ended",
            ),
            # Erased is erased: nothing that anybody wrote comes back into the row.
            models.CheckConstraint(
                condition=Q(erased_at=None) | Q(task="", answer="", error="", notice="", finished_at__isnull=False),
                name="an_erased_run_has_ended_and_says_nothing",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="run_list"),  # the list, newest first
            models.Index(fields=["project", "status", "-id"], name="run_list_by_status"),
            # Tests of workers are few, and asked for by themselves.
            models.Index(fields=["project", "-id"], name="run_tests", condition=Q(profile=TRIAL)),
            # The sweeper and the drivers look only at runs that are not over.
            models.Index(fields=["status", "heart_at"], name="run_unfinished", condition=Q(finished_at=None)),
            # A driver asks twice a second which of its runs were stopped.
            models.Index(fields=["driver"], name="run_by_driver", condition=Q(finished_at=None)),
            # Which texts were kept long enough: asked once a day, oldest first.
            models.Index(fields=["project", "finished_at"], name="run_to_erase", condition=Q(erased_at=None)),
            # What was signed off, and what was not: however many runs there are, a page of either is read in order.
            models.Index(fields=["project", "reviewed", "-id"], name="run_reviewed", condition=~Q(reviewed="")),
            models.Index(
                fields=["project", "-id"],
                name="run_unreviewed",
                condition=Q(reviewed__in=["", "open"], finished_at__isnull=False, nested_in=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.title}"

    @property
    def trail(self) -> str:
        return f"run:{self.code}"

    @property
    def group(self) -> str:
        """The channel group in which this run's viewers listen."""
        return group_of(self.code)

    @property
    def is_ended(self) -> bool:
        return self.status in self.ENDED

    @property
    def is_erased(self) -> bool:
        return self.erased_at is not None

    @property
    def is_live(self) -> bool:
        return not self.is_ended and self.status != self.Status.HELD

    @property
    def workflow(self) -> Workflow | None:
        return None if self.workflow_body is None else Workflow.model_validate(self.workflow_body)

    @property
    def pool(self) -> dict[str, dict[str, Any]]:
        """The frozen workers of this run under their slugs, in the order the conductor numbered them."""
        return {worker["slug"]: worker for worker in self.setup["pool"]}

    @property
    def lineage_root_id(self) -> int:
        return self.root_id or self.pk


def group_of(code: str) -> str:
    return f"run.{code}"


class Step(models.Model):
    """How one step of a run stands."""

    class Status(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        SUCCEEDED = "succeeded", "Done"
        REUSED = "reused", "Reused"
        FAILED = "failed", "Failed"
        SKIPPED = "skipped", "Skipped"
        CANCELLED = "cancelled", "Cut"
        WRITTEN = "written", "Written by a person"

    DONE: ClassVar[tuple[str, ...]] = (Status.SUCCEEDED, Status.REUSED, Status.WRITTEN)

    run = models.ForeignKey(Run, models.CASCADE, related_name="steps")
    key = models.CharField(max_length=40)
    position = models.PositiveSmallIntegerField()
    instruction = models.TextField()
    worker = models.CharField(max_length=63)
    access = models.JSONField(default=list)
    role = models.CharField(max_length=40, blank=True)
    round = models.PositiveSmallIntegerField(default=1)
    status = models.CharField(max_length=10, choices=Status, default=Status.WAITING)
    result = models.TextField(blank=True)
    note = models.TextField(blank=True)  # why it failed or was skipped, for people
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="a_key_names_one_step_of_a_run")]
        indexes = [
            # The list of runs asks for those that gave a worker a step, and for those of so many steps (see `finding`).
            # Neither column ever changes: a step's status and result are written as cheaply as without.
            models.Index(fields=["worker", "run"], name="step_of_worker"),
            models.Index(fields=["position", "run"], name="step_at_position"),
        ]

    def __str__(self) -> str:
        return f"{self.position + 1} {self.key}"


class Attempt(models.Model):
    """One call of one worker for one step, or the taking over of an earlier one's result."""

    class Status(models.TextChoices):
        RUNNING = "running", "Running"
        SUCCEEDED = "succeeded", "Succeeded"
        FAILED = "failed", "Failed"
        CUT = "cut", "Cut off"
        LATE = "late", "Late: billed, not used"
        LOST = "lost", "Lost with its driver"
        REUSED = "reused", "Reused"
        WRITTEN = "written", "Written by a person"

    run = models.ForeignKey(Run, models.CASCADE, related_name="attempts")
    step = models.ForeignKey(Step, models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    worker = models.CharField(max_length=63)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    digest = models.CharField(max_length=64)  # of what was sent: worker identity and messages
    sent = models.JSONField()  # the messages exactly as sent
    text = models.TextField(blank=True)  # what came back, whole or in part
    track = models.JSONField(null=True)  # when it was how long, as `tracks.Marks`; null: nobody kept that
    error = models.TextField(blank=True)
    error_kind = models.CharField(max_length=20, blank=True)
    error_status = models.PositiveSmallIntegerField(null=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    estimated = models.BooleanField(default=False)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)  # null: the price is unknown
    ttft_ms = models.FloatField(null=True)
    duration_ms = models.FloatField(null=True)
    source = models.ForeignKey("self", models.PROTECT, null=True)  # whose result was taken
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["step", "number"], name="attempts_are_numbered")]
        indexes = [
            # A fork looks for what was already paid for, along its lineage.
            models.Index(fields=["digest"], name="attempt_reusable", condition=Q(status="succeeded")),
            # How a worker does: its latest calls that ended by themselves.
            models.Index(
                fields=["worker", "-finished_at"],
                name="attempt_of_worker",
                condition=Q(status__in=["succeeded", "failed", "late"]),
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} at {self.step}"

    @property
    def stream(self) -> str:
        """The name under which its text is written live."""
        return f"a{self.pk}"


class Proposal(models.Model):
    """What a planner returned, kept whatever came of it: raw text, repairs, the workflow or the errors."""

    class Status(models.TextChoices):
        WRITING = "writing", "Writing"
        VALID = "valid", "Valid"
        INVALID = "invalid", "Invalid"
        FAILED = "failed", "Call failed"
        CUT = "cut", "Cut off"
        LOST = "lost", "Lost with its driver"

    class Verdict(models.TextChoices):
        KEPT = "kept", "Kept"
        CHANGED = "changed", "Changed"

    run = models.ForeignKey(Run, models.CASCADE, related_name="proposals")
    number = models.PositiveSmallIntegerField()
    round = models.PositiveSmallIntegerField(default=1)
    verdict = models.CharField(max_length=10, choices=Verdict, blank=True)  # on the round before, where there was one
    conductor = models.CharField(max_length=63, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.WRITING)
    sent = models.JSONField(default=list)
    raw = models.TextField(blank=True)
    track = models.JSONField(null=True)  # as an attempt's
    error = models.TextField(blank=True)  # of a call that failed, in the endpoint's own words
    repairs = models.JSONField(default=list)
    problems = models.JSONField(default=list)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    estimated = models.BooleanField(default=False)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    ttft_ms = models.FloatField(null=True)
    duration_ms = models.FloatField(null=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="proposals_are_numbered")]

    def __str__(self) -> str:
        return f"proposal {self.number} for {self.run.code}"

    @property
    def stream(self) -> str:
        return f"p{self.pk}"


class Driver(models.Model):
    """A driver process that was seen alive."""

    name = models.CharField(max_length=100, unique=True)
    pid = models.PositiveIntegerField()
    threads = models.PositiveIntegerField()
    holding = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
