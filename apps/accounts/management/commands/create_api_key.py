"""`manage.py create_api_key`: a key for somebody's program. Prints the key, once, and nothing else."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.accounts.api_keys import RATE, make_api_key
from apps.accounts.models import ApiKey, Project, User
from apps.audit.log import Actor
from apps.core.errors import StudioError

COMMAND = Actor(kind="system", id="create_api_key", label="manage.py create_api_key")


class Command(BaseCommand):
    help = "Print a new API key of a person. It is shown this once; only its digest is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, metavar="NAME", help="whose program it is for")
        parser.add_argument("--name", default="from the command line", help="what it is for (%(default)s)")
        parser.add_argument("--project", metavar="SLUG", help="where it works; the person's home project if left out")
        parser.add_argument(
            "--scope", action="append", choices=ApiKey.Scope.values, help="may be repeated; all of them"
        )
        parser.add_argument("--rate", type=int, default=RATE, help="requests a minute, at most (%(default)s)")
        parser.add_argument("--days", type=int, help="how long it works; for good if left out")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        person = User.objects.filter(username=options["user"], is_active=True).first()
        if person is None:
            raise CommandError(f"There is no active person named {options['user']}.")
        try:
            _, secret = make_api_key(
                person=person,
                project=_project(person, options["project"]),
                name=options["name"],
                scopes=options["scope"] or ApiKey.Scope.values,
                expires_at=now + timedelta(days=options["days"]) if options["days"] is not None else None,
                rate_per_minute=options["rate"],
                by=COMMAND,
                now=now,
            )
        except StudioError as refusal:
            raise CommandError(refusal.message) from refusal
        self.stdout.write(secret)


def _project(person: User, slug: str | None) -> Project:
    project = Project.objects.filter(slug=slug).first() if slug else person.home_project
    if project is None:
        raise CommandError(f"There is no project {slug}." if slug else f"{person} has no home project: give --project.")
    return project
