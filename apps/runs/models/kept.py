"""What is kept beside runs: links to them, their words, views of their list, drafts of their forks, experiments."""

from __future__ import annotations

from datetime import datetime

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.runs.models.carried_out import Run


class Share(models.Model):
    """A link by which anybody may read one run that has ended. Of its token only a digest is kept."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="shares")
    digest = models.CharField(max_length=64, unique=True)  # the index by which a token finds it, too
    begins = models.CharField(max_length=6)  # the first letters of the token, to tell links apart
    made_by = models.ForeignKey(User, models.PROTECT)
    hides_costs = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    opened_at = models.DateTimeField(null=True)  # the last time, to the minute

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.begins}… of {self.run.code}"

    def state(self, *, now: datetime) -> str:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "open"


class RunWords(models.Model):
    """The words of a run's task, instructions and results, for the list of runs to search.

    Kept by triggers (migration 0010): the task's from the beginning, the steps' whenever the run is held or ends, so
    that writing a step's result costs nothing more. A word beyond the first 200,000 characters is not found.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="words")
    words = SearchVectorField()

    class Meta:
        indexes = [
            # What was written last waits in a list that every search reads: it must stay short.
            GinIndex(fields=["words"], name="run_words", gin_pending_list_limit=256),
        ]

    def __str__(self) -> str:
        return f"the words of run {self.run_id}"


class SavedView(models.Model):
    """A filter of the list of runs that a person keeps under a name."""

    person = models.ForeignKey(User, models.CASCADE, related_name="views")
    name = models.CharField(max_length=40)
    text = models.CharField(max_length=1000)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["person", "name"], name="a_name_is_one_view_of_a_person")]

    def __str__(self) -> str:
        return self.name


class SavedDraft(models.Model):
    """A workflow being edited that was not started yet. See `drafts`."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="drafts")
    person = models.ForeignKey(User, models.CASCADE, related_name="drafts")  # who began it
    changed_by = models.ForeignKey(User, models.CASCADE, related_name="+")  # who saved it last,
    editor = models.CharField(max_length=32, blank=True)  # and from which page
    version = models.PositiveIntegerField(default=1)  # grows with every save, so that a page can tell it is behind
    # What the form says, as JSON. A text: jsonb has no place for a NUL, which may well be typed before it is mended.
    body = models.TextField()
    base = models.CharField(max_length=16)  # of the run's workflow when it was begun
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["run", "-updated_at"], name="draft_of_run")]  # whenever a run is edited

    def __str__(self) -> str:
        return f"draft {self.pk} of run {self.run_id}"


class Experiment(models.Model):
    """Forks of one run, each of which differs from it in one access edge: to see what the edges do to the answer."""

    class Status(models.TextChoices):
        RUNNING = "running", "Under way"
        DONE = "done", "Done"
        STOPPED = "stopped", "Stopped"
        LIMIT = "limit", "Ended at its limit"

    run = models.ForeignKey(Run, models.CASCADE, related_name="experiments")
    owner = models.ForeignKey(User, models.PROTECT)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    limit_usd = models.DecimalField(max_digits=16, decimal_places=4)  # of all its forks together
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"], condition=Q(status="running"), name="one_experiment_at_a_time_on_a_run"
            ),
        ]

    def __str__(self) -> str:
        return f"experiment {self.pk} on run {self.run_id}"

    @property
    def is_over(self) -> bool:
        return self.status != self.Status.RUNNING


class Variant(models.Model):
    """One fork of an experiment: without the edge from `source` to `reader`; where there is none, the run once more."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        LEFT = "left", "Not tried"

    experiment = models.ForeignKey(Experiment, models.CASCADE, related_name="variants")
    position = models.PositiveSmallIntegerField()
    source = models.CharField(max_length=40, blank=True)
    reader = models.CharField(max_length=40, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    fork = models.OneToOneField(Run, models.SET_NULL, null=True, related_name="variant")
    most_usd = models.DecimalField(max_digits=16, decimal_places=4, null=True)  # it can cost; null: nobody knows
    note = models.TextField(blank=True)  # why there is no answer, for people

    # What came of it, beside the run: measured once, when the fork has ended.
    likeness = models.FloatField(null=True)  # of the two answers, from 0 to 1
    is_same_answer = models.BooleanField(null=True)
    called = models.JSONField(default=list)  # the steps that ran again,
    changed = models.JSONField(default=list)  # and those that came to another result
    saved_tokens = models.IntegerField(null=True)  # that a whole run without the edge needs less
    saved_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)  # null: a price is unknown

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["experiment", "source", "reader"], name="an_edge_is_tried_once_an_experiment"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source} → {self.reader}" if self.source else "without change"
