"""`manage.py apply_retention`: erase what was kept as long as its project says; `--dry-run` says what that would be."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.accounts.models import Project
from apps.audit.log import Actor
from apps.core.errors import StudioError
from apps.runs.models import Run
from apps.runs.retention.applying import Going, apply_policies, outlook, projects_with_policies

COMMAND = Actor(kind="system", id="apply_retention", label="manage.py apply_retention")


class Command(BaseCommand):
    help = "Erase the texts of runs whose time has come by their project's policies."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="erase nothing: say what would go")
        parser.add_argument("--project", metavar="SLUG", help="of this project alone")
        parser.add_argument("--json", action="store_true", help="a JSON object a run, one a line")

    def handle(self, *args: Any, **options: Any) -> None:
        project = _project(options["project"]) if options["project"] else None
        now = timezone.now()
        count = 0
        try:
            for facts in _would_go(project, now) if options["dry_run"] else _erased(project, now):
                count += 1
                self.stdout.write(json.dumps(facts) if options["json"] else _line(facts))
        except StudioError as refusal:
            raise CommandError(refusal.message) from refusal
        if not options["json"]:
            verb = "would be erased" if options["dry_run"] else "erased"
            self.stdout.write(f"{count:,} run{'' if count == 1 else 's'} {verb}.")


def _project(slug: str) -> Project:
    try:
        return Project.objects.get(slug=slug)
    except Project.DoesNotExist:
        raise CommandError(f"There is no project {slug}.") from None


def _would_go(project: Project | None, now: datetime) -> Iterator[dict[str, Any]]:
    projects: Iterable[Project] = [project] if project else projects_with_policies()
    for each in projects:
        for going in outlook(each, now=now, limit=None).going:
            yield _facts(going.run) | _why(going)


def _erased(project: Project | None, now: datetime) -> Iterator[dict[str, Any]]:
    for run in apply_policies(now=now, by=COMMAND, project=project):
        yield _facts(run)


def _facts(run: Run) -> dict[str, Any]:
    ended = None if run.finished_at is None else run.finished_at.isoformat(timespec="seconds")
    return {"run": run.code, "project": run.project.slug, "profile": run.profile, "ended": ended}


def _why(going: Going) -> dict[str, Any]:
    return {"policy": going.rule.facts, "texts": going.texts}


def _line(facts: dict[str, Any]) -> str:
    policy = facts.get("policy")
    why = f", kept for {policy['keep_days']} days" if policy else ""
    return f"{facts['run']}  {facts['project']}  {facts['profile']}  ended {facts['ended']}{why}"
