"""What a studio starts with: a person, a project, and the simulator's workers as long as there is a simulator."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.accounts.services import ensure_first_person
from apps.audit.log import Actor
from apps.workers.services import dismiss_simulated, ensure_simulated

UP = Actor(kind="system", id="up", label="up")


class Command(BaseCommand):
    help = (
        "Make the first person, the default project and the simulated workers, where they are missing; "
        "without a simulator, switch those workers off."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        ensure_first_person(now=now)
        if settings.SIMULATOR_URL:
            ensure_simulated(url=settings.SIMULATOR_URL.rstrip("/"), by=UP, now=now)
        else:
            dismiss_simulated(by=UP, now=now)
