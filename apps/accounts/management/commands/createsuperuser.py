"""Django's `manage.py createsuperuser`, with its event, and with a project to work in."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import settle_in
from apps.audit.log import Actor

COMMAND = Actor(kind="system", id="createsuperuser", label="manage.py createsuperuser")


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with transaction.atomic():
            known = set(User.objects.values_list("pk", flat=True))
            said: str | None = super().handle(*args, **options)
            for user in User.objects.exclude(pk__in=known):
                settle_in(user=user, by=COMMAND, now=timezone.now())
        return said
