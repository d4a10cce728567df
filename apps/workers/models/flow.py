"""What may go where: tags that texts and models carry, and rules that say which models may read what carries a tag."""

from __future__ import annotations

import re

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q

from apps.accounts.models import Project

from .credentials import Scoped

TAG = re.compile(r"^[a-z0-9][a-z0-9-]{0,39}\Z")
tag_rule = RegexValidator(TAG.pattern, "use lower-case letters, digits and dashes, such as client-confidential")


class FlowQuerySet(Scoped):
    def of(self, project: Project) -> FlowQuerySet:
        """The studio's, and the project's own."""
        return self.filter(Q(project=None) | Q(project=project))


class Tag(models.Model):
    """A word that says of a text what it is (`client-confidential`), or of a model what can be relied on (`eu-hosted`).

    Tasks, attachments and models carry tags by their names, which are frozen with a run: so a name never changes.
    """

    name = models.CharField(max_length=40, validators=[tag_rule], help_text="such as client-confidential or eu-hosted")
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, help_text="empty: of every project")
    words = models.CharField("what it means", max_length=200, blank=True)
    created_at = models.DateTimeField(editable=False)

    objects = FlowQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="a_tag_is_named_once", nulls_distinct=False),
        ]

    def __str__(self) -> str:
        return self.name


class FlowRule(models.Model):
    """What carries one tag may only be read by models that carry another one."""

    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, help_text="empty: in every project")
    carries = models.CharField("what carries", max_length=40, validators=[tag_rule])
    needs = models.CharField("may only be read by models with", max_length=40, validators=[tag_rule])
    words = models.CharField("why", max_length=200, blank=True, help_text="shown to whoever is held by it")
    enabled = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1, editable=False)  # grows with every change, so that one of two wins
    created_at = models.DateTimeField(editable=False)

    objects = FlowQuerySet.as_manager()

    class Meta:
        ordering = [F("project").asc(nulls_first=True), "pk"]
        constraints = [
            # Also the index by which a run finds its rules: those of its project and the studio's.
            models.UniqueConstraint(
                fields=["project", "carries", "needs"], name="a_rule_is_made_once", nulls_distinct=False
            ),
        ]

    def __str__(self) -> str:
        return f"what carries {self.carries} may only be read by models with {self.needs}"
