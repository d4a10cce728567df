"""`manage.py verify_trails`: whether trails still are what was sealed. Exits 1 where one is not, and says where."""

import json
import os
from argparse import SUPPRESS
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.audit import checks, signing
from apps.audit.anchored import Keys
from apps.audit.log import Actor
from apps.audit.pins import Pins
from apps.audit.rows import Scope
from apps.audit.verification import Found, verify_trails
from apps.core.errors import StudioError

COMMAND = Actor(kind="system", id="verify_trails", label="manage.py verify_trails")


class Command(BaseCommand):
    help = (
        "Re-compute trails from their first events and hold them against the anchors of the database, and of a file "
        "that was kept elsewhere. Exits 1 where something does not hold, and names the first place."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--trail", metavar="NAME", help="this one alone, as run:abc; all of them if left out")
        parser.add_argument("--project", metavar="SLUG", help="those of one project")
        parser.add_argument("--anchors", type=Path, metavar="FILE", help="anchors that were kept elsewhere, one a line")
        parser.add_argument(
            "--public-key",
            type=Path,
            action="append",
            metavar="PEM",
            help="whose signatures to believe, the studio's own if left out; may be repeated",
        )
        parser.add_argument("--json", action="store_true", help="print what was found as JSON")
        parser.add_argument("--check", type=int, help=SUPPRESS)  # carried out on behalf of a driver
        parser.add_argument("--nice", type=int, default=0, help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        os.nice(options["nice"])
        if options["check"] is not None:
            checks.carry_out(options["check"], now=timezone.now)
            return
        started_at = timezone.now()
        scope = Scope(trail=options["trail"], project=options["project"])
        keys = _keys(options["public_key"])
        found = verify_trails(scope, keys=keys, pins=_pins(options["anchors"], keys))
        if scope.trail is None:
            checks.keep(scope.project, found, by=COMMAND, started_at=started_at, now=timezone.now())
        elif not found.whole.trails and not found.whole.broken:
            raise CommandError(f"There is no trail {scope.trail}.", returncode=2)
        self.stdout.write(json.dumps(_as_json(found, keys)) if options["json"] else _in_words(found, keys))
        if first := next(iter(found.whole.breaks), None):
            raise CommandError(f"{first.trail} does not hold from event {first.seq} on: {first.reason}.", returncode=1)


def _keys(paths: list[Path] | None) -> Keys:
    """The keys whose signatures are believed. :raises CommandError: one of the files holds none."""
    if not paths:
        return signing.public_keys()
    try:
        found = [signing.read_pem(path.read_text()) for path in paths]
    except (OSError, UnicodeDecodeError, StudioError) as error:
        raise CommandError(f"--public-key: {error}", returncode=2) from error
    return {signing.fingerprint(key): key for key in found}


def _pins(path: Path | None, keys: Keys) -> Pins | None:
    try:
        return Pins.of(path, keys) if path else None
    except OSError as error:
        raise CommandError(f"--anchors: {error}", returncode=2) from error


def _as_json(found: Found, keys: Keys) -> dict[str, Any]:
    whole = found.whole
    return {
        "holds": not whole.broken,
        "trails": whole.trails,
        "events": whole.events,
        "broken": whole.broken,
        "breaks": [asdict(each) for each in whole.breaks],
        "anchor": {"seq": found.anchor.seq, "hash": found.anchor.hash} if found.anchor else None,
        "signatures_checked": bool(keys),
    }


def _in_words(found: Found, keys: Keys) -> str:
    whole = found.whole
    lines = [f"{each.trail}, event {each.seq}: {each.reason}" for each in whole.breaks]
    if whole.broken > len(lines):
        lines.append(f"… and {whole.broken - len(lines)} more")
    trails = f"{whole.trails:,} trail{'' if whole.trails == 1 else 's'}"
    lines.append(f"{whole.events:,} events hold in {trails}; {whole.broken or 'none'} of them broken.")
    if found.anchor:
        lines.append(f"The newest anchor is {found.anchor.seq}: {found.anchor.hash}")
    if not keys:
        lines.append("There is no signing key here: signatures were not checked.")
    return "\n".join(lines)
