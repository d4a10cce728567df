"""What planners have learnt. Never changed: learning again makes a new row, and a run names the one it used."""

from __future__ import annotations

from django.db import models


class Learnt(models.Model):
    """What one training of a planner came to, as plain data."""

    planner = models.CharField(max_length=40)
    body = models.JSONField()
    digest = models.CharField(max_length=64)  # of the body: names it in trails and on runs
    trained_on = models.JSONField(default=dict)  # how many tasks, which workers, how it did on those held out
    by_label = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["planner", "-id"], name="learnt_newest"),  # a submit asks for the newest
        ]

    def __str__(self) -> str:
        return f"{self.planner} {self.digest[:8]}"
