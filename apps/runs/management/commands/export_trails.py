"""`manage.py export_trails`: trails as a signed zip that anybody can check, written to a file or handed on."""

import sys
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from apps.audit.exporting.exports import Export, begin_export
from apps.audit.exporting.selected import Scope
from apps.audit.log import Actor
from apps.audit.models import Trail
from apps.core.errors import StudioError
from apps.runs.exporting import STUDIO, scope_of, scope_of_run
from apps.runs.models import Run

COMMAND = Actor(kind="system", id="export_trails", label="manage.py export_trails")


class Command(BaseCommand):
    help = (
        "Export trails as a zip with a verifier in it. Prints how many there are, and the name of the file. "
        "The log says that it was made."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--run", metavar="CODE", help="a run, with the runs nested in it")
        what.add_argument("--project", metavar="SLUG", action="append", help="a project; may be repeated")
        what.add_argument("--studio", action="store_true", help="what belongs to no project: accounts, pool, money")
        what.add_argument("--all", action="store_true", help="every trail there is")
        parser.add_argument("--since", metavar="TIME", help="as 2026-03-01 or 2026-03-01T12:00, in UTC")
        parser.add_argument("--until", metavar="TIME", help="the same; what happened then is left out")
        parser.add_argument("--without-texts", action="store_true", help="leave out what people and models wrote")
        parser.add_argument("--output", metavar="FILE", help="where to; “-” hands it on. A name of its own if left out")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            scope = self._scope(options, now)
            export = begin_export(scope=scope, with_texts=not options["without_texts"], by=COMMAND, now=now)
        except StudioError as refusal:
            raise CommandError(refusal.message) from refusal
        if options["output"] == "-":
            for piece in export.pieces():
                sys.stdout.buffer.write(piece)
            return
        path = _written(export, Path(options["output"] or export.name))
        self.stdout.write(f"{path}: {export.selection.trails} trails, {export.selection.length} events")

    def _scope(self, options: dict[str, Any], now: datetime) -> Scope:
        since, until = (_time(name, options[name]) for name in ("since", "until"))
        if options["run"]:
            if since or until:
                raise CommandError("A run is exported whole: --since and --until are for projects.")
            return scope_of_run(_run(options["run"]))
        if options["all"]:
            projects = sorted(Trail.objects.values_list("project", flat=True).distinct())
        else:
            projects = [STUDIO] if options["studio"] else options["project"]
        return scope_of(projects, since=since, until=until, now=now)


def _written(export: Export, path: Path) -> Path:
    """The zip under `path`: whole, or not at all."""
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("wb") as file:
            for piece in export.pieces():
                file.write(piece)
        draft.replace(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return path


def _run(code: str) -> Run:
    run = Run.objects.select_related("project").filter(code=code).first()
    if run is None:
        raise CommandError(f"There is no run {code}.")
    return run


def _time(name: str, given: str | None) -> datetime | None:
    if given is None:
        return None
    try:
        day = parse_date(given)
        at = datetime.combine(day, time.min) if day else parse_datetime(given)
    except ValueError:
        at = None
    if at is None:
        raise CommandError(f"--{name} {given}: give a time as 2026-03-01 or 2026-03-01T12:00.")
    return at if at.tzinfo else at.replace(tzinfo=UTC)
