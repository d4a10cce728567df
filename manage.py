#!/usr/bin/env python
"""The studio's command line: `up` runs everything; every other command finds the services `up` made."""

import os
import sys

from studio.embedded.borrow import database_for_command
from studio.embedded.trouble import Trouble
from studio.env import data_dir, services

WITHOUT_DATABASE = {
    "help",
    "version",
    "collectstatic",
    "findstatic",
    "check",
    "diffsettings",
    "startapp",
    "serve_conductor",
    "--help",
    "-h",
    "--version",
}
MAY_GO_WITHOUT = {"makemigrations", "shell"}  # they use a database where there is one
AS_OWNER = {"migrate", "flush", "dbshell", "sqlflush"}


def main() -> int:
    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    if command == "up":
        from studio.up.command import main as up

        return up(sys.argv[2:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")
    if command in WITHOUT_DATABASE or "--help" in sys.argv or sys.argv[2:] == ["-h"]:
        run()
        return 0
    named = os.environ.get("DATABASE_URL") or (command in AS_OWNER and os.environ.get("DATABASE_OWNER_URL"))
    if not (named or services() or command in MAY_GO_WITHOUT):
        print(f"No studio has run in {data_dir()}. Start one with `make run`, or set STUDIO_DATA.", file=sys.stderr)
        return 1
    try:
        with database_for_command(data_dir()):
            if command in AS_OWNER and (owner := owner_url()):
                os.environ["DATABASE_URL"] = owner  # the app's own role may not change tables
            run()
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    return 0


def owner_url() -> str | None:
    """The owner's address, never that of the embedded database when the environment names another one."""
    kept = None if os.environ.get("DATABASE_URL") else services().get("database_owner_url")
    return os.environ.get("DATABASE_OWNER_URL") or kept


def run() -> None:
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
