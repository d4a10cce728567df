"""`manage.py sign_in_link`: a way in for whoever can run commands here. Prints the link and nothing else."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.second_factors import forget_second_factors
from apps.accounts.services import address_of_link, ensure_first_person, make_sign_in_link
from apps.audit.log import Actor
from apps.core.errors import StudioError

COMMAND = Actor(kind="system", id="sign_in_link", label="manage.py sign_in_link")


class Command(BaseCommand):
    help = "Print a link that signs a person in once, within ten minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", metavar="NAME", help="whom to sign in; the first administrator if left out")
        parser.add_argument(
            "--forget-second-factors",
            action="store_true",
            help="take away their authenticator app, passkeys and recovery codes, for who has lost them",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            user = _person(options["user"]) if options["user"] else ensure_first_person(now=now)
        except StudioError as refusal:
            raise CommandError(refusal.message) from refusal
        if options["forget_second_factors"]:
            forget_second_factors(person=user, by=COMMAND, now=now)
        token = make_sign_in_link(user=user, by=COMMAND, now=now)
        self.stdout.write(address_of_link(token))


def _person(name: str) -> User:
    try:
        return User.objects.get(username=name, is_active=True)
    except User.DoesNotExist:
        raise CommandError(f"There is no active person named {name}.") from None
