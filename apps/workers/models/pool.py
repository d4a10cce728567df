"""The workers of the pool, and who stands in for whom."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models

from .called import CalledModel


class Worker(CalledModel):
    """A language model in the pool."""

    strengths = models.TextField(blank=True, help_text="shown to the conductor where names are revealed")
    context_window = models.PositiveIntegerField(null=True, blank=True)
    embeds = models.BooleanField(
        "embedding model", default=False, help_text="turns texts into vectors for planners that learn; is given no step"
    )
    probe = models.BooleanField(
        "ask now and then",
        default=False,
        help_text="a tiny call where no real one was made for an hour, to know whether it answers; it is paid for",
    )


class Fallback(models.Model):
    """That one worker stands in for another, whose tries are spent or who cannot be asked."""

    worker = models.ForeignKey(Worker, models.CASCADE, related_name="fallbacks")
    instead = models.ForeignKey(Worker, models.PROTECT, related_name="stands_in_for")
    position = models.PositiveSmallIntegerField(default=0, help_text="the lowest is asked first")

    class Meta:
        ordering = ["position", "pk"]
        constraints = [models.UniqueConstraint(fields=["worker", "instead"], name="stands_in_once")]

    def __str__(self) -> str:
        return f"{self.instead} for {self.worker}"

    def clean(self) -> None:
        """Nobody stands in for themselves, not even by way of others."""
        seen, todo = set(), [self.instead_id]
        while todo:
            pk = todo.pop()
            if pk == self.worker_id:
                raise ValidationError({"instead": f"{self.worker} would stand in for itself, by way of others."})
            if pk not in seen:
                seen.add(pk)
                others = Fallback.objects.filter(worker=pk).exclude(pk=self.pk)
                todo += others.values_list("instead_id", flat=True)
