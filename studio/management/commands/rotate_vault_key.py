"""`manage.py rotate_vault_key`: another key for the vault, and every stored credential sealed with it.

The new key is put in front before anything is sealed with it, and the old one stays behind it: whatever happens in
between, every credential can be opened. Processes that run read the keys anew, so none has to be restarted.
"""

import os
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.audit.log import Actor
from apps.core.errors import StudioError
from apps.workers.rotation import reseal_all
from studio.secrets import write_private

COMMAND = Actor(kind="system", id="rotate_vault_key", label="manage.py rotate_vault_key")


class Command(BaseCommand):
    help = (
        "Put a new key in front of the vault's and seal every credential with it. Where the keys come from VAULT_KEY "
        "or VAULT_KEY_FILE, put the new one in front there yourself and run this with --reseal."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        only = parser.add_mutually_exclusive_group()
        only.add_argument("--reseal", action="store_true", help="make no key: seal with the first of those there are")
        only.add_argument(
            "--forget-old", action="store_true", help="make no key: seal with the first, and drop the others"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["reseal"]:
            self._own_the_keys()
        if not (options["reseal"] or options["forget_old"]):
            self._keep([Fernet.generate_key().decode(), *settings.READ_VAULT_KEYS()])
        try:
            count = reseal_all(by=COMMAND, now=timezone.now())
        except StudioError as refusal:
            raise CommandError(refusal.message) from refusal
        if options["forget_old"]:
            self._keep(settings.READ_VAULT_KEYS()[:1])
        self.stdout.write(f"{count} credential{'' if count == 1 else 's'} sealed with the newest key.")

    def _own_the_keys(self) -> None:
        """:raises CommandError: the keys are somebody else's to change."""
        named = next((name for name in ("VAULT_KEY", "VAULT_KEY_FILE") if os.environ.get(name)), None)
        if named:
            raise CommandError(
                f"The keys come from {named}, which this command cannot change. Put a new one in front there, newest "
                "first and separated by spaces, start the studio's processes again, and run it with --reseal."
            )

    def _keep(self, keys: list[str]) -> None:
        write_private(settings.DATA_DIR / "secrets" / "vault_key", " ".join(keys) + "\n")
