"""What a fresh studio starts with: a person, a project, and the simulator's workers where there is a simulator."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.accounts.services import ensure_first_person
from apps.audit.log import Actor
from apps.workers.services import ensure_simulated


class Command(BaseCommand):
    help = "Make the first person, the default project and the simulated workers, where they are missing."

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        ensure_first_person(now=now)
        if settings.SIMULATOR_URL:
            url = settings.SIMULATOR_URL.rstrip("/")
            ensure_simulated(url=url, by=Actor(kind="system", id="up", label="up"), now=now)
