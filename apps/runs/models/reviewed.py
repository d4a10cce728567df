"""What people think of a run that has ended: who signed it off, and how good its results are.

The trail keeps every turn of it; the rows say how things stand, for lists and filters, and for evaluation and training.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from apps.accounts.models import Project, User
from apps.runs.models.carried_out import Attempt, Run, Step

LOWEST, HIGHEST = 1, 5


class Review(models.Model):
    """Whether a run was signed off, or who is to do that."""

    class State(models.TextChoices):
        OPEN = "open", "To be reviewed"
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"

    DECIDED: ClassVar[tuple[str, ...]] = (State.ACCEPTED, State.REJECTED)

    run = models.OneToOneField(Run, models.CASCADE, related_name="review")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    assigned_to = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    assigned_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    assigned_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    comment = models.TextField(blank=True)
    is_own = models.BooleanField(default=False)  # whoever decided it had started the run

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", decided_by=None, decided_at=None, assigned_to__isnull=False)
                | Q(state__in=["accepted", "rejected"], decided_by__isnull=False, decided_at__isnull=False),
                name="a_review_is_somebodys_to_do_or_decided",
            ),
        ]
        indexes = [
            # What one has to review.
            models.Index(fields=["assigned_to", "-run"], name="review_to_do", condition=Q(state="open")),
        ]

    def __str__(self) -> str:
        return f"{self.get_state_display()}: {self.run.code}"

    @property
    def is_decided(self) -> bool:
        return self.state in self.DECIDED


class RatingQuerySet(models.QuerySet["Rating"]):
    def of_answers(self) -> RatingQuerySet:
        """Of runs as wholes: not of single steps."""
        return self.filter(step=None)

    def in_project(self, project: Project) -> RatingQuerySet:
        return self.filter(run__project=project)


class Rating(models.Model):
    """What one person thinks of a run's answer or of a step's result, and what it should have said."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="ratings")
    step = models.ForeignKey(Step, models.CASCADE, null=True, related_name="ratings")  # null: the run's answer
    # Which of the step's results it is: another worker may have stood in, and a person may write over what was there.
    attempt = models.ForeignKey(Attempt, models.CASCADE, null=True, related_name="ratings")
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    score = models.PositiveSmallIntegerField()  # from 1, useless, to 5, as it should be
    correction = models.TextField(blank=True)  # the whole text as it should have been
    comment = models.TextField(blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = RatingQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            # Who rates once more changes their mind; also the index by which a page finds what was said of its run.
            models.UniqueConstraint(
                fields=["run", "attempt", "by"], nulls_distinct=False, name="a_person_rates_a_result_once"
            ),
            models.CheckConstraint(
                condition=Q(step=None, attempt=None) | Q(step__isnull=False, attempt__isnull=False),
                name="a_rating_of_a_step_says_of_which_result",
            ),
            models.CheckConstraint(condition=Q(score__range=(LOWEST, HIGHEST)), name="a_rating_is_from_1_to_5"),
        ]

    def __str__(self) -> str:
        return f"{self.score} of {HIGHEST} by {self.by}"
