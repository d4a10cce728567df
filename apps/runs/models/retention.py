"""How long the texts of runs are kept, and what must not be erased whatever is said about that."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from apps.accounts.models import Project, User
from apps.runs.models.carried_out import Run

MOST_DAYS = 36_500


class Policy(models.Model):
    """For how many days after its end the texts of a run are kept: in a project, or for one profile there."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="policies")
    profile = models.CharField(max_length=63, blank=True)  # empty: every profile that has no policy of its own
    keep_days = models.PositiveIntegerField(  # null: for ever
        null=True, validators=[MinValueValidator(1), MaxValueValidator(MOST_DAYS)]
    )
    set_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    set_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "policies"
        ordering = ["profile"]
        constraints = [
            models.UniqueConstraint(fields=["project", "profile"], name="one_policy_for_a_profile_of_a_project"),
            models.CheckConstraint(
                condition=Q(keep_days=None) | Q(keep_days__range=(1, MOST_DAYS)), name="a_policy_keeps_a_day_at_least"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.profile or 'every profile'}: {self.keeps}"

    @property
    def keeps(self) -> str:
        """`for 30 days`, `for ever`."""
        if self.keep_days is None:
            return "for ever"
        return "for one day" if self.keep_days == 1 else f"for {self.keep_days:,} days"

    @property
    def keeping(self) -> timedelta | None:
        return None if self.keep_days is None else timedelta(days=self.keep_days)


class LegalHold(models.Model):
    """That nothing of a project, or of one run, may be erased until somebody lifts this."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="legal_holds")
    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="legal_holds")  # null: the whole project
    reason = models.TextField()
    placed_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    placed_at = models.DateTimeField()
    lifted_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    lifted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(lifted_by=None, lifted_at=None) | Q(lifted_by__isnull=False, lifted_at__isnull=False),
                name="a_hold_is_lifted_by_somebody_at_some_time",
            ),
        ]
        indexes = [
            # Before anything is erased: what of the project is held.
            models.Index(fields=["project", "run"], name="hold_in_force", condition=Q(lifted_at=None)),
        ]

    def __str__(self) -> str:
        return f"hold {self.pk} on {self.what}"

    @property
    def what(self) -> str:
        """`run k3x9w2ab`, or the whole project."""
        return f"run {self.run.code}" if self.run is not None else f"all of {self.project.name}"

    @property
    def facts(self) -> dict[str, Any]:
        """What names it in an event."""
        return {"hold": self.pk, "run": self.run.code if self.run is not None else None}
