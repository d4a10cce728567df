"""Providers' keys, and what is everybody's or a project's own."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.timesince import timesince

from apps.accounts.models import Project, User
from apps.workers import vault


class Scoped(models.QuerySet[Any]):
    """Rows that are everybody's, or a project's own."""

    def visible_to(self, user: User | AnonymousUser) -> Scoped:
        return self.filter(Q(project=None) | Q(project__in=Project.objects.visible_to(user)))

    def usable_in(self, project: Project) -> Scoped:
        """What runs of `project` may use: everybody's, and its own; never another one's, whoever asks."""
        return self.filter(Q(project=None) | Q(project=project))

    def enabled(self) -> Scoped:
        return self.filter(enabled=True)


class Credential(models.Model):
    """A provider's key, sealed. What people see of it is the label, the last four characters and its age."""

    label = models.CharField(max_length=100)
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True)
    sealed = models.TextField(editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    # The key's, not the row's: both begin anew when another key is entered.
    version = models.PositiveIntegerField(default=0, editable=False)
    entered_at = models.DateTimeField(db_default=Now(), editable=False)
    found_in = models.CharField(max_length=60, blank=True, editable=False)  # the variable that it was taken from
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = Scoped.as_manager()

    def __str__(self) -> str:
        return f"{self.label} (…{self.last_four})"

    def keep(self, secret: str) -> None:
        """Seal `secret` into this row (not saved yet)."""
        secret = secret.strip()
        self.sealed, self.last_four = vault.seal(secret), secret[-4:] if len(secret) >= 12 else ""
        self.version, self.entered_at = self.version + 1, timezone.now()

    def age(self, *, now: datetime) -> str:
        """How old the key is, in the largest unit that fits: `3 months`, `today`."""
        return "today" if now - self.entered_at < timedelta(days=1) else timesince(self.entered_at, now, depth=1)
