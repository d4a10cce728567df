"""Profiles bind planner, pool and limits under a name."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Max

from apps.accounts.models import Project

from .called import slug_rule
from .conductors import Conductor
from .credentials import Scoped
from .pool import Worker


class Profile(models.Model):
    """Planner, pool and limits under a name."""

    class Planner(models.TextChoices):
        """The planners of `apps.conductor`, kept equal to them by a test: this app lies beneath that one."""

        CONDUCTOR = "conductor", "conductor: a model writes the workflow"
        DIRECT = "direct", "direct: one worker answers the task"
        RANDOM = "random", "random: any worker of the pool answers"
        SELF_CONSISTENCY = "self-consistency", "self-consistency: one worker answers often, the majority wins"
        SELF_REFLECTION = "self-reflection", "self-reflection: one worker improves its own answer"
        MIXTURE = "moa", "mixture of agents: every worker answers, one of them sums up"
        ROUTER_DC = "routerdc", "RouterDC: the worker a learnt router chooses answers"
        SMOOTHIE = "smoothie", "Smoothie: every worker answers, the answer nearest to the others wins"
        MAS_ROUTER = "masrouter", "MASRouter: a learnt router chooses workers, roles and how they work together"
        TRINITY = "trinity", "TRINITY: a model chooses turn by turn who thinks, works and verifies"
        UNTRAINED = "untrained", "untrained: a worker of the pool writes the workflow"

    # Those that ask the profile's conductor; all others plan without one.
    CONDUCTED = (Planner.CONDUCTOR, Planner.TRINITY)

    slug = models.CharField(max_length=63, unique=True, validators=[slug_rule])
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=200, blank=True)
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True)
    planner = models.CharField(max_length=40, choices=Planner, default=Planner.CONDUCTOR)
    conductor = models.ForeignKey(Conductor, models.PROTECT, null=True, blank=True)
    options = models.JSONField(
        default=dict, blank=True, help_text='the planner\'s own options, such as {"n": 5}; its page lists them'
    )
    workers = models.ManyToManyField(
        Worker,
        blank=True,
        help_text="none chosen: every enabled worker. With the planner “direct” the first by its short name answers: "
        "choose one, and a worker added later does not take its place.",
    )
    pool_size = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="so many of the workers, others in every run and in any order; empty: all of them",
    )
    max_steps = models.PositiveSmallIntegerField(default=5, validators=[MinValueValidator(1)])
    rounds = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(5)],
        help_text="after each but the last the conductor sees the answer, and keeps its workflow or writes another",
    )
    nesting = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(3)],
        help_text="how deep a step may be given to the conductor itself, which writes a workflow of its own for it",
    )
    fallback = models.CharField(
        "when planning fails",
        max_length=40,
        choices=Planner,
        blank=True,
        help_text="who plans when the planner is down or writes nothing valid; empty: the run fails and says why",
    )
    fallback_conductor = models.ForeignKey(
        Conductor, models.PROTECT, null=True, blank=True, related_name="stands_in_for"
    )
    tries = models.PositiveSmallIntegerField(default=3, help_text="calls of one worker for one step, at most")
    budget_usd = models.DecimalField(
        "limit of a run",
        max_digits=12,
        decimal_places=4,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text="USD that one run may cost; a call that could cross it is not made. Empty: no limit",
    )
    unknown_price_ok = models.BooleanField(
        "run where a price is unknown",
        default=False,
        help_text="else a run asks first when a worker of its pool has no price: what it costs cannot be limited",
    )
    review = models.BooleanField("review before running", default=False)
    enabled = models.BooleanField(default=True)
    away = models.BooleanField(default=False, editable=False)  # as a worker is
    version = models.PositiveIntegerField(default=1, editable=False)
    position = models.PositiveSmallIntegerField(default=None, help_text="the lowest is offered first")

    objects = Scoped.as_manager()

    class Meta:
        ordering = ["position", "slug"]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.position is None:  # behind all others: the first profile is what people find chosen
            last: int | None = Profile.objects.aggregate(last=Max("position"))["last"]
            self.position = 0 if last is None else last + 1
        super().save(*args, **kwargs)

    def clean(self) -> None:
        """What the fields do not say alone: who asks a conductor has one, and options are options."""
        wrong = {}
        if self.planner in self.CONDUCTED and self.conductor is None:
            wrong["conductor"] = f"The planner “{self.planner}” asks a conductor: choose one."
        if self.fallback in self.CONDUCTED and self.fallback_conductor is None:
            wrong["fallback_conductor"] = f"The planner “{self.fallback}” asks a conductor: choose one."
        if self.nesting and self.conductor is None:
            wrong["nesting"] = "A step can be given to the conductor itself only where there is one: choose one."
        for name in ("conductor", "fallback_conductor"):
            chosen: Conductor | None = getattr(self, name)
            if chosen is not None and chosen.project_id not in (None, self.project_id):
                wrong[name] = f"This conductor is the project {chosen.project}'s own: choose one of everybody's."
        if not isinstance(self.options, dict):
            wrong["options"] = 'Give the options by name, such as {"n": 5}.'
        if wrong:
            raise ValidationError(wrong)

    def pool(self, project: Project) -> list[Worker]:
        """The workers this profile offers runs of `project`, in the order the conductor numbers them."""
        chosen = Worker.objects.usable_in(project).enabled().filter(embeds=False)
        if self.pk and self.workers.exists():
            chosen = chosen.filter(profile=self)
        return list(chosen.order_by("slug"))
