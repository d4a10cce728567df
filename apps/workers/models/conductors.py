"""The models that write workflows, and whether they can be reached."""

from __future__ import annotations

from typing import Any

from django.core.validators import MinValueValidator
from django.db import models

from .called import CalledModel


class Conductor(CalledModel):
    """A model that writes workflows."""

    class Encoding(models.TextChoices):
        LISTS = "lists", "three lists"
        JSON = "json", "JSON schema"

    class Examples(models.TextChoices):
        """The sets of worked examples of `apps.conductor`, kept equal to them by a test."""

        GENERAL = "general", "four of varied shape"
        NONE = "none", "none"

    adapter = models.CharField(
        max_length=300, blank=True, help_text="a LoRA adapter the endpoint serves, asked for in the model's place"
    )
    encoding = models.CharField(max_length=10, choices=Encoding, default=Encoding.LISTS)
    attempts = models.PositiveSmallIntegerField(default=3, help_text="how often an invalid plan is asked for again")
    seed = models.PositiveIntegerField(
        null=True, blank=True, help_text="empty: of each run its own, so that planning again plans anew"
    )
    max_steps = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="empty: as the profile says"
    )
    reveal_names = models.BooleanField(default=False, help_text="show the conductor names and strengths")
    examples = models.CharField(max_length=20, choices=Examples, default=Examples.GENERAL)
    prompt_version = models.CharField(max_length=10, default="1")

    @property
    def identity(self) -> dict[str, Any]:
        return super().identity | {"model": self.adapter or self.model}

    def freeze(self) -> dict[str, Any]:
        return super().freeze() | {
            "encoding": self.encoding,
            "attempts": self.attempts,
            "seed": self.seed,
            "max_steps": self.max_steps,
            "reveal_names": self.reveal_names,
            "examples": self.examples,
            "prompt_version": self.prompt_version,
        }


class Health(models.Model):
    """What the last look at a conductor's endpoint found: free of charge, it only lists its models."""

    conductor = models.OneToOneField(Conductor, models.CASCADE, related_name="health")
    at = models.DateTimeField()
    since = models.DateTimeField()  # that it has been so
    is_up = models.BooleanField()
    latency_ms = models.FloatField(null=True)
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.conductor.slug}: {'up' if self.is_up else 'down'}"
