"""People, the projects they belong to, the links by which somebody signs in without a password, and programs' keys."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db import models

from apps.accounts.roles import MAY, Deed, roles_that_may
from apps.audit.log import Actor


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, user: "User | AnonymousUser") -> "ProjectQuerySet":
        """The projects `user` belongs to, whatever the role; nobody belongs to one by being a superuser."""
        return self.where(user, Deed.SEE)

    def where(self, user: "User | AnonymousUser", deed: Deed) -> "ProjectQuerySet":
        """The projects in which `user` may do `deed`, by their role there."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        return self.filter(memberships__user=user.pk, memberships__role__in=roles_that_may(deed))


class Project(models.Model):
    """What runs, templates, profiles, budgets and keys belong to; who belongs to it sees them."""

    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField()

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class User(AbstractUser):
    """A person. What they may see follows from their memberships."""

    home_project = models.ForeignKey(Project, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta(AbstractUser.Meta):
        verbose_name = "person"
        verbose_name_plural = "people"

    @property
    def label(self) -> str:
        return self.get_full_name() or self.username

    @property
    def actor(self) -> Actor:
        return Actor(kind="person", id=str(self.pk), label=self.label)

    @cached_property
    def deeds(self) -> Mapping[int, frozenset[Deed]]:
        """What they may do in each project, by its id, as it was when first asked: for what one page offers.

        Whoever lets something be done asks `permits` instead.
        """
        if not self.is_active:
            return {}
        return {project: MAY[role] for project, role in self.memberships.values_list("project", "role")}

    @property
    def initials(self) -> str:
        """One or two capital letters for the avatar."""
        words = re.split(r"[\s._-]+", self.label.strip(" ._-"))
        ends = words if len(words) == 1 else [words[0], words[-1]]
        return "".join(word[:1] for word in ends).upper() or self.label[:1]


class Membership(models.Model):
    """That a person belongs to a project, and as what."""

    class Role(models.TextChoices):
        ANALYST = "analyst"
        AUDITOR = "auditor"
        ADMIN = "admin"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role, default=Role.ANALYST)

    class Meta:
        constraints = [
            # One role a person and project; also the index of `visible_to`.
            models.UniqueConstraint(fields=["user", "project"], name="membership_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}: {self.role}"


class SignInLink(models.Model):
    """A single-use way in. Only the token's digest is kept: who reads this table cannot sign in with it."""

    digest = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in link for {self.user}"

    def is_open(self, *, now: datetime) -> bool:
        return self.used_at is None and now < self.expires_at


class ApiKey(models.Model):
    """A way in for a program of somebody's. Of its secret only a digest is kept, and how it begins."""

    class Scope(models.TextChoices):
        READ = "read", "read: see runs and what happened in them"
        RUN = "run", "run: submit, stop and edit runs"
        CHAT = "chat", "chat: call profiles as models through the OpenAI-compatible API"

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=80, help_text="what it is for, such as the program that has it")
    prefix = models.CharField(max_length=20)
    digest = models.CharField(max_length=64, unique=True)  # the index of `find_by_secret`, too
    scopes = models.JSONField(default=list)
    rate_per_minute = models.PositiveIntegerField(default=60, help_text="requests a minute, at most")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def state(self, *, now: datetime) -> str:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"
