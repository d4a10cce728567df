"""`manage.py up`, for `manage.py help`: manage.py itself goes straight to `studio.up`, without loading Django."""

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand

from studio.up.command import add_arguments, main


class Command(BaseCommand):
    help = "Run the whole studio: PostgreSQL, Redis, web server, drivers, beat and simulated models, until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        sys.exit(main(sys.argv[2:]))
