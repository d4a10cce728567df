"""Django's `manage.py changepassword`, with its event."""

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import note_password_change
from apps.audit.log import Actor

COMMAND = Actor(kind="system", id="changepassword", label="manage.py changepassword")


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with transaction.atomic():
            before = dict(User.objects.values_list("pk", "password"))
            said: str | None = super().handle(*args, **options)
            for user in User.objects.all():
                if user.password != before.get(user.pk):
                    note_password_change(user=user, by=COMMAND, now=timezone.now())
        return said
