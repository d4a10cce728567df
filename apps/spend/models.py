"""The ledger: what may be spent, what is spent and set aside, and a line for every call of a model.

Only `book.py` moves money here. Runs are named by their codes and people by id and label: a line outlives them, and the
app of the runs lies above this one.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from apps.accounts.models import Project, User
from apps.workers.models import Profile, Worker


class Budget(models.Model):
    """A limit that an admin sets. A call counts towards it when everything that the budget names is the call's."""

    class Period(models.TextChoices):
        RUN = "run", "each run"
        DAY = "day", "each day (UTC)"
        MONTH = "month", "each month (UTC)"
        TOTAL = "total", "for good"

    name = models.CharField(max_length=100, unique=True)
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, help_text="empty: any")
    person = models.ForeignKey(User, models.CASCADE, null=True, blank=True, help_text="empty: anybody")
    profile = models.ForeignKey(Profile, models.CASCADE, null=True, blank=True, help_text="empty: any")
    worker = models.ForeignKey(Worker, models.CASCADE, null=True, blank=True, help_text="empty: any")
    period = models.CharField(
        max_length=5, choices=Period, default=Period.DAY, help_text="counted from when the budget is made"
    )
    limit_usd = models.DecimalField(
        "limit",
        max_digits=16,
        decimal_places=4,
        validators=[MinValueValidator(Decimal(0))],
        help_text="USD; a call that could cross it is not made",
    )
    enabled = models.BooleanField(default=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.CheckConstraint(name="budget_not_negative", condition=Q(limit_usd__gte=0))]

    def __str__(self) -> str:
        return self.name


class Account(models.Model):
    """What is spent and set aside under one limit: of a run, or of a budget in one of its periods."""

    key = models.CharField(max_length=80, unique=True)  # "run:k3x9w2ab", "budget:3:2026-11-21"
    label = models.CharField(max_length=100)
    # The key says which budget it was when that is gone.
    budget = models.ForeignKey(Budget, models.SET_NULL, null=True, related_name="accounts", db_index=False)
    limit_usd = models.DecimalField(max_digits=16, decimal_places=4, null=True)  # null: none
    spent_usd = models.DecimalField(max_digits=20, decimal_places=8, default=0)
    reserved_usd = models.DecimalField(max_digits=20, decimal_places=8, default=0)
    opened_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            # A sum below nothing is a reservation given back twice: better no write than a wrong ledger.
            models.CheckConstraint(
                name="account_not_negative", condition=Q(limit_usd__gte=0, spent_usd__gte=0, reserved_usd__gte=0)
            ),
        ]
        # `budgets`: the latest account of each; also what a budget's deletion looks for.
        indexes = [models.Index(fields=["budget", "id"], name="account_of_budget")]

    def __str__(self) -> str:
        return self.key

    @property
    def left_usd(self) -> Decimal | None:
        """What can still be set aside; below nothing where a call cost more than was set aside. None: no limit."""
        return None if self.limit_usd is None else self.limit_usd - self.spent_usd - self.reserved_usd


class Line(models.Model):
    """One call of a model: what was set aside for it, what it cost, and by which prices."""

    class State(models.TextChoices):
        RESERVED = "reserved"
        SETTLED = "settled"
        RELEASED = "released"

    ref = models.CharField(max_length=120, unique=True)  # "k3x9w2ab:s1:2", "k3x9w2ab:plan:1"
    run = models.CharField(max_length=12)
    project_id = models.BigIntegerField()
    project = models.CharField(max_length=80)
    person_id = models.BigIntegerField()
    person = models.CharField(max_length=320)
    profile = models.CharField(max_length=63)
    worker = models.CharField(max_length=63)
    worker_name = models.CharField(max_length=100)

    at = models.DateTimeField()  # when the call was about to be made: its day and month are those that pay
    settled_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=8, choices=State, default=State.RESERVED)
    reserved_usd = models.DecimalField(max_digits=20, decimal_places=8, default=0)
    cost_usd = models.DecimalField(max_digits=20, decimal_places=8, null=True)  # null on a settled line: unknown
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    estimated = models.BooleanField(default=False)
    price = models.JSONField(default=dict)  # input_usd, cached_usd, output_usd, free, version, from
    price_version = models.PositiveIntegerField(default=0)
    accounts: Any = ArrayField(models.BigIntegerField(), default=list)  # those it is booked to

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="line_cost_when_settled",
                condition=Q(state="settled", settled_at__isnull=False) | Q(cost_usd__isnull=True),
            ),
            models.CheckConstraint(
                name="line_not_negative",
                condition=Q(reserved_usd__gte=0) & (Q(cost_usd__isnull=True) | Q(cost_usd__gte=0)),
            ),
        ]
        indexes = [
            # `lines_of`: a run's lines in order; `release_run`.
            models.Index(fields=["run", "id"], name="line_of_run"),
            # `spent`: workers since a moment. The cost stands in the index, so that sums read nothing else.
            models.Index(
                fields=["worker", "at"], include=["cost_usd"], name="line_by_worker", condition=Q(state="settled")
            ),
            # `spent_a_day`, likewise.
            models.Index(fields=["at"], include=["cost_usd"], name="line_by_day", condition=Q(state="settled")),
            # `lines_in`: the lines behind an account's figures.
            GinIndex(fields=["accounts"], name="line_by_account"),
        ]

    def __str__(self) -> str:
        return self.ref

    @property
    def cost_unknown(self) -> bool:
        """The call was made and nobody knows what it cost: nothing is booked for it."""
        return self.state == self.State.SETTLED and self.cost_usd is None
