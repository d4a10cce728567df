"""What checking the trails found, and how far a check is that goes on. Only `checks.py` writes here."""

from typing import Any

from django.db import models


class Check(models.Model):
    """One verification of a project's trails, or of all of them; a projection of the events in the trail `checks`."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Waiting for a driver"
        RUNNING = "running", "Under way"
        HOLDS = "holds", "Everything holds"
        BROKEN = "broken", "Broken"
        GIVEN_UP = "given_up", "Not finished"

    OPEN = (Status.QUEUED, Status.RUNNING)
    FOUND = (Status.HOLDS, Status.BROKEN)

    project = models.CharField(max_length=80, blank=True)  # a slug; empty: all trails of the studio
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    by_kind = models.CharField(max_length=16)
    by_id = models.CharField(max_length=80)
    by_label = models.CharField(max_length=320)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()  # when it last got on: one that stands still was left behind
    finished_at = models.DateTimeField(null=True)

    events_expected = models.BigIntegerField(default=0)
    events = models.BigIntegerField(default=0)  # that hold
    trails = models.BigIntegerField(default=0)
    anchor = models.BigIntegerField(default=0)  # the last anchor that was there when it began, by its place
    head = models.CharField(max_length=64, blank=True)  # that anchor's hash: it covers every head that was anchored
    broken = models.BigIntegerField(default=0)  # trails that do not hold
    breaks = models.JSONField(default=list)  # [{"trail", "seq", "reason"}], the first ones
    error = models.TextField(blank=True)  # why it was given up

    class Meta:
        constraints = [
            # Whoever asks while one is open is told of that one.
            models.UniqueConstraint(
                fields=["project"], condition=models.Q(status__in=["queued", "running"]), name="one_open_check"
            ),
        ]
        indexes = [
            # `latest_check`: the newest of a project.
            models.Index(fields=["project", "-started_at"], name="check_newest"),
            # `alarms`: the few that found something broken.
            models.Index(fields=["project"], name="check_broken", condition=models.Q(status="broken")),
        ]

    def __str__(self) -> str:
        return f"check of {self.project or 'all trails'}: {self.status}"

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN

    @property
    def first_break(self) -> dict[str, Any] | None:
        """`trail`, `seq` and `reason` of the first place that does not hold."""
        found: dict[str, Any] | None = next(iter(self.breaks), None)
        return found

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        return min(1.0, self.events / self.events_expected) if self.events_expected else 0.0
